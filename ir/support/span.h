// A range of bytes in one source file.
#pragma once

#include "ir/support/id.h"

#include <algorithm>
#include <compare>
#include <cstdint>

namespace sspc {

struct FileTag;
using FileId = Id<FileTag>;

/// Bytes [begin, end) of a file. `Span{}` is nowhere: a fact that no line of the user's text states.
struct Span {
    FileId file;
    uint32_t begin = 0;
    uint32_t end = 0;

    constexpr bool valid() const { return file.valid(); }
    friend constexpr auto operator<=>(const Span&, const Span&) = default;
};

/// The smallest range that holds both; a span that is nowhere, or in another file, is ignored.
constexpr Span join(const Span& a, const Span& b) {
    if (!a.valid()) {
        return b;
    }
    if (!b.valid() || a.file != b.file) {
        return a;
    }
    return {a.file, std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

} // namespace sspc
