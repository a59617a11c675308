// Whether a mutant means the same as the program it came from, decided by running both on value numbers.
#pragma once

#include "ir/program/program.h"

#include <string>

namespace sspc::mutation {

/// Empty if the two do the same; else what differs first. Both are carried out step by step over the unrolled order, on a memory of byte ranges
/// that hold value numbers (a number stands for an operation and the numbers of its operands): equal are the numbers of everything
/// stored, every result and every message, and the order of messages; and no two streams touch bytes of one another without an event.
/// Shares nothing with the checker: no layout rule, no summary, no symbolic loop.
std::string difference_in_meaning(const Program& original, const Program& mutant);

} // namespace sspc::mutation
