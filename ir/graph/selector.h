// Path patterns: which tasks, parameters or messages a plan statement speaks of.
#pragma once

#include "ir/support/span.h"

#include <string>
#include <string_view>
#include <vector>

namespace sspc {

/// A pattern over task paths such as `layer[3].attn.q.sum`, all constants evaluated. A selector takes the path itself and everything below it.
struct Selector {
    enum class Of {
        Tasks,    ///< `SEL`: the forward tasks and everything derived from them
        Gradient, ///< `grad SEL`: their backward tasks
        Update,   ///< `update SEL`: optimizer tasks of the parameters
        Messages, ///< `comm(SEL)`: messages that carry the tasks' values
        MessagesOfGradient, ///< `comm(grad SEL)`
        MessagesOfUpdate,   ///< `comm(update w)`
    };
    /// A path component: a name glob (`*` any run of characters, `**` as a whole component: any number of components), an optional index.
    struct Component {
        std::vector<std::string> names; ///< alternatives, `{q, k, v}`
        bool any_depth = false;         ///< `**`
        enum class Index { Absent, Any, Range } index = Index::Absent;
        int first = 0, last = 0; ///< Range: first <= i < last
        int occurrence = 0;      ///< `#2` → 2; 0: all of them
    };
    Of of = Of::Tasks;
    std::vector<Component> components;
    bool exact = false; ///< `SEL!`: the task itself, nothing below it
    std::string text;   ///< as the user wrote it
    Span span;
};

/// Whether the pattern takes `path` (task form `layer[3].attn.q`, or parameter form `layer.3.attn.wq`). `of` is not looked at.
bool matches(const Selector& selector, std::string_view path);
bool matches_any(const std::vector<Selector>& selectors, std::string_view path);
/// The candidates nearest to the pattern's text, at most `limit`, best first, for error messages.
std::vector<std::string> nearest_paths(const Selector& selector, const std::vector<std::string>& candidates, size_t limit = 5);
/// Edit-distance suggestions for a misspelt name.
std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& candidates, size_t limit = 3);

} // namespace sspc
