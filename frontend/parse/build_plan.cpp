// Statements of plans.
#include "frontend/parse/builder.h"

#include "ir/support/check.h"

namespace sspc {

using namespace syntax;
using Parser = Builder::Parser;

std::vector<PlanStatement> Builder::plan_body(Parser::PlanBodyContext* ctx) {
    std::vector<PlanStatement> all;
    for (auto* item : ctx->planStatement()) {
        all.push_back(plan_statement(item));
    }
    return all;
}

MeshAxisRef Builder::mesh_axis(Parser::MeshAxisRefContext* ctx) {
    MeshAxisRef axis;
    axis.span = span(ctx);
    axis.axis = name(ctx->name().back());
    if (ctx->name().size() > 1) {
        axis.mesh = name(ctx->name(0));
    }
    return axis;
}

Mesh Builder::mesh(Parser::MeshStatementContext* ctx) {
    Mesh mesh{name(ctx->name()), {}, expr(ctx->expr())};
    for (auto* axis : ctx->meshAxis()) {
        mesh.axes.push_back({name(axis->name()), expr(axis->expr())});
    }
    return mesh;
}

Shard Builder::shard(Parser::ShardStatementContext* ctx) {
    Shard shard;
    shard.axes = names(ctx->nameList());
    shard.over = mesh_axis(ctx->meshAxisRef());
    // A bare `params`, `grads` or `optimizer` is the state of that kind; in a list they could only be axes.
    if (shard.axes.size() == 1) {
        const std::string& word = shard.axes[0].text;
        shard.what = word == "params"      ? Shard::What::Params
                     : word == "grads"     ? Shard::What::Grads
                     : word == "optimizer" ? Shard::What::Optimizer
                                           : Shard::What::Axes;
        if (shard.what != Shard::What::Axes) {
            shard.axes.clear();
        }
    }
    for (auto* option : ctx->shardOption()) {
        if (option->FLAT() != nullptr) {
            if (shard.flat) {
                sink_.report(diag::GivenTwice, span(option), "flat");
            }
            shard.flat = true;
        } else {
            if (!shard.cuts.empty()) {
                sink_.report(diag::GivenTwice, span(option), "cuts");
            }
            shard.cuts = expr_list(option->exprList());
        }
    }
    return shard;
}

Stages Builder::stages(Parser::StagesStatementContext* ctx) {
    Stages stages;
    stages.items = selectors(ctx->selectors());
    stages.over = mesh_axis(ctx->meshAxisRef());
    for (auto* option : ctx->stagesOption()) {
        if (option->CHUNKS() != nullptr) {
            if (stages.chunks != nullptr) {
                sink_.report(diag::GivenTwice, span(option), "chunks");
            }
            stages.chunks = expr(option->expr());
            if (option->LOOP() != nullptr) {
                stages.order = Stages::Order::Loop;
            } else if (option->FOLD() != nullptr) {
                stages.order = Stages::Order::Fold;
            }
            continue;
        }
        if (stages.balance || !stages.cuts.empty()) {
            sink_.report(diag::GivenTwice, span(option), "balance");
        }
        if (option->exprList() != nullptr) {
            stages.cuts = expr_list(option->exprList());
        } else {
            stages.balance = name(option->name());
        }
    }
    return stages;
}

Placement Builder::placement(Parser::PlacementContext* ctx) {
    Placement placement{name(ctx->name()), {}, span(ctx)};
    for (auto* item : ctx->coordinate()) {
        Placement::Coordinate coordinate;
        coordinate.axis = name(item->name());
        coordinate.all = item->STAR() != nullptr;
        if (!coordinate.all) {
            coordinate.first = expr(item->expr(0));
            coordinate.last = item->expr().size() > 1 ? expr(item->expr(1)) : nullptr;
        }
        placement.coordinates.push_back(std::move(coordinate));
    }
    return placement;
}

PlanStatement Builder::plan_statement(Parser::PlanStatementContext* ctx) {
    const Span where = span(ctx);
    const auto with = [&](auto* c, auto kind) { return PlanStatement{std::move(kind), only(c->onlyFor()), where}; };
    if (auto* c = dynamic_cast<Parser::UseStatementContext*>(ctx)) {
        return with(c, UsePlan{named_call(c->namedCall())});
    }
    if (auto* c = dynamic_cast<Parser::MeshStatementContext*>(ctx)) {
        return {mesh(c), {}, where};
    }
    if (auto* c = dynamic_cast<Parser::ShardStatementContext*>(ctx)) {
        return with(c, shard(c));
    }
    if (auto* c = dynamic_cast<Parser::SplitStatementContext*>(ctx)) {
        return with(c, Split{name(c->name()), expr(c->expr())});
    }
    if (auto* c = dynamic_cast<Parser::RecomputeStatementContext*>(ctx)) {
        return with(c, Recompute{selectors(c->selectors())});
    }
    if (auto* c = dynamic_cast<Parser::OffloadStatementContext*>(ctx)) {
        return with(c, Offload{selectors(c->selectors()), name(c->name())});
    }
    if (auto* c = dynamic_cast<Parser::PrecisionStatementContext*>(ctx)) {
        Precision precision;
        for (auto* entry : c->precision()) {
            precision.entries.push_back({name(entry->name(0)), name(entry->name(1))});
        }
        return with(c, std::move(precision));
    }
    if (auto* c = dynamic_cast<Parser::StagesStatementContext*>(ctx)) {
        return with(c, stages(c));
    }
    if (auto* c = dynamic_cast<Parser::StageStatementContext*>(ctx)) {
        return with(c, Stage{selectors(c->selectors()), placement(c->placement())});
    }
    if (auto* c = dynamic_cast<Parser::PlaceStatementContext*>(ctx)) {
        return with(c, Place{selectors(c->selectors()), placement(c->placement())});
    }
    if (auto* c = dynamic_cast<Parser::UseScheduleStatementContext*>(ctx)) {
        return with(c, UseSchedule{named_call(c->namedCall())});
    }
    if (auto* c = dynamic_cast<Parser::OrderStatementContext*>(ctx)) {
        return with(c, Order{selectors(c->selectors(0)), selectors(c->selectors(1))});
    }
    if (auto* c = dynamic_cast<Parser::LowerStatementContext*>(ctx)) {
        Lower lower{selectors(c->selectors()), {}};
        for (auto* step : c->namedCall()) {
            lower.steps.push_back(named_call(step));
        }
        return with(c, std::move(lower));
    }
    if (auto* c = dynamic_cast<Parser::FuseStatementContext*>(ctx)) {
        return with(c, Fuse{selectors(c->selectors())});
    }
    if (auto* c = dynamic_cast<Parser::OverlapStatementContext*>(ctx)) {
        Overlap overlap{selectors(c->selectors()), {}, expr(c->expr())};
        if (c->overlapWith() != nullptr) {
            overlap.second = selectors(c->overlapWith()->selectors());
        }
        return with(c, std::move(overlap));
    }
    if (auto* c = dynamic_cast<Parser::BucketStatementContext*>(ctx)) {
        return with(c, Bucket{name(c->name()), expr(c->expr())});
    }
    if (auto* c = dynamic_cast<Parser::PrefetchStatementContext*>(ctx)) {
        return with(c, Prefetch{name(c->name()), selectors(c->selectors()), expr(c->expr())});
    }
    if (auto* c = dynamic_cast<Parser::KeepStatementContext*>(ctx)) {
        return with(c, KeepGathered{selectors(c->selectors())});
    }
    if (auto* c = dynamic_cast<Parser::RingStatementContext*>(ctx)) {
        return with(c, Ring{name(c->name()), mesh_axis(c->meshAxisRef())});
    }
    if (auto* c = dynamic_cast<Parser::OutputWholeStatementContext*>(ctx)) {
        return with(c, OutputWhole{selectors(c->selectors())});
    }
    if (auto* c = dynamic_cast<Parser::PlanLetStatementContext*>(ctx)) {
        return {Let{name(c->name()), expr(c->expr())}, {}, where};
    }
    if (auto* c = dynamic_cast<Parser::PlanForStatementContext*>(ctx)) {
        return {For<PlanStatement>{name(c->name()), range(c->range()), plan_body(c->planBody())}, {}, where};
    }
    auto* c = dynamic_cast<Parser::PlanIfStatementContext*>(ctx);
    SSPC_CHECK(c != nullptr, "every kind of plan statement is built");
    return {build_if<PlanStatement>(c->expr(), c->planBody(), [&](auto* e) { return expr(e); }, [&](auto* b) { return plan_body(b); }),
            {},
            where};
}

} // namespace sspc
