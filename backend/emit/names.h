// Names and comments of the generated program, from the plan's paths.
#pragma once

#include "ir/program/program.h"

#include <string>
#include <string_view>
#include <vector>

namespace sspc::backend {

/// `layer[3].attn.q.sum@2` → `q`; `grad layer[3].attn.q` → `d_q`.
std::string short_name(std::string_view buffer);
/// The whole path as an identifier: `layer_3_attn_q_sum_2`.
std::string long_name(std::string_view buffer);
/// A path without its indices, `layer[3].attn.q` → `layer.attn.q`.
std::string without_indices(std::string_view path);
/// From the paths of a kernel's statements: `attn_p`, `grad_mlp_h`, `update_adamw`.
std::string kernel_name(const std::vector<const Compute*>& group);
/// One comment line a statement: `// p.e[batch, seq] = exp(s - p.m)`.
std::string kernel_comment(const Program& program, const Class& device_class,
                           const std::vector<const Compute*>& group);

} // namespace sspc::backend
