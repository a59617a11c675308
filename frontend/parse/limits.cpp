// What is wrong with the tokens themselves, found before any rule is tried.
#include "frontend/parse/limits.h"

#include "SspLexer.h"

namespace sspc {

using sspc_grammar::SspLexer;

namespace {

Span span_of(const antlr4::Token& token, const Offsets& offsets) {
    return offsets.span(token.getStartIndex(), token.getStopIndex() + 1);
}

void check_lexical(const std::vector<antlr4::Token*>& tokens, const Offsets& offsets, Sink& sink) {
    for (size_t i = 0; i < tokens.size(); ++i) {
        auto& token = dynamic_cast<antlr4::WritableToken&>(*tokens[i]);
        switch (token.getType()) {
        case SspLexer::OPEN_STRING:
            sink.report(diag::UnterminatedString, span_of(token, offsets));
            token.setType(SspLexer::STRING);
            break;
        case SspLexer::OPEN_COMMENT: {
            Span span = span_of(token, offsets);
            sink.report(diag::UnterminatedComment, {span.file, span.begin, span.begin + 2});
            token.setChannel(antlr4::Token::HIDDEN_CHANNEL);
            break;
        }
        case SspLexer::UNKNOWN: {
            // A run of them is one error: a line of another language should not give forty.
            Span span;
            std::string text;
            size_t last = i;
            while (last < tokens.size() && tokens[last]->getType() == SspLexer::UNKNOWN &&
                   (last == i || tokens[last]->getStartIndex() == tokens[last - 1]->getStopIndex() + 1)) {
                span = join(span, span_of(*tokens[last], offsets));
                if (last - i < 20) {
                    text += tokens[last]->getText();
                }
                dynamic_cast<antlr4::WritableToken&>(*tokens[last]).setChannel(antlr4::Token::HIDDEN_CHANNEL);
                ++last;
            }
            const bool visible = static_cast<unsigned char>(text[0]) > 0x20 && text[0] != 0x7F;
            sink.report(diag::UnknownCharacter, span, visible ? "`" + text + "`" : "a control character");
            i = last - 1;
            break;
        }
        default:
            break;
        }
    }
}

bool is_operand_end(size_t type) {
    switch (type) {
    case SspLexer::RPAREN:
    case SspLexer::RBRACKET:
    case SspLexer::INT:
    case SspLexer::FLOAT:
    case SspLexer::SIZE:
    case SspLexer::STRING:
    case SspLexer::INF:
    case SspLexer::TRUE:
    case SspLexer::FALSE:
        return true;
    default:
        return type == SspLexer::ID || (type >= SspLexer::IMPORT && type <= SspLexer::COMM);
    }
}

/// One open bracket, or the file itself.
struct Level {
    const antlr4::Token* open = nullptr;
    int prefixes = 0;  ///< prefix operators and `^` since the last separator: each is a level of its own
    int operators = 0; ///< all operators since then
};

} // namespace

TokenCheck check_tokens(const std::vector<antlr4::Token*>& tokens, const Offsets& offsets, Sink& sink) {
    check_lexical(tokens, offsets, sink);

    TokenCheck result;
    std::vector<Level> levels(1);
    int depth = 0; // open brackets and prefixes together
    const auto separate = [&] {
        depth -= levels.back().prefixes;
        levels.back().prefixes = levels.back().operators = 0;
    };
    size_t previous = SspLexer::SEMICOLON;
    for (const antlr4::Token* token : tokens) {
        if (token->getChannel() != antlr4::Token::DEFAULT_CHANNEL) {
            continue;
        }
        const size_t type = token->getType();
        switch (type) {
        case SspLexer::LPAREN:
        case SspLexer::LBRACKET:
        case SspLexer::LBRACE:
            if (type == SspLexer::LBRACE) {
                separate(); // `if a { … }`
            }
            levels.back().operators += 1; // `f(a)(b)(c)…` and `x.y.z…` are chains too
            levels.push_back({token});
            ++depth;
            break;
        case SspLexer::RPAREN:
        case SspLexer::RBRACKET:
        case SspLexer::RBRACE:
            separate();
            if (levels.size() > 1) {
                levels.pop_back();
                --depth;
            }
            if (type == SspLexer::RBRACE) {
                separate();
            }
            break;
        case SspLexer::SEMICOLON:
        case SspLexer::COMMA:
            separate();
            break;
        case SspLexer::MINUS:
            if (is_operand_end(previous)) {
                levels.back().operators += 1;
                break;
            }
            [[fallthrough]];
        case SspLexer::NOT:
        case SspLexer::CARET:
        case SspLexer::SUM:
        case SspLexer::MEAN:
        case SspLexer::MAX:
        case SspLexer::MIN:
        case SspLexer::PROD:
            levels.back().prefixes += 1;
            ++depth;
            break;
        case SspLexer::PLUS:
        case SspLexer::STAR:
        case SspLexer::SLASH:
        case SspLexer::PERCENT:
        case SspLexer::SHL:
        case SspLexer::SHR:
        case SspLexer::EQ:
        case SspLexer::NE:
        case SspLexer::LT:
        case SspLexer::LE:
        case SspLexer::GT:
        case SspLexer::GE:
        case SspLexer::AND:
        case SspLexer::OR:
        case SspLexer::DOT:
            levels.back().operators += 1;
            break;
        default:
            break;
        }
        if (depth > most_levels || levels.back().operators > most_operators) {
            sink.report(diag::NestedTooDeep, span_of(*token, offsets), depth > most_levels ? most_levels : most_operators)
                .help("name a part of it in a statement of its own");
            result.too_deep = true;
            return result;
        }
        previous = type;
    }
    if (levels.size() > 1) {
        result.unclosed = span_of(*levels.back().open, offsets);
    }
    return result;
}

} // namespace sspc
