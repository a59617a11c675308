// Gives every buffer its place in memory.
#pragma once

#include "ir/program/program.h"

namespace sspc {

/// Sets the space, offset and size of buffers and the sizes of a class's arenas from Allocate and Free and the order of blocks. Buffers whose
/// lifetimes do not overlap share memory (first fit, largest first). Registers stay as they are.
Program allocate(Program program);

} // namespace sspc
