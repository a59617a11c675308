// Words, numbers and signs of the `.sspd` text.
#pragma once

#include "ir/support/span.h"

#include <string>
#include <string_view>
#include <vector>

namespace sspc::sspd {

struct Token {
    enum class Kind {
        Name,   ///< a word or path, bare or quoted
        Number, ///< digits, with a point or exponent if it is a float; no sign
        Buffer, ///< `%name`; `slot` if `$n` follows
        Sign,
        Bad, ///< a character or string that has no meaning
        End,
    };
    Kind kind = Kind::End;
    std::string text;
    bool quoted = false;
    int slot = -1;
    uint32_t begin = 0;
    uint32_t end = 0;
};

/// Ends with one End token. `//` begins a comment.
std::vector<Token> lex(std::string_view text);

} // namespace sspc::sspd
