// Cuts the `.sspd` text into tokens; whatever has no meaning becomes a Bad token, which no rule takes.
#include "ir/program/sspd_lexer.h"

#include <array>
#include <charconv>

namespace sspc::sspd {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
public:
    explicit Lexer(std::string_view text) : text_(text) {}

    std::vector<Token> run() {
        std::vector<Token> tokens;
        while (true) {
            skip_blanks();
            Token token = next();
            tokens.push_back(std::move(token));
            if (tokens.back().kind == Token::Kind::End) {
                return tokens;
            }
        }
    }

private:
    char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

    void skip_blanks() {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
                ++at_;
            } else if (c == '/' && peek(1) == '/') {
                while (at_ < text_.size() && text_[at_] != '\n') {
                    ++at_;
                }
            } else {
                return;
            }
        }
    }

    Token next() {
        Token token;
        token.begin = static_cast<uint32_t>(at_);
        if (at_ >= text_.size()) {
            token.end = token.begin;
            return token;
        }
        const char c = text_[at_];
        if (c == '%') {
            ++at_;
            token.kind = read_name(token) ? Token::Kind::Buffer : Token::Kind::Bad;
            if (token.kind == Token::Kind::Buffer && peek() == '$' && is_digit(peek(1))) {
                ++at_;
                token.slot = read_slot();
            }
        } else if (is_letter(c) || c == '"') {
            token.kind = read_name(token) ? Token::Kind::Name : Token::Kind::Bad;
        } else if (is_digit(c)) {
            token.kind = Token::Kind::Number;
            token.text = read_number();
        } else {
            read_sign(token);
        }
        token.end = static_cast<uint32_t>(at_);
        return token;
    }

    bool read_name(Token& token) {
        if (peek() == '"') {
            return read_quoted(token);
        }
        const size_t begin = at_;
        if (!is_letter(peek())) {
            return false;
        }
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (is_letter(c) || is_digit(c) || c == '.' || c == '@' || c == '#') {
                ++at_;
            } else if (c == '[' && bracketed_digits() > 0) {
                at_ += bracketed_digits();
            } else {
                break;
            }
        }
        token.text = std::string(text_.substr(begin, at_ - begin));
        return true;
    }
    /// Length of `[123]` here, or 0.
    size_t bracketed_digits() const {
        size_t length = 1;
        while (is_digit(peek(length))) {
            ++length;
        }
        return length > 1 && peek(length) == ']' ? length + 1 : 0;
    }

    bool read_quoted(Token& token) {
        token.quoted = true;
        for (++at_; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
            if (text_[at_] == '"') {
                ++at_;
                return true;
            }
            if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
                ++at_;
                token.text += text_[at_] == 'n' ? '\n' : text_[at_];
            } else {
                token.text += text_[at_];
            }
        }
        return false;
    }

    std::string read_number() {
        const size_t begin = at_;
        while (is_digit(peek())) {
            ++at_;
        }
        if (peek() == '.' && is_digit(peek(1))) {
            for (++at_; is_digit(peek());) {
                ++at_;
            }
        }
        if (peek() == 'e' && (is_digit(peek(1)) || ((peek(1) == '-' || peek(1) == '+') && is_digit(peek(2))))) {
            for (at_ += 2; is_digit(peek());) {
                ++at_;
            }
        }
        return std::string(text_.substr(begin, at_ - begin));
    }

    int read_slot() {
        const std::string digits = read_number();
        int value = -1;
        std::from_chars(digits.data(), digits.data() + digits.size(), value);
        return value;
    }

    void read_sign(Token& token) {
        static constexpr std::array<std::string_view, 7> doubles{"->", "+>", "+=", "==", "!=", "<=", ">="};
        static constexpr std::string_view singles = "[](){},:;=<>+-*/";
        token.kind = Token::Kind::Sign;
        for (const std::string_view sign : doubles) {
            if (text_.substr(at_, 2) == sign) {
                token.text = std::string(sign);
                at_ += 2;
                return;
            }
        }
        if (singles.find(text_[at_]) == std::string_view::npos) {
            token.kind = Token::Kind::Bad;
        }
        token.text = std::string(1, text_[at_++]);
    }

    std::string_view text_;
    size_t at_ = 0;
};

} // namespace

std::vector<Token> lex(std::string_view text) { return Lexer(text).run(); }

} // namespace sspc::sspd
