// Sets of tokens in the user's words.
#include "frontend/parse/expected.h"

#include "SspParser.h"

#include <algorithm>
#include <set>
#include <vector>

namespace sspc {

using sspc_grammar::SspParser;

namespace {

bool is_name(size_t type) { return type == SspParser::ID || (type >= SspParser::IMPORT && type <= SspParser::COMM); }

} // namespace

// The grammar lists reserved words first, then the words with a meaning, then signs.
bool is_reserved(size_t type) { return type >= SspParser::SUM && type <= SspParser::INF; }

std::string describe_expected(const antlr4::misc::IntervalSet& set, const antlr4::dfa::Vocabulary& vocabulary) {
    std::set<size_t> types;
    for (const ssize_t type : set.toList()) {
        types.insert(static_cast<size_t>(type));
    }
    const auto has = [&](size_t type) { return types.count(type) > 0; };
    const auto drop = [&](std::initializer_list<size_t> dropped) {
        for (size_t type : dropped) {
            types.erase(type);
        }
    };
    const auto drop_words = [&] {
        std::erase_if(types, [](size_t type) { return is_name(type) || is_reserved(type); });
    };
    std::vector<std::string> kinds;
    if (has(SspParser::IMPORT) && has(SspParser::PLAN) && !has(SspParser::ID)) {
        return "a declaration such as `model` or `plan`";
    }
    if (has(SspParser::PLUS) && has(SspParser::CARET)) { // before the words go: `and` and `or` are operators
        kinds.push_back("an operator");
        drop({SspParser::CARET, SspParser::PLUS, SspParser::MINUS, SspParser::STAR, SspParser::SLASH, SspParser::PERCENT, SspParser::SHL,
              SspParser::SHR, SspParser::EQ, SspParser::NE, SspParser::LT, SspParser::LE, SspParser::GT, SspParser::GE, SspParser::AND,
              SspParser::OR, SspParser::DOT, SspParser::LPAREN, SspParser::LBRACKET});
    }
    if (has(SspParser::STARSTAR)) {
        kinds.insert(kinds.begin(), "a path");
        drop_words();
        drop({SspParser::STARSTAR, SspParser::STAR, SspParser::LBRACE, SspParser::INT});
    } else if (has(SspParser::INT) && has(SspParser::STRING)) {
        kinds.insert(kinds.begin(), "an expression");
        drop_words();
        drop({SspParser::INT, SspParser::FLOAT, SspParser::SIZE, SspParser::STRING, SspParser::MINUS, SspParser::LPAREN});
    } else if (has(SspParser::ID)) {
        kinds.insert(kinds.begin(), "a name");
        drop_words();
    }
    if (has(SspParser::HASH) && has(SspParser::BANG)) { // how a path may go on is seldom what is missing
        drop({SspParser::HASH, SspParser::BANG, SspParser::DOT, SspParser::LBRACKET});
    }
    // Signs first: "`;`, `for` or an operator".
    std::vector<size_t> ordered(types.begin(), types.end());
    std::stable_partition(ordered.begin(), ordered.end(), [](size_t type) { return !is_name(type) && !is_reserved(type); });
    std::vector<std::string> words;
    for (size_t type : ordered) {
        const std::string literal = vocabulary.getLiteralName(type);
        if (type == antlr4::Token::EOF || type == antlr4::Token::EPSILON) {
            continue;
        }
        if (literal.size() > 2) {
            words.push_back("`" + literal.substr(1, literal.size() - 2) + "`");
        } else if (type == SspParser::INT) {
            words.push_back("a number");
        } else if (type == SspParser::STRING) {
            words.push_back("a string");
        }
    }
    if (words.size() > 6) {
        words.resize(6);
    }
    words.insert(words.end(), kinds.begin(), kinds.end());
    std::string out;
    for (size_t i = 0; i < words.size(); ++i) {
        out += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
    }
    return out.empty() ? "something else" : out;
}

} // namespace sspc
