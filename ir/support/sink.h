// Collects diagnostics. Every stage takes a Sink and reports all that it finds.
#pragma once

#include "ir/support/diagnostic.h"

#include <deque>
#include <utility>

namespace sspc {

class Sink {
public:
    /// Diagnostics past the limit are counted and dropped.
    explicit Sink(size_t limit = 1000) : limit_(limit) {}

    /// `sink.report(diag::UnknownName, span, name).note(other, "declared here").help("…")`
    /// The reference stays valid as long as the sink.
    template <int Arguments, typename... Args>
    Diagnostic& report(const DiagnosticKind<Arguments>& kind, const Span& span,
                       const Args&... args) {
        static_assert(sizeof...(Args) == Arguments,
                      "the number of arguments is the number of places `{n}` of the message");
        return add(kind.code, kind.severity, span, format(kind.format, args...));
    }
    /// A diagnostic made elsewhere, for instance by another sink.
    Diagnostic& add(Diagnostic diagnostic);

    bool has_errors() const { return errors_ > 0; }
    size_t error_count() const { return errors_; }
    size_t warning_count() const { return warnings_; }
    /// By file and position, those without a place last; exact duplicates removed.
    std::vector<Diagnostic> diagnostics() const;
    void clear();

private:
    Diagnostic& add(std::string_view code, Severity severity, const Span& span,
                    std::string message);

    size_t limit_;
    size_t errors_ = 0;
    size_t warnings_ = 0;
    std::deque<Diagnostic> all_;
    Diagnostic dropped_;
};

} // namespace sspc
