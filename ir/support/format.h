// `format("{0} of {1}", a, b)`: text with numbered places. Braces that are not `{digits}` stand for themselves.
#pragma once

#include <charconv>
#include <concepts>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sspc {

/// The text of one argument; floating-point numbers are written so that they round-trip, shortest first.
template <typename T>
std::string to_text(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
        return value ? "true" : "false";
    } else if constexpr (std::is_same_v<T, char>) {
        return std::string(1, value);
    } else if constexpr (std::is_arithmetic_v<T>) {
        char buffer[64];
        const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
        return std::string(buffer, result.ptr);
    } else if constexpr (std::convertible_to<const T&, std::string_view>) {
        return std::string(std::string_view(value));
    } else {
        std::ostringstream out;
        out << value;
        return out.str();
    }
}

/// `text` with each `{n}` replaced by `arguments[n]`; a place without an argument is left as it is.
std::string format_texts(std::string_view text, const std::vector<std::string>& arguments);

template <typename... Args>
std::string format(std::string_view text, const Args&... args) {
    return format_texts(text, std::vector<std::string>{to_text(args)...});
}

/// How many arguments a format takes: one more than its largest `{n}`.
constexpr int count_arguments(std::string_view text) {
    int count = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '{') {
            continue;
        }
        int number = 0;
        size_t j = i + 1;
        for (; j < text.size() && text[j] >= '0' && text[j] <= '9' && number < 1000; ++j) {
            number = number * 10 + (text[j] - '0');
        }
        if (j > i + 1 && j < text.size() && text[j] == '}' && number + 1 > count) {
            count = number + 1;
        }
    }
    return count;
}

} // namespace sspc
