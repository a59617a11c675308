// sspc explain: what a plan does, in tables; or what a diagnostic's code means.
#include "backend/report/facts.h"
#include "sspc/session.h"

#include <algorithm>
#include <cctype>

namespace sspc {

namespace {

/// Pages of ir/support/explain, compiled in; those of a run (SSP08xx) belong to codes that emitted programs report.
struct Page {
    const char* code;
    const char* text;
};
constexpr Page pages[] = {
#include "explain_pages.inc"
    {nullptr, nullptr}};

bool is_code(const std::string& word) {
    return word.size() == 7 && (word.starts_with("SSP") || word.starts_with("ssp")) &&
           std::all_of(word.begin() + 3, word.end(),
                       [](unsigned char c) { return std::isdigit(c) != 0; });
}

int explain_code(Session& session, std::string code) {
    std::transform(code.begin(), code.end(), code.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    const auto& registered = registered_diagnostics();
    const auto kind = std::find_if(registered.begin(), registered.end(),
                                   [&](const auto& d) { return d.code == code; });
    for (const Page* page = pages; page->code != nullptr; ++page) {
        if (code == page->code) {
            return session.print(page->text);
        }
    }
    if (kind == registered.end()) {
        session.sink.report(diag::UnknownCode, {}, code);
        return session.finish();
    }
    return session.print(format("{0} ({1}): {2}\n", code,
                                kind->severity == Severity::Error ? "error" : "warning",
                                kind->format));
}

int explain_plan(Session& session) {
    const bool good = session.compile();
    const int status = session.finish();
    if (!good) {
        return status;
    }
    const backend::Facts facts = backend::gather(*session.compiled, session.sources);
    return session.print(session.options.json ? backend::explain_json(facts)
                                              : backend::explain_text(facts));
}

} // namespace

Action declare_explain(CLI::App& app, Options& options) {
    app.add_option("FILE", options.file, "the plan file, or a code such as SSP0331")->required();
    add_plan_options(app, options);
    return [](Session& session) {
        return is_code(session.options.file) ? explain_code(session, session.options.file)
                                             : explain_plan(session);
    };
}

} // namespace sspc
