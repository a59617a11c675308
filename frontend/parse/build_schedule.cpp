// Statements of schedules.
#include "frontend/parse/builder.h"

#include "ir/support/check.h"

namespace sspc {

using namespace syntax;
using Parser = Builder::Parser;

std::vector<ScheduleStatement> Builder::schedule_body(Parser::ScheduleBodyContext* ctx) {
    std::vector<ScheduleStatement> all;
    for (auto* item : ctx->scheduleStatement()) {
        all.push_back(schedule_statement(item));
    }
    return all;
}

ScheduleStatement Builder::schedule_statement(Parser::ScheduleStatementContext* ctx) {
    const Span where = span(ctx);
    if (auto* c = dynamic_cast<Parser::LaneStatementContext*>(ctx)) {
        return {Lane{name(c->name()), range(c->range()), schedule_body(c->scheduleBody())}, where};
    }
    if (auto* c = dynamic_cast<Parser::ScheduleLetStatementContext*>(ctx)) {
        return {Let{name(c->name()), expr(c->expr())}, where};
    }
    if (auto* c = dynamic_cast<Parser::ScheduleForStatementContext*>(ctx)) {
        return {For<ScheduleStatement>{name(c->name()), range(c->range()), schedule_body(c->scheduleBody())}, where};
    }
    if (auto* c = dynamic_cast<Parser::ScheduleIfStatementContext*>(ctx)) {
        return {build_if<ScheduleStatement>(c->expr(), c->scheduleBody(), [&](auto* e) { return expr(e); },
                                            [&](auto* b) { return schedule_body(b); }),
                where};
    }
    auto* c = dynamic_cast<Parser::RunStatementContext*>(ctx);
    SSPC_CHECK(c != nullptr, "every kind of schedule statement is built");
    RunBlocks run;
    for (auto* block : c->blockCall()) {
        run.blocks.push_back({name(block->name()), arguments(block->arguments()), span(block)});
    }
    return {std::move(run), where};
}

} // namespace sspc
