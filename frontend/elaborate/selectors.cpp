// Path patterns of plans and overrides: indices evaluated, names of results and passes filled in.
#include "frontend/elaborate/elaborator.h"

#include "ir/support/format.h"

#include <algorithm>
#include <set>

namespace sspc::elaboration {

namespace {

/// `n = layer_norm(x) as ln` makes no task `n`: where a pattern says `n`, it may mean `ln`.
void add_aliases(Selector& selector, const std::vector<std::pair<std::string, std::string>>& aliases) {
    for (const auto& [alias, path] : aliases) {
        const size_t a = alias.rfind('.');
        const size_t b = path.rfind('.');
        const std::string_view above = std::string_view(alias).substr(0, a == alias.npos ? 0 : a);
        if (above != std::string_view(path).substr(0, b == path.npos ? 0 : b)) {
            continue; // a value of another block keeps its own name
        }
        const std::string from = a == alias.npos ? alias : alias.substr(a + 1);
        const std::string to = b == path.npos ? path : path.substr(b + 1);
        const std::string name = to.substr(0, to.find_first_of("[#"));
        for (Selector::Component& c : selector.components) {
            const bool says = std::find(c.names.begin(), c.names.end(), from) != c.names.end();
            if (says && std::find(c.names.begin(), c.names.end(), name) == c.names.end()) {
                c.names.push_back(name);
            }
        }
    }
}

} // namespace

std::optional<Selector> evaluate_selector(Elaborator& elaborator, const syntax::Selector& selector) {
    using In = syntax::Selector::Component::Index;
    using Out = Selector::Component::Index;
    Selector out;
    out.of = static_cast<Selector::Of>(selector.of);
    out.exact = selector.exact;
    out.text = selector.text;
    out.span = selector.span;
    bool fine = true;
    const auto number = [&](const syntax::ExprPtr& expr) {
        const auto value = elaborator.integer_of(expr, "the index of a path");
        fine = fine && value.has_value();
        return static_cast<int>(std::clamp<int64_t>(value.value_or(0), 0, 1'000'000'000));
    };
    for (const auto& component : selector.components) {
        Selector::Component c;
        c.names = component.names;
        c.any_depth = component.any_depth;
        c.occurrence = component.occurrence;
        switch (component.index) {
        case In::Absent: break;
        case In::Any: c.index = Out::Any; break;
        case In::One:
            c.index = Out::Range;
            c.first = number(component.first);
            c.last = c.first + 1;
            break;
        case In::Range:
            c.index = Out::Range;
            c.first = number(component.first);
            c.last = number(component.last);
            break;
        }
        out.components.push_back(std::move(c));
    }
    if (!fine) {
        return std::nullopt;
    }
    add_aliases(out, elaborator.aliases());
    // The tasks of a pass lie below it, and belong to the block that each pass repeats.
    const auto& passes = elaborator.passes();
    if (!passes.empty() && !out.components.empty() && !out.components.front().any_depth) {
        const auto& names = out.components.front().names;
        const bool names_pass = std::any_of(passes.begin(), passes.end(), [&](const std::string& p) {
            return std::find(names.begin(), names.end(), p) != names.end();
        });
        if (!names_pass) {
            Selector::Component any;
            any.any_depth = true;
            out.components.insert(out.components.begin(), any);
        }
    }
    return out;
}

} // namespace sspc::elaboration
