// Diagnostics as text, in clang's form so that editors and logs can read the first line.
#include "ir/support/render_text.h"

#include "ir/support/unicode.h"

#include <algorithm>

namespace sspc {

namespace {

constexpr size_t tab_columns = 4;
constexpr size_t most_columns = 160; ///< of a source line; longer ones are shown around the caret

struct Paint {
    Color color;
    std::string operator()(std::string_view code, const std::string& text) const {
        return color == Color::Always ? "\x1b[" + std::string(code) + "m" + text + "\x1b[0m" : text;
    }
};

/// What a terminal shows for some source text, and how many columns it takes.
struct Shown {
    std::string text;
    size_t columns = 0;
};

Shown show(std::string_view source) {
    Shown shown;
    for (size_t i = 0; i < source.size();) {
        const CodePoint point = decode_utf8(source, i);
        if (point.value == '\t') {
            shown.text.append(tab_columns, ' ');
            shown.columns += tab_columns;
        } else if (point.value < 0x20 || point.value == 0x7F || !point.valid) {
            shown.text += "\xEF\xBF\xBD"; // a control character would act on the terminal
            shown.columns += 1;
        } else {
            shown.text += source.substr(i, static_cast<size_t>(point.bytes));
            shown.columns += static_cast<size_t>(terminal_width(point.value));
        }
        i += static_cast<size_t>(point.bytes);
    }
    return shown;
}

std::string source_excerpt(const Span& span, const SourceMap& sources, const Paint& paint) {
    const Position begin = sources.begin(span);
    // The last byte decides, so that a range that ends with a line does not reach into the next one.
    const uint32_t size = static_cast<uint32_t>(sources.text(span.file).size());
    const uint32_t last_byte = std::max(std::min(span.end, size), span.begin + 1) - 1;
    const Position end = sources.position(span.file, last_byte);
    std::string_view line = sources.line_text(span.file, begin.line);
    size_t first = std::min<size_t>(span.begin - sources.line_begin(span.file, begin.line),
                                    line.size());
    size_t last = end.line == begin.line
                      ? std::clamp<size_t>(first + (span.end - span.begin), first, line.size())
                      : line.size();
    std::string prefix;
    if (line.size() > most_columns) {
        // Cut at code points: step back to the start of one.
        const auto to_start = [&](size_t at) {
            while (at > 0 && at < line.size() && (line[at] & 0xC0) == 0x80) {
                --at;
            }
            return at;
        };
        const size_t from = to_start(first > 40 ? first - 40 : 0);
        const size_t to = to_start(std::min(line.size(), from + most_columns));
        prefix = from > 0 ? "..." : "";
        line = line.substr(from, to - from);
        first -= from;
        last = std::min(last - from, line.size());
    }
    const Shown before = show(line.substr(0, first));
    const Shown marked = show(line.substr(first, last - first));
    const Shown after = show(line.substr(last));

    std::string number = std::to_string(begin.line);
    number.insert(0, number.size() < 5 ? 5 - number.size() : 0, ' ');
    std::string out = number + " | " + prefix + before.text + marked.text + after.text + "\n";
    std::string caret = "^" + std::string(std::max<size_t>(marked.columns, 1) - 1, '~');
    out += std::string(number.size(), ' ') + " | " +
           std::string(prefix.size() + before.columns, ' ') + paint("1;32", caret);
    if (end.line > begin.line) {
        out += " \xE2\x80\xA6 to line " + std::to_string(end.line);
    }
    return out + "\n";
}

std::string entry(const Span& span, const std::string& label, const std::string& message,
                  const SourceMap& sources, const Paint& paint) {
    std::string out;
    if (span.valid()) {
        out += describe_place(span, sources) + ": ";
    }
    out += label + " " + to_valid_utf8(message) + "\n";
    if (span.valid()) {
        out += source_excerpt(span, sources, paint);
    }
    return out;
}

} // namespace

std::string describe_place(const Span& span, const SourceMap& sources) {
    if (!span.valid()) {
        return {};
    }
    const Position at = sources.begin(span);
    return format("{0}:{1}:{2}", sources.path(span.file), at.line, at.column);
}

std::string render_text(const Diagnostic& diagnostic, const SourceMap& sources, Color color) {
    const Paint paint{color};
    const bool error = diagnostic.severity == Severity::Error;
    const std::string label = paint(
        error ? "1;31" : "1;35",
        format("{0}[{1}]:", error ? "error" : "warning", diagnostic.code));
    std::string out = entry(diagnostic.span, label, diagnostic.message, sources, paint);
    for (const Note& note : diagnostic.notes) {
        out += entry(note.span, paint("1;36", "note:"), note.message, sources, paint);
    }
    if (!diagnostic.help_text.empty()) {
        out += paint("1;36", "help:") + " " + to_valid_utf8(diagnostic.help_text) + "\n";
    }
    return out;
}

std::string render_text(const Sink& sink, const SourceMap& sources, Color color) {
    std::string out;
    for (const Diagnostic& diagnostic : sink.diagnostics()) {
        out += render_text(diagnostic, sources, color);
    }
    return out;
}

} // namespace sspc
