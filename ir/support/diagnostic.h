// A diagnostic is data: what is wrong, where, and what else to look at. Rendered in render_text and render_json only.
#pragma once

#include "ir/support/format.h"
#include "ir/support/span.h"

#include <string>
#include <string_view>
#include <vector>

namespace sspc {

enum class Severity { Error, Warning };

/// A registered diagnostic that takes `Arguments` arguments.
template <int Arguments>
struct DiagnosticKind {
    std::string_view code;
    Severity severity;
    std::string_view name;
    std::string_view format;
};

/// Every line of diagnostics.def, as `diag::Name`.
namespace diag {
#define SSPC_DIAG(code, severity, name, message)                                                   \
    inline constexpr DiagnosticKind<count_arguments(message)> name{                                \
        #code, Severity::severity, #name, message};
#include "ir/support/diagnostics.def"
#undef SSPC_DIAG
} // namespace diag

struct Note {
    Span span;
    std::string message;
    friend bool operator==(const Note&, const Note&) = default;
};

struct Diagnostic {
    std::string_view code; ///< `SSP0412`
    Severity severity = Severity::Error;
    Span span;
    std::string message;
    std::vector<Note> notes;
    std::string help_text; ///< what would fix it; may be empty

    Diagnostic& note(const Span& where, std::string text);
    /// At most one: a second call replaces the first.
    Diagnostic& help(std::string text);
    friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
};

/// The registry, in the order of diagnostics.def, for `sspc explain CODE` and the tests.
struct RegisteredDiagnostic {
    std::string_view code;
    Severity severity;
    std::string_view name;
    std::string_view format;
};
const std::vector<RegisteredDiagnostic>& registered_diagnostics();

} // namespace sspc
