// Matches path patterns against the paths of tasks and parameters; finds the nearest paths and names for error messages.
#include "ir/graph/selector.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <set>

namespace sspc {

namespace {

/// `layer[3]`, `sum#2`, or the `layer.3` of a parameter's path.
struct PathComponent {
    std::string_view name;
    bool indexed = false;
    int index = 0;
    int occurrence = 1;
};

bool all_digits(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(),
                                        [](unsigned char c) { return std::isdigit(c) != 0; });
}

int to_number(std::string_view digits) {
    int64_t value = 0;
    for (const char c : digits) {
        value = std::min<int64_t>(value * 10 + (c - '0'), 2'000'000'000);
    }
    return static_cast<int>(value);
}

PathComponent parse_component(std::string_view text) {
    PathComponent out;
    if (const size_t hash = text.find('#'); hash != text.npos) {
        out.occurrence = to_number(text.substr(hash + 1));
        text = text.substr(0, hash);
    }
    if (const size_t open = text.find('['); open != text.npos && text.back() == ']') {
        out.indexed = true;
        out.index = to_number(text.substr(open + 1, text.size() - open - 2));
        text = text.substr(0, open);
    }
    out.name = text;
    return out;
}

std::vector<PathComponent> parse_path(std::string_view path) {
    // Gradients, updates and norms are named `grad PATH`, `update PATH`: the word is no part of the path.
    if (const size_t space = path.rfind(' '); space != path.npos) {
        path = path.substr(space + 1);
    }
    std::vector<PathComponent> out;
    while (!path.empty()) {
        const size_t dot = path.find('.');
        const std::string_view text = path.substr(0, dot);
        if (all_digits(text) && !out.empty() && !out.back().indexed) {
            out.back().indexed = true;
            out.back().index = to_number(text);
        } else {
            out.push_back(parse_component(text));
        }
        path = dot == path.npos ? std::string_view() : path.substr(dot + 1);
    }
    return out;
}

bool glob_matches(std::string_view pattern, std::string_view text) {
    size_t p = 0;
    size_t t = 0;
    size_t star = pattern.npos;
    size_t resume = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resume = t;
        } else if (p < pattern.size() && pattern[p] == text[t]) {
            ++p;
            ++t;
        } else if (star != pattern.npos) {
            p = star + 1;
            t = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') {
        ++p;
    }
    return p == pattern.size();
}

bool component_matches(const Selector::Component& pattern, const PathComponent& path) {
    using Index = Selector::Component::Index;
    const bool named = std::any_of(pattern.names.begin(), pattern.names.end(),
                                   [&](const std::string& n) { return glob_matches(n, path.name); });
    if (!named || (pattern.occurrence != 0 && pattern.occurrence != path.occurrence)) {
        return false;
    }
    switch (pattern.index) {
    case Index::Absent:
        return true; // `layer` takes every `layer[i]`
    case Index::Any:
        return path.indexed;
    case Index::Range:
        return path.indexed && pattern.first <= path.index && path.index < pattern.last;
    }
    return false;
}

bool matches_from(const Selector& selector, size_t at, const std::vector<PathComponent>& path, size_t from) {
    if (at == selector.components.size()) {
        return from == path.size() || !selector.exact;
    }
    if (selector.components[at].any_depth) {
        for (size_t skip = from; skip <= path.size(); ++skip) {
            if (matches_from(selector, at + 1, path, skip)) {
                return true;
            }
        }
        return false;
    }
    return from < path.size() && component_matches(selector.components[at], path[from]) &&
           matches_from(selector, at + 1, path, from + 1);
}

/// Insertions, deletions, replacements, and swaps of neighbours count 1 each.
size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<size_t> before(b.size() + 1);
    std::vector<size_t> last(b.size() + 1);
    std::vector<size_t> row(b.size() + 1);
    std::iota(last.begin(), last.end(), size_t{0});
    for (size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = std::min(row[j], before[j - 2] + 1);
            }
        }
        before = last;
        std::swap(last, row);
    }
    return last[b.size()];
}

/// `layer[3].attn` and `layer.3.attn` → `layer[*].attn`
std::string without_indices(std::string_view path) {
    std::string out;
    for (const PathComponent& c : parse_path(path)) {
        out += (out.empty() ? "" : ".") + std::string(c.name);
        out += c.indexed ? "[*]" : "";
        out += c.occurrence > 1 ? "#" + std::to_string(c.occurrence) : "";
    }
    return out;
}

std::string pattern_text(const Selector& selector) {
    std::string out;
    for (const Selector::Component& c : selector.components) {
        out += out.empty() ? "" : ".";
        out += c.any_depth ? "**" : c.names.empty() ? "" : c.names.front();
        out += c.index == Selector::Component::Index::Absent ? "" : "[*]";
    }
    return out;
}

struct Ranked {
    size_t distance;
    size_t order;
    std::string text;
};

std::vector<std::string> best(std::vector<Ranked> ranked, size_t limit) {
    std::sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
        return a.distance != b.distance ? a.distance < b.distance : a.order < b.order;
    });
    std::vector<std::string> out;
    for (Ranked& r : ranked) {
        if (out.size() < limit && std::find(out.begin(), out.end(), r.text) == out.end()) {
            out.push_back(std::move(r.text));
        }
    }
    return out;
}

} // namespace

bool matches(const Selector& selector, std::string_view path) {
    return matches_from(selector, 0, parse_path(path), 0);
}

bool matches_any(const std::vector<Selector>& selectors, std::string_view path) {
    return std::any_of(selectors.begin(), selectors.end(), [&](const Selector& s) { return matches(s, path); });
}

std::vector<std::string> nearest_paths(const Selector& selector, const std::vector<std::string>& candidates,
                                       size_t limit) {
    const std::string wanted = pattern_text(selector);
    const size_t depth = selector.components.size();
    std::set<std::string> seen;
    std::vector<Ranked> ranked;
    for (const std::string& candidate : candidates) {
        // A pattern also takes what is above a task, so every beginning of a path is a candidate.
        std::string prefix;
        size_t components = 0;
        const std::string starred = without_indices(candidate);
        for (size_t i = 0; i <= starred.size(); ++i) {
            if (i == starred.size() || starred[i] == '.') {
                prefix = starred.substr(0, i);
                ++components;
                if (components <= depth + 1 && seen.insert(prefix).second) {
                    ranked.push_back({edit_distance(wanted, prefix), ranked.size(), prefix});
                }
            }
        }
    }
    return best(std::move(ranked), limit);
}

std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& candidates,
                                       size_t limit) {
    std::vector<Ranked> ranked;
    for (const std::string& candidate : candidates) {
        const size_t distance = edit_distance(name, candidate);
        const bool begins = name.size() >= 2 && candidate.starts_with(name);
        const size_t allowed = std::max<size_t>(1, std::max(name.size(), candidate.size()) / 3);
        if (distance <= allowed || begins) {
            ranked.push_back({begins ? std::min<size_t>(distance, 1) : distance, ranked.size(), candidate});
        }
    }
    return best(std::move(ranked), limit);
}

} // namespace sspc
