// From the text of a file to its syntax tree.
#pragma once

#include "frontend/syntax/ast.h"
#include "ir/support/sink.h"
#include "ir/support/source_map.h"

#include <optional>

namespace sspc {

/// Parses a whole file. All syntax errors are reported to the sink (SSP01xx); with any, there is no value.
/// Any bytes may be given: the result is a tree or at least one error, and the depth of the tree is bounded.
std::optional<syntax::Module> parse(FileId file, const SourceMap& sources, Sink& sink);

} // namespace sspc
