// Collects diagnostics; sorts them for the reader.
#include "ir/support/sink.h"

#include <algorithm>
#include <tuple>

namespace sspc {

Diagnostic& Diagnostic::note(const Span& where, std::string text) {
    notes.push_back({where, std::move(text)});
    return *this;
}

Diagnostic& Diagnostic::help(std::string text) {
    help_text = std::move(text);
    return *this;
}

Diagnostic& Sink::add(std::string_view code, Severity severity, const Span& span,
                      std::string message) {
    return add(Diagnostic{code, severity, span, std::move(message), {}, {}});
}

Diagnostic& Sink::add(Diagnostic diagnostic) {
    ++(diagnostic.severity == Severity::Error ? errors_ : warnings_);
    if (all_.size() >= limit_) {
        dropped_ = std::move(diagnostic);
        return dropped_;
    }
    all_.push_back(std::move(diagnostic));
    return all_.back();
}

std::vector<Diagnostic> Sink::diagnostics() const {
    std::vector<Diagnostic> sorted(all_.begin(), all_.end());
    // Stable: two diagnostics of one place keep the order in which they were found.
    std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic& a, const Diagnostic& b) {
        return std::tuple(!a.span.valid(), a.span.file, a.span.begin) <
               std::tuple(!b.span.valid(), b.span.file, b.span.begin);
    });
    std::vector<Diagnostic> unique;
    for (Diagnostic& d : sorted) {
        const auto same_place = [&](const Diagnostic& u) { return u == d; };
        // Duplicates have equal spans, so they are near the end.
        bool seen = false;
        for (auto it = unique.rbegin(); it != unique.rend() && !seen; ++it) {
            if (it->span.file != d.span.file || it->span.begin != d.span.begin) {
                break;
            }
            seen = same_place(*it);
        }
        if (!seen) {
            unique.push_back(std::move(d));
        }
    }
    return unique;
}

void Sink::clear() {
    errors_ = warnings_ = 0;
    all_.clear();
}

const std::vector<RegisteredDiagnostic>& registered_diagnostics() {
    static const std::vector<RegisteredDiagnostic> all = {
#define SSPC_DIAG(code, severity, name, message) {#code, Severity::severity, #name, message},
#include "ir/support/diagnostics.def"
#undef SSPC_DIAG
    };
    return all;
}

} // namespace sspc
