// The syntax tree as text, for `sspc lower --stage ast` and for tests.
#pragma once

#include "frontend/syntax/ast.h"

#include <string>

namespace sspc::syntax {

/// One line a declaration or statement, two spaces a level; expressions fully parenthesised, so that precedence shows.
std::string print_ast(const Module& module);
/// `(2 * (sum[k] (x * w)))`
std::string print_ast(const Expr& expr);
std::string print_ast(const Selector& selector);

} // namespace sspc::syntax
