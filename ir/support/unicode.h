// The little of Unicode that messages and columns need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sspc {

struct CodePoint {
    uint32_t value = 0xFFFD;
    int bytes = 1;
    bool valid = false; ///< not valid: `bytes` is 1 and `value` the replacement character
};

/// The code point at `offset`, which is inside `text`.
CodePoint decode_utf8(std::string_view text, size_t offset);
/// A byte that is no part of valid UTF-8 counts as one.
size_t count_code_points(std::string_view text);
/// `text` with each wrong byte replaced by U+FFFD.
std::string to_valid_utf8(std::string_view text);
/// How many columns of a terminal a code point takes: 0, 1 or 2.
int terminal_width(uint32_t code_point);

} // namespace sspc
