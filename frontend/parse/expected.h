// Sets of tokens in the user's words.
#pragma once

#include <antlr4-runtime.h>

#include <string>

namespace sspc {

/// `sum`, `inf`, …: words that are never names.
bool is_reserved(size_t token_type);
/// "`;` or an operator"
std::string describe_expected(const antlr4::misc::IntervalSet& set, const antlr4::dfa::Vocabulary& vocabulary);

} // namespace sspc
