// Reports syntax errors in the user's words and goes on at the next statement.
#include "frontend/parse/error_strategy.h"

#include "frontend/parse/expected.h"

#include "SspParser.h"

namespace sspc {

using antlr4::Token;
using antlr4::misc::IntervalSet;
using sspc_grammar::SspParser;

namespace {

/// What a list of statements or declarations holds; null for the other rules.
const char* list_of(const antlr4::Parser* parser) {
    switch (const_cast<antlr4::Parser*>(parser)->getContext()->getRuleIndex()) {
    case SspParser::RuleModule:
        return "a declaration such as `model` or `plan`";
    case SspParser::RuleBody:
        return "a statement or `}`";
    case SspParser::RulePlanBody:
        return "a plan statement or `}`";
    case SspParser::RuleScheduleBody:
        return "a schedule statement or `}`";
    default:
        return nullptr;
    }
}

/// Whether only a `;` can follow, and the line has ended: the user forgot it.
bool lacks_semicolon(antlr4::Parser* parser) {
    const auto& transitions = parser->getATN().states[parser->getState()]->transitions;
    if (transitions.size() != 1 || transitions[0]->isEpsilon()) {
        return false;
    }
    const IntervalSet label = transitions[0]->label();
    antlr4::TokenStream* tokens = parser->getTokenStream();
    const Token* before = tokens->LT(-1);
    return label.size() == 1 && label.contains(static_cast<size_t>(SspParser::SEMICOLON)) && before != nullptr &&
           tokens->LT(1)->getLine() > before->getLine();
}

} // namespace

void ErrorStrategy::reset(antlr4::Parser* parser) {
    DefaultErrorStrategy::reset(parser);
    expected_ = IntervalSet();
    expected_at_ = item_at_ = static_cast<size_t>(-1);
}

void ErrorStrategy::expect(antlr4::Parser* parser) {
    const size_t at = parser->getTokenStream()->index();
    if (at != expected_at_) {
        expected_ = IntervalSet();
        expected_at_ = at;
    }
    expected_.addAll(parser->getExpectedTokens());
}

void ErrorStrategy::report(antlr4::Parser* parser, const Token* at, const std::string& expected, const IntervalSet& set) {
    if (inErrorRecoveryMode(parser)) {
        return;
    }
    beginErrorCondition(parser);
    const bool end = at->getType() == Token::EOF;
    const Span span = end ? offsets_.span(at->getStartIndex(), at->getStartIndex())
                          : offsets_.span(at->getStartIndex(), at->getStopIndex() + 1);
    const std::string text = at->getText();
    Diagnostic& d = is_reserved(at->getType()) && set.contains(static_cast<size_t>(SspParser::ID)) &&
                            !set.contains(static_cast<size_t>(SspParser::INT))
                        ? sink_.report(diag::ReservedWord, span, text, expected)
                        : sink_.report(diag::Unexpected, span, expected, end ? "the end of the file" : "`" + text + "`");
    if (end && unclosed_.valid()) {
        d.note(unclosed_, "this is not closed");
    }
    if (at->getType() == SspParser::STARSTAR) {
        d.help("the power of a number is written `a ^ b`");
    }
}

void ErrorStrategy::reportError(antlr4::Parser* parser, const antlr4::RecognitionException& error) {
    if (inErrorRecoveryMode(parser)) {
        return;
    }
    const Token* at = error.getOffendingToken();
    IntervalSet set;
    if (const auto* no_way = dynamic_cast<const antlr4::NoViableAltException*>(&error);
        no_way != nullptr && no_way->getStartToken() != at && no_way->getDeadEndConfigs() != nullptr) {
        // The decision read on beyond its first token; what it could still have taken is what its last configurations wait for.
        for (const auto& config : no_way->getDeadEndConfigs()->configs) {
            for (const auto* transition : config->state->transitions) {
                if (!transition->isEpsilon()) {
                    set.addAll(transition->label());
                }
            }
        }
    } else {
        set = error.getExpectedTokens();
    }
    if (at->getTokenIndex() == expected_at_) {
        set.addAll(expected_);
    }
    report(parser, at, describe_expected(set, parser->getVocabulary()), set);
}

void ErrorStrategy::recover(antlr4::Parser*, std::exception_ptr) {
    // Nothing is skipped here: the rules on the way out fail silently, and the nearest list skips.
}

Token* ErrorStrategy::recoverInline(antlr4::Parser* parser) {
    expect(parser);
    if (!inErrorRecoveryMode(parser) && lacks_semicolon(parser)) {
        const Token* before = parser->getTokenStream()->LT(-1);
        const Token* found = parser->getTokenStream()->LT(1);
        sink_.report(diag::Unexpected, offsets_.span(before->getStopIndex(), before->getStopIndex() + 1),
                     describe_expected(expected_, parser->getVocabulary()) + " here",
                     found->getType() == Token::EOF ? "the end of the file" : "`" + found->getText() + "` on a later line");
        return getMissingSymbol(parser);
    }
    throw antlr4::InputMismatchException(parser);
}

void ErrorStrategy::sync(antlr4::Parser* parser) {
    const char* list = list_of(parser);
    const size_t rule = parser->getContext()->getRuleIndex();
    if (list == nullptr) {
        if (inErrorRecoveryMode(parser)) {
            throw antlr4::InputMismatchException(parser); // a loop here could try the same token for ever
        }
        // A pattern may go on only without a space, which the sets do not know.
        if (rule != SspParser::RuleGlob && rule != SspParser::RuleGlobWild && rule != SspParser::RuleAlternative) {
            expect(parser);
        }
        return;
    }
    IntervalSet next = parser->getATN().nextTokens(parser->getATN().states[parser->getState()]);
    if (inErrorRecoveryMode(parser)) {
        skip_broken(parser, next);
    }
    antlr4::TokenStream* tokens = parser->getTokenStream();
    while (!next.contains(tokens->LA(1)) && tokens->LA(1) != Token::EOF) {
        report(parser, tokens->LT(1), list, next);
        parser->consume();
        skip_broken(parser, next);
    }
    if (!next.contains(tokens->LA(1))) {
        report(parser, tokens->LT(1), list, next);
    }
    item_at_ = tokens->index();
}

void ErrorStrategy::skip_broken(antlr4::Parser* parser, const IntervalSet& next) {
    const bool top = parser->getContext()->getRuleIndex() == SspParser::RuleModule;
    antlr4::TokenStream* tokens = parser->getTokenStream();
    // The broken one may have been given its end already, `x = (a + );`, if any of it was read at all.
    const size_t before = tokens->LA(-1);
    const size_t start = tokens->index();
    bool done = start != item_at_ && (before == SspParser::SEMICOLON || before == SspParser::RBRACE) && next.contains(tokens->LA(1));
    for (int depth = 0; !done;) {
        const size_t type = tokens->LA(1);
        if (type == Token::EOF) {
            return; // still in recovery: the end of the file is not an error of its own
        }
        if (top && tokens->LT(1)->getCharPositionInLine() == 0 && next.contains(type) && tokens->index() != item_at_) {
            break; // braces do not match; a declaration at the margin is a good guess
        }
        if (type == SspParser::RBRACE && depth == 0 && !top) {
            break; // the list's own end
        }
        parser->consume();
        if (type == SspParser::LBRACE) {
            ++depth;
        } else if (type == SspParser::RBRACE) {
            depth = depth > 0 ? depth - 1 : 0;
            // Not after the alternatives of a selector, `attn.{q,k}, x;`.
            done = depth == 0 && next.contains(tokens->LA(1));
        } else if (type == SspParser::SEMICOLON) {
            done = depth == 0;
        }
    }
    endErrorCondition(parser);
}

} // namespace sspc
