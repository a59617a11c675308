// `overlap A with comm(B) in N chunks`: a compute and the message of its value run in chunks, so that one can hide the other.
#pragma once

#include "ir/program/program.h"
#include "ir/support/sink.h"

namespace sspc {

/// Where a task of A makes a value whose message comm(B) selects, replaces `compute; message` by `compute chunk 0; message chunk 0; compute chunk 1; …`
/// along an axis that both leave alone. Other code keeps its order.
std::vector<Instruction> overlapped(const Plan& plan, const Program& program, const Class& device_class,
                                    std::vector<Instruction> code, Sink& sink);

} // namespace sspc
