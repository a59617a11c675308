// Expressions, arguments, literals and words.
#include "frontend/parse/builder.h"

#include "ir/support/check.h"

#include <charconv>
#include <cmath>

namespace sspc {

using namespace syntax;
using Parser = Builder::Parser;

namespace {

template <typename Kind>
ExprPtr make(Kind kind, const Span& span) {
    return std::make_shared<const Expr>(Expr{std::move(kind), span});
}

const antlr4::Token* operator_of(const Parser::BinaryExprContext* ctx) {
    auto* node = dynamic_cast<antlr4::tree::TerminalNode*>(ctx->children.at(1));
    SSPC_CHECK(node != nullptr, "a binary expression has its operator second");
    return node->getSymbol();
}

BinaryOp binary_op(size_t type) {
    switch (type) {
    case Parser::PLUS: return BinaryOp::Add;
    case Parser::MINUS: return BinaryOp::Sub;
    case Parser::STAR: return BinaryOp::Mul;
    case Parser::SLASH: return BinaryOp::Div;
    case Parser::PERCENT: return BinaryOp::Mod;
    case Parser::CARET: return BinaryOp::Pow;
    case Parser::SHL: return BinaryOp::ShiftLeft;
    case Parser::SHR: return BinaryOp::ShiftRight;
    case Parser::EQ: return BinaryOp::Eq;
    case Parser::NE: return BinaryOp::Ne;
    case Parser::LT: return BinaryOp::Lt;
    case Parser::LE: return BinaryOp::Le;
    case Parser::GT: return BinaryOp::Gt;
    case Parser::GE: return BinaryOp::Ge;
    case Parser::AND: return BinaryOp::And;
    case Parser::OR: return BinaryOp::Or;
    default: SSPC_UNREACHABLE("a binary operator");
    }
}

ReduceKind reduce_kind(const Parser::ReduceKindContext* ctx) {
    switch (ctx->start->getType()) {
    case Parser::SUM: return ReduceKind::Sum;
    case Parser::MEAN: return ReduceKind::Mean;
    case Parser::MAX: return ReduceKind::Max;
    case Parser::MIN: return ReduceKind::Min;
    case Parser::PROD: return ReduceKind::Prod;
    default: SSPC_UNREACHABLE("a reduction");
    }
}

std::string without_underscores(std::string_view text) {
    std::string digits(text);
    std::erase(digits, '_');
    return digits;
}

} // namespace

Span Builder::span(const antlr4::Token* token) const {
    return offsets_.span(token->getStartIndex(), token->getStopIndex() + 1);
}

Span Builder::span(const antlr4::ParserRuleContext* ctx) const { return join(span(ctx->start), span(ctx->stop)); }

Name Builder::name(antlr4::ParserRuleContext* ctx) {
    const Span where = span(ctx);
    return {std::string(text(where)), where};
}

std::optional<Name> Builder::optional_name(antlr4::ParserRuleContext* ctx) {
    return ctx == nullptr ? std::nullopt : std::optional(name(ctx));
}

std::vector<Name> Builder::names(Parser::NameListContext* ctx) {
    std::vector<Name> all;
    if (ctx != nullptr) {
        for (auto* item : ctx->name()) {
            all.push_back(name(item));
        }
    }
    return all;
}

std::vector<Name> Builder::axes(Parser::AxesContext* ctx) { return ctx == nullptr ? std::vector<Name>() : names(ctx->nameList()); }

ExprPtr Builder::expr(Parser::ExprContext* ctx) {
    if (ctx == nullptr) {
        return nullptr;
    }
    const Span where = span(ctx);
    if (auto* c = dynamic_cast<Parser::NameExprContext*>(ctx)) {
        return make(NameRef{name(c->name()).text}, where);
    }
    if (auto* c = dynamic_cast<Parser::LiteralExprContext*>(ctx)) {
        return literal(c->literal());
    }
    if (auto* c = dynamic_cast<Parser::BinaryExprContext*>(ctx)) {
        const antlr4::Token* op = operator_of(c);
        ExprPtr left = expr(c->expr(0));
        return make(Binary{binary_op(op->getType()), std::move(left), expr(c->expr(1)), span(op)}, where);
    }
    if (auto* c = dynamic_cast<Parser::UnaryExprContext*>(ctx)) {
        const UnaryOp op = c->op->getType() == Parser::MINUS ? UnaryOp::Neg : UnaryOp::Not;
        return make(Unary{op, expr(c->expr())}, where);
    }
    if (auto* c = dynamic_cast<Parser::ReduceExprContext*>(ctx)) {
        return make(Reduce{reduce_kind(c->reduceKind()), c->nameList() == nullptr, names(c->nameList()), expr(c->expr())}, where);
    }
    if (auto* c = dynamic_cast<Parser::CallExprContext*>(ctx)) {
        return call(c);
    }
    if (auto* c = dynamic_cast<Parser::IndexExprContext*>(ctx)) {
        return indexed(c);
    }
    if (auto* c = dynamic_cast<Parser::MemberExprContext*>(ctx)) {
        return make(Member{expr(c->expr()), name(c->member())}, where);
    }
    if (auto* c = dynamic_cast<Parser::ExtremeExprContext*>(ctx)) {
        const Span word = span(c->start);
        return make(Call{make(NameRef{std::string(text(word))}, word), arguments(c->arguments()), std::nullopt}, where);
    }
    auto* c = dynamic_cast<Parser::ParenExprContext*>(ctx);
    SSPC_CHECK(c != nullptr, "every alternative of an expression is built");
    if (c->expr().size() == 1 && c->COMMA().empty()) {
        return expr(c->expr(0));
    }
    Tuple tuple;
    for (auto* item : c->expr()) {
        tuple.items.push_back(expr(item));
    }
    return make(std::move(tuple), where);
}

ExprPtr Builder::literal(Parser::LiteralContext* ctx) {
    const Span where = span(ctx);
    switch (ctx->start->getType()) {
    case Parser::INT: return make(IntLiteral{integer(ctx->start)}, where);
    case Parser::FLOAT: return make(FloatLiteral{number(text(where), where)}, where);
    case Parser::SIZE: return make(SizeLiteral{size_bytes(text(where), where)}, where);
    case Parser::STRING: return make(StringLiteral{string_value(ctx->start)}, where);
    case Parser::TRUE: return make(BoolLiteral{true}, where);
    case Parser::FALSE: return make(BoolLiteral{false}, where);
    case Parser::INF: return make(InfLiteral{}, where);
    default: SSPC_UNREACHABLE("a literal");
    }
}

int64_t Builder::integer(const antlr4::Token* token) {
    const Span where = span(token);
    const std::string digits = without_underscores(text(where));
    int64_t value = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc()) {
        sink_.report(diag::NumberOutOfRange, where, digits, "64 bits");
    }
    return value;
}

double Builder::number(std::string_view written, const Span& where) {
    const std::string digits = without_underscores(written);
    double value = 0;
    // A number too small for a double becomes 0, which is what it is nearest to; one too large is an error.
    if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec == std::errc::result_out_of_range) {
        value = std::strtod(digits.c_str(), nullptr);
        if (std::isinf(value)) {
            sink_.report(diag::NumberOutOfRange, where, written, "a double; infinity is written `inf`");
        }
    }
    return value;
}

int64_t Builder::size_bytes(std::string_view written, const Span& where) {
    const size_t unit_at = written.find_first_not_of("0123456789_. \t");
    const std::string_view unit = written.substr(unit_at);
    const double base = unit.find('i') != std::string_view::npos ? 1024 : 1000;
    const size_t power = std::string_view("KMGT").find(unit[0] == 'k' ? 'K' : unit[0]) + 1;
    std::string_view digits = written.substr(0, unit_at);
    digits = digits.substr(0, digits.find_last_not_of(" \t") + 1);
    const double bytes = number(digits, where) * std::pow(base, static_cast<double>(power));
    if (!(bytes < 9e18)) {
        sink_.report(diag::NumberOutOfRange, where, written, "64 bits");
        return 0;
    }
    return static_cast<int64_t>(std::llround(bytes));
}

std::string Builder::string_value(const antlr4::Token* token) {
    const Span where = span(token);
    const std::string_view quoted = text(where);
    std::string value;
    for (size_t i = 1; i + 1 < quoted.size(); ++i) {
        if (quoted[i] != '\\') {
            value += quoted[i];
            continue;
        }
        switch (quoted[++i]) {
        case 'n': value += '\n'; break;
        case 't': value += '\t'; break;
        case '"': value += '"'; break;
        case '\\': value += '\\'; break;
        default: {
            const auto length = static_cast<uint32_t>(decode_utf8(quoted, i).bytes);
            const uint32_t at = where.begin + static_cast<uint32_t>(i);
            sink_.report(diag::UnknownEscape, Span{file_, at - 1, at + length}, "\\" + std::string(quoted.substr(i, length)));
            i += length - 1;
        }
        }
    }
    return value;
}

ExprPtr Builder::call(Parser::CallExprContext* ctx) {
    const Span where = span(ctx);
    ExprPtr callee = expr(ctx->expr());
    Arguments args = arguments(ctx->arguments());
    std::optional<InstanceName> as;
    if (auto* instance = ctx->instanceName()) {
        as = InstanceName{name(instance->name()), {}, span(instance)};
        for (auto* index : instance->expr()) {
            as->index.push_back(expr(index));
        }
    }
    // `concat[a](…)` reads as a draw over `a` that is called; only its name tells.
    if (const auto* draw = std::get_if<Draw>(&callee->kind); draw != nullptr && !as) {
        const auto* word = std::get_if<NameRef>(&draw->distribution->kind);
        bool plain = word != nullptr && word->name == "concat" && draw->axes.size() == 1;
        for (const Argument& arg : args) {
            plain = plain && !arg.over && !arg.name;
        }
        if (plain) {
            Concat concat{draw->axes[0], {}};
            for (const Argument& arg : args) {
                concat.parts.push_back(arg.value);
            }
            return make(std::move(concat), where);
        }
    }
    return make(Call{std::move(callee), std::move(args), std::move(as)}, where);
}

ExprPtr Builder::indexed(Parser::IndexExprContext* ctx) {
    const Span where = span(ctx);
    ExprPtr object = expr(ctx->expr());
    std::vector<Name> drawn;
    std::vector<IndexEntry> entries;
    for (auto* entry : ctx->indexEntry()) {
        if (auto* axis = dynamic_cast<Parser::AxisEntryContext*>(entry)) {
            drawn.push_back(name(axis->name()));
        } else {
            entries.push_back(index_entry(entry));
        }
    }
    if (!drawn.empty() && !entries.empty()) {
        sink_.report(diag::MixedIndexEntries, drawn[0].span, drawn[0].text);
    }
    if (!drawn.empty()) {
        return make(Draw{std::move(object), std::move(drawn)}, where);
    }
    return make(Index{std::move(object), std::move(entries)}, where);
}

IndexEntry Builder::index_entry(Parser::IndexEntryContext* ctx) {
    const Span where = span(ctx);
    if (auto* c = dynamic_cast<Parser::RenameEntryContext*>(ctx)) {
        return {RenameAxis{name(c->name(0)), name(c->name(1))}, where};
    }
    if (auto* c = dynamic_cast<Parser::SplitEntryContext*>(ctx)) {
        SplitAxis split{name(c->name()), {}};
        for (auto* part : c->splitPart()) {
            split.parts.push_back({name(part->name()), expr(part->expr())});
        }
        return {std::move(split), where};
    }
    if (auto* c = dynamic_cast<Parser::MergeEntryContext*>(ctx)) {
        return {MergeAxes{names(c->nameList()), name(c->name())}, where};
    }
    auto* c = dynamic_cast<Parser::AtEntryContext*>(ctx);
    SSPC_CHECK(c != nullptr, "every kind of index entry is built");
    const bool otherwise = c->ELSE() != nullptr;
    ExprPtr first = expr(c->expr(0));
    if (c->DOTDOT() != nullptr) {
        if (otherwise) {
            sink_.report(diag::Unexpected, span(c->ELSE()->getSymbol()), "`]` or `,` after a slice", "`else`");
        }
        ExprPtr last = expr(c->expr(1));
        const Span both = join(first->span, last->span);
        return {SliceAxis{name(c->name()), {std::move(first), std::move(last), both}}, where};
    }
    return {IndexAt{name(c->name()), std::move(first), otherwise ? expr(c->expr(1)) : nullptr}, where};
}

Argument Builder::argument(Parser::ArgumentContext* ctx) {
    const Span where = span(ctx);
    if (auto* c = dynamic_cast<Parser::AxisArgumentContext*>(ctx)) {
        return {true, optional_name(c->name()), expr(c->expr()), where};
    }
    if (auto* c = dynamic_cast<Parser::NamedArgumentContext*>(ctx)) {
        return {false, name(c->name()), expr(c->expr()), where};
    }
    auto* c = dynamic_cast<Parser::PlainArgumentContext*>(ctx);
    SSPC_CHECK(c != nullptr, "every kind of argument is built");
    return {false, std::nullopt, expr(c->expr()), where};
}

Arguments Builder::arguments(Parser::ArgumentsContext* ctx) {
    Arguments all;
    if (ctx != nullptr) {
        for (auto* item : ctx->argument()) {
            all.push_back(argument(item));
        }
    }
    return all;
}

NamedCall Builder::named_call(Parser::NamedCallContext* ctx) { return {name(ctx->name()), arguments(ctx->arguments()), span(ctx)}; }

Range Builder::range(Parser::RangeContext* ctx) { return {expr(ctx->expr(0)), expr(ctx->expr(1)), span(ctx)}; }

std::vector<ExprPtr> Builder::expr_list(Parser::ExprListContext* ctx) {
    std::vector<ExprPtr> all;
    for (auto* item : ctx->expr()) {
        all.push_back(expr(item));
    }
    return all;
}

} // namespace sspc
