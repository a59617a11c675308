// Statements of models, modules, ops and optimizers.
#include "frontend/parse/builder.h"

#include "ir/support/check.h"

namespace sspc {

using namespace syntax;
using Parser = Builder::Parser;

std::vector<Statement> Builder::body(Parser::BodyContext* ctx) {
    std::vector<Statement> all;
    for (auto* item : ctx->statement()) {
        all.push_back(statement(item));
    }
    return all;
}

std::optional<BlockIndex> Builder::block_index(Parser::BlockIndexContext* ctx) {
    if (ctx == nullptr) {
        return std::nullopt;
    }
    return BlockIndex{name(ctx->name()), range(ctx->range())};
}

Target Builder::target(Parser::TargetContext* ctx) {
    Target target{name(ctx->name()), std::nullopt, span(ctx)};
    if (ctx->axes() != nullptr) {
        target.axes = axes(ctx->axes());
    }
    return target;
}

Minimize Builder::minimize(Parser::MinimizeStatementContext* ctx) {
    Minimize result{expr(ctx->expr()), named_call(ctx->namedCall()), nullptr};
    for (auto* item : ctx->argument()) {
        const Argument option = argument(item);
        if (option.over || !option.name || option.name->text != "clip_norm") {
            sink_.report(diag::Unexpected, option.span, "`clip_norm: …` or `;`", "`" + std::string(text(option.span)) + "`");
        } else if (result.clip_norm != nullptr) {
            sink_.report(diag::GivenTwice, option.name->span, "clip_norm").note(result.clip_norm->span, "the first is here");
        } else {
            result.clip_norm = option.value;
        }
    }
    return result;
}

Statement Builder::statement(Parser::StatementContext* ctx) {
    const Span where = span(ctx);
    const auto second = [](const auto& names) { return names.size() > 1 ? names[1] : nullptr; };
    if (auto* c = dynamic_cast<Parser::AssignStatementContext*>(ctx)) {
        return {Assign{{target(c->target())}, false, expr(c->expr())}, where};
    }
    if (auto* c = dynamic_cast<Parser::TupleAssignStatementContext*>(ctx)) {
        Assign assign{{}, true, expr(c->expr())};
        for (auto* item : c->target()) {
            assign.targets.push_back(target(item));
        }
        return {std::move(assign), where};
    }
    if (auto* c = dynamic_cast<Parser::ParamStatementContext*>(ctx)) {
        return {Param{name(c->name(0)), optional_name(second(c->name())), axes(c->axes()), expr(c->expr())}, where};
    }
    if (auto* c = dynamic_cast<Parser::InputStatementContext*>(ctx)) {
        return {Input{name(c->name(0)), optional_name(second(c->name())), axes(c->axes())}, where};
    }
    if (auto* c = dynamic_cast<Parser::StateStatementContext*>(ctx)) {
        return {State{name(c->name(0)), optional_name(second(c->name())), axes(c->axes()), expr(c->expr())}, where};
    }
    if (auto* c = dynamic_cast<Parser::DimStatementContext*>(ctx)) {
        return {Dim{name(c->name()), expr(c->expr())}, where};
    }
    if (auto* c = dynamic_cast<Parser::LetStatementContext*>(ctx)) {
        return {Let{name(c->name()), expr(c->expr())}, where};
    }
    if (auto* c = dynamic_cast<Parser::BlockStatementContext*>(ctx)) {
        return {Block{name(c->name()), block_index(c->blockIndex()), body(c->body())}, where};
    }
    if (auto* c = dynamic_cast<Parser::PassStatementContext*>(ctx)) {
        return {Pass{name(c->name()), block_index(c->blockIndex()), body(c->body())}, where};
    }
    if (auto* c = dynamic_cast<Parser::ForStatementContext*>(ctx)) {
        return {For<Statement>{name(c->name()), range(c->range()), body(c->body())}, where};
    }
    if (auto* c = dynamic_cast<Parser::IfStatementContext*>(ctx)) {
        return {build_if<Statement>(c->expr(), c->body(), [&](auto* e) { return expr(e); }, [&](auto* b) { return body(b); }), where};
    }
    if (auto* c = dynamic_cast<Parser::ReturnStatementContext*>(ctx)) {
        Return result;
        for (auto* item : c->result()) {
            result.results.push_back({optional_name(item->name()), expr(item->expr())});
        }
        return {std::move(result), where};
    }
    if (auto* c = dynamic_cast<Parser::MinimizeStatementContext*>(ctx)) {
        return {minimize(c), where};
    }
    if (auto* c = dynamic_cast<Parser::OverrideStatementContext*>(ctx)) {
        return {Override{named_call(c->namedCall()), only(c->onlyFor())}, where};
    }
    if (auto* c = dynamic_cast<Parser::UpdateStatementContext*>(ctx)) {
        return {Update{name(c->name()), named_call(c->namedCall())}, where};
    }
    auto* c = dynamic_cast<Parser::OutputStatementContext*>(ctx);
    SSPC_CHECK(c != nullptr, "every kind of statement is built");
    return {Output{expr(c->expr())}, where};
}

} // namespace sspc
