// Replaces the numbered places of a format.
#include "ir/support/format.h"

namespace sspc {

std::string format_texts(std::string_view text, const std::vector<std::string>& arguments) {
    std::string out;
    out.reserve(text.size() + 16 * arguments.size());
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '{') {
            size_t number = 0;
            size_t j = i + 1;
            for (; j < text.size() && text[j] >= '0' && text[j] <= '9' && number < 1000; ++j) {
                number = number * 10 + static_cast<size_t>(text[j] - '0');
            }
            if (j > i + 1 && j < text.size() && text[j] == '}' && number < arguments.size()) {
                out += arguments[number];
                i = j;
                continue;
            }
        }
        out += text[i];
    }
    return out;
}

} // namespace sspc
