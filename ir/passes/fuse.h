// Groups computes that can run as one kernel.
#pragma once

#include "ir/program/program.h"

namespace sspc {

/// Gives each run of computes that shares a kernel a number (`Compute::kernel`), moving instructions within a block only where no dependency is
/// broken, and takes buffers that live inside one kernel out of memory (Space::Register; their Allocate and Free go).
/// The order of communications among themselves never changes.
Program fuse(Program program);

} // namespace sspc
