// Diagnostics as JSON: the `diagnostics` array of `sspc check --json`.
#include "ir/support/render_json.h"

#include "ir/support/unicode.h"

#include <nlohmann/json.hpp>

namespace sspc {

namespace {

void add_place(nlohmann::ordered_json& object, const Span& span, const SourceMap& sources) {
    if (!span.valid()) {
        object["file"] = nullptr;
        object["line"] = nullptr;
        object["column"] = nullptr;
        return;
    }
    const Position at = sources.begin(span);
    object["file"] = to_valid_utf8(sources.path(span.file));
    object["line"] = at.line;
    object["column"] = at.column;
}

nlohmann::ordered_json note_json(const Span& span, const std::string& message,
                                 const SourceMap& sources) {
    nlohmann::ordered_json object;
    object["message"] = to_valid_utf8(message);
    add_place(object, span, sources);
    return object;
}

} // namespace

nlohmann::ordered_json diagnostics_json(const Sink& sink, const SourceMap& sources) {
    auto all = nlohmann::ordered_json::array();
    for (const Diagnostic& diagnostic : sink.diagnostics()) {
        nlohmann::ordered_json object;
        object["code"] = std::string(diagnostic.code);
        object["severity"] = diagnostic.severity == Severity::Error ? "error" : "warning";
        object["message"] = to_valid_utf8(diagnostic.message);
        add_place(object, diagnostic.span, sources);
        object["notes"] = nlohmann::ordered_json::array();
        for (const Note& note : diagnostic.notes) {
            object["notes"].push_back(note_json(note.span, note.message, sources));
        }
        if (!diagnostic.help_text.empty()) {
            object["notes"].push_back(note_json({}, "help: " + diagnostic.help_text, sources));
        }
        all.push_back(std::move(object));
    }
    return all;
}

} // namespace sspc
