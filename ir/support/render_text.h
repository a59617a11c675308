// Diagnostics as text: `file:line:col: error[SSPnnnn]: …`, the source line with a caret, notes, help last.
#pragma once

#include "ir/support/diagnostic.h"
#include "ir/support/sink.h"
#include "ir/support/source_map.h"

#include <string>

namespace sspc {

enum class Color { Never, Always };

std::string render_text(const Diagnostic& diagnostic, const SourceMap& sources,
                        Color color = Color::Never);
/// All of a sink's, in order.
std::string render_text(const Sink& sink, const SourceMap& sources, Color color = Color::Never);
/// `gpt.ssp:21:9`; empty for a span that is nowhere.
std::string describe_place(const Span& span, const SourceMap& sources);

} // namespace sspc
