// The little of Unicode that messages and columns need.
#include "ir/support/unicode.h"

namespace sspc {

CodePoint decode_utf8(std::string_view text, size_t offset) {
    const auto byte = [&](size_t i) -> uint32_t {
        return offset + i < text.size() ? static_cast<unsigned char>(text[offset + i]) : 0u;
    };
    const uint32_t first = byte(0);
    if (first < 0x80) {
        return {first, 1, true};
    }
    int length = 0;
    uint32_t least = 0;
    uint32_t value = 0;
    if ((first & 0xE0) == 0xC0) {
        length = 2, least = 0x80, value = first & 0x1F;
    } else if ((first & 0xF0) == 0xE0) {
        length = 3, least = 0x800, value = first & 0x0F;
    } else if ((first & 0xF8) == 0xF0) {
        length = 4, least = 0x10000, value = first & 0x07;
    } else {
        return {};
    }
    for (int i = 1; i < length; ++i) {
        const uint32_t next = byte(static_cast<size_t>(i));
        if ((next & 0xC0) != 0x80) {
            return {};
        }
        value = (value << 6) | (next & 0x3F);
    }
    if (value < least || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
        return {};
    }
    return {value, length, true};
}

size_t count_code_points(std::string_view text) {
    size_t count = 0;
    for (size_t i = 0; i < text.size(); i += static_cast<size_t>(decode_utf8(text, i).bytes)) {
        ++count;
    }
    return count;
}

std::string to_valid_utf8(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (size_t i = 0; i < text.size();) {
        const CodePoint point = decode_utf8(text, i);
        out += point.valid ? std::string(text.substr(i, static_cast<size_t>(point.bytes)))
                           : std::string("\xEF\xBF\xBD");
        i += static_cast<size_t>(point.bytes);
    }
    return out;
}

int terminal_width(uint32_t c) {
    struct Range {
        uint32_t first, last;
    };
    static constexpr Range zero[] = {{0x0300, 0x036F}, {0x200B, 0x200F}, {0x20D0, 0x20FF},
                                     {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}};
    static constexpr Range wide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},
                                     {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},
                                     {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
                                     {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
                                     {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
    for (const Range& r : zero) {
        if (c >= r.first && c <= r.last) {
            return 0;
        }
    }
    for (const Range& r : wide) {
        if (c >= r.first && c <= r.last) {
            return 2;
        }
    }
    return 1;
}

} // namespace sspc
