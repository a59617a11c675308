// Takes a file through the whole compiler and compares its device program with the uncut model, both on the interpreter.
#pragma once

#include "ir/passes/compile.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sspc::random {

struct Outcome {
    std::vector<std::string> refused; ///< codes of the diagnostics, if the file or its plan was refused
    std::string rejected;             ///< what check_program reported, if anything
    std::string different;            ///< the tensors that differ, or what went wrong in running
    std::vector<std::string> met;     ///< kinds of moves and pairs of layouts of the program
    std::string diagnostics;          ///< all, as text
    bool fine() const { return refused.empty() && rejected.empty() && different.empty(); }
};

struct CaseOptions {
    SeededFault fault = SeededFault::None;
    bool stop_where_rejected = false; ///< run the program all the same
    int steps = 2;
};

/// `file` is read from disk.
Outcome run_case(const std::string& file, const CaseOptions& options = {});
/// Writes `text` to a file of its own first.
Outcome run_text(const std::string& text, const CaseOptions& options = {});

} // namespace sspc::random
