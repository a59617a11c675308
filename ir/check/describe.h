// Words for messages of the checker.
#pragma once

#include "ir/check/reference.h"

#include <string>

namespace sspc::check {

/// `{dp: S(batch), tp: P(sum)}`; `whole` where all is Replicated.
std::string describe(const Checked& checked, const Layout& layout);
/// `compute layer[0].attn.q`, `all_reduce of grad w`
std::string describe(const Class& device_class, const Instruction& instruction);
/// `the devices of stage 0`; `every device` where there are no stages
std::string describe_devices(const Checked& checked, const Class& device_class);
/// `F0, micro-batch 3`
std::string describe_run(const Class& device_class, const RunBlock& run);
/// The plan's line of an instruction; the model's where the plan made none; nowhere for those that have neither.
Span span_of(const Instruction& instruction);
/// `dp, tp`
std::string describe_axes(const Mesh& mesh, const std::vector<int>& axes);

} // namespace sspc::check
