// Runs a generated program: options, data, initial values, ranks, progress, checkpoints.
#pragma once

#include "common/device.h"

namespace ssp {

/// The whole life of a program. Exit status: 0 fine, 2 wrong options, 3 the run failed, 130 interrupted (after a finished step).
int run(const ProgramInfo& program, int argc, char** argv);

} // namespace ssp
