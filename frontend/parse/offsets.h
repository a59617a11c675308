// ANTLR counts code points, everything else counts bytes; this table is the only place where the two meet.
#pragma once

#include "ir/support/span.h"
#include "ir/support/unicode.h"

#include <string_view>
#include <vector>

namespace sspc {

class Offsets {
public:
    /// `text` is valid UTF-8 without a byte-order mark; it starts at byte `base` of the file.
    Offsets(FileId file, std::string_view text, uint32_t base) : file_(file) {
        size_t at = 0;
        for (; at < text.size(); at += static_cast<size_t>(decode_utf8(text, at).bytes)) {
            bytes_.push_back(base + static_cast<uint32_t>(at));
        }
        bytes_.push_back(base + static_cast<uint32_t>(at));
    }
    /// Code points [begin, end).
    Span span(size_t begin, size_t end) const { return {file_, byte(begin), byte(end)}; }

private:
    uint32_t byte(size_t code_point) const { return bytes_[std::min(code_point, bytes_.size() - 1)]; }

    FileId file_;
    std::vector<uint32_t> bytes_;
};

} // namespace sspc
