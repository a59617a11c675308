// Inserts Allocate before a buffer's first write and Free after its last use.
#pragma once

#include "ir/program/program.h"

namespace sspc {

/// Micro buffers, and Step buffers that only one block uses and that are not in `kept` (one list a class), get an Allocate and a Free (in
/// the order for those that messages write or read last). Goes in: an ordered program without any.
Program lifetimes(Program program, const std::vector<std::vector<BufferId>>& kept);

} // namespace sspc
