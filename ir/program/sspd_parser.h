// Recursive descent over the `.sspd` tokens. Every method returns a value; after the first error `failed()` holds and
// the rest of the text is not looked at.
#pragma once

#include "ir/program/program.h"
#include "ir/program/sspd_lexer.h"
#include "ir/program/sspd_words.h"
#include "ir/support/sink.h"

#include <functional>
#include <map>
#include <string>

namespace sspc::sspd {

class Parser {
public:
    Parser(FileId file, std::string_view text, Sink& sink) : file_(file), sink_(sink), tokens_(lex(text)) {}

    std::optional<Program> parse();

private:
    // tokens
    const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
    bool failed() const { return failed_; }
    void fail(const std::string& expected);
    void fail_at(const Token& token, const std::string& expected);
    bool is_sign(std::string_view sign, size_t ahead = 0) const;
    bool is_word(std::string_view word, size_t ahead = 0) const;
    bool accept_sign(std::string_view sign);
    bool accept_word(std::string_view word);
    void expect_sign(std::string_view sign);
    void expect_word(std::string_view word);
    std::string name(std::string_view what);
    int64_t integer(int64_t least, int64_t most);
    double number();
    template <typename T, size_t N>
    T one_of(const Words<T, N>& words) {
        const Token& token = peek();
        if (!failed_ && token.kind == Token::Kind::Name) {
            if (const auto value = find_word(words, token.text)) {
                ++at_;
                return *value;
            }
        }
        fail("one of " + list_words(words));
        return words[0].first;
    }
    /// `item, item, …` up to `close`, which is taken.
    void list(std::string_view close, const std::function<void()>& item);

    // names
    AxisId axis();
    int mesh_axis();
    BufferId buffer();
    BufferId buffer_of_stage(int64_t stage);
    MessageId message();

    // parts
    Layout layout();
    Cut cut();
    std::optional<Chunk> chunk();
    void header();
    void parse_axes();
    void parse_messages();
    void parse_class();
    void parse_buffer();
    void parse_block();
    void parse_order();
    void parse_results();
    void parse_stored();

    // parse_instruction.cpp
    std::optional<Instruction> instruction();
    Compute compute();
    Communicate communicate();
    std::optional<OrderStep> order_step();
    Posts posts();
    int micro();
    Record record();
    Wait wait();
    EventId event();

    // expressions; `reads_` is the compute's list, which grows while no `reads (…)` was given
    ExprPtr expr(int level = 1);
    ExprPtr primary();
    ExprPtr untyped_primary();
    ExprPtr literal();
    ExprPtr access();
    ExprPtr call();
    ExprPtr draw();
    ExprPtr index();
    DType type_suffix(DType usual);

    FileId file_;
    Sink& sink_;
    std::vector<Token> tokens_;
    size_t at_ = 0;
    bool failed_ = false;
    int depth_ = 0;

    Program program_;
    Class* class_ = nullptr;
    std::map<std::string, AxisId, std::less<>> axes_;
    std::map<std::string, MessageId, std::less<>> messages_;
    std::vector<std::map<std::string, BufferId, std::less<>>> buffers_; ///< of each class
    std::vector<BufferId> reads_;
    bool reads_given_ = false;
};

} // namespace sspc::sspd
