// What is wrong with the tokens themselves, found before any rule is tried.
#pragma once

#include "frontend/parse/offsets.h"
#include "ir/support/sink.h"

#include <antlr4-runtime.h>

#include <vector>

namespace sspc {

inline constexpr int most_levels = 200;     ///< of nesting: brackets and prefix operators
inline constexpr int most_operators = 1000; ///< in one expression; a chain `a + b + …` is as deep a tree as it is long
inline constexpr size_t most_mebibytes = 4;

struct TokenCheck {
    bool too_deep = false; ///< reported; the tokens must not be parsed
    Span unclosed;         ///< the innermost bracket that is open at the end of the file
};

/// Reports unknown characters, open strings and open comments, and repairs those tokens so that parsing can go on. Counts nesting, so
/// that no recursion over the tree, here or later, is deeper than the limits.
TokenCheck check_tokens(const std::vector<antlr4::Token*>& tokens, const Offsets& offsets, Sink& sink);

} // namespace sspc
