// Which buffers an instruction reads and writes, and on which stream it runs.
#pragma once

#include "ir/program/program.h"

#include <vector>

namespace sspc {

struct Uses {
    std::vector<BufferId> reads;
    std::vector<BufferId> writes;
};

/// Empty for Allocate, Free, Record and Wait.
Uses uses_of(const Instruction& instruction);
/// The stream of an instruction that does work.
Stream stream_of(const Instruction& instruction);

} // namespace sspc
