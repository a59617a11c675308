// Diagnostics as JSON: the `diagnostics` array of `sspc check --json`.
#pragma once

#include "ir/support/sink.h"
#include "ir/support/source_map.h"

#include <nlohmann/json_fwd.hpp>

namespace sspc {

/// `[{"code", "severity", "message", "file", "line", "column", "notes": [{"message", "file", "line", "column"}]}]`.
/// A place that is nowhere has null in `file`, `line` and `column`; help is the last note, and begins with `help: `.
nlohmann::ordered_json diagnostics_json(const Sink& sink, const SourceMap& sources);

} // namespace sspc
