// What a Compute and a Communicate make of the abstract state.
#include "ir/check/class_state.h"

#include "ir/check/describe.h"
#include "ir/check/expr_match.h"
#include "ir/support/format.h"

#include <algorithm>

namespace sspc::check {

std::string ClassState::mismatch(const Compute& c, const Statement& statement, std::vector<bool>& terms) const {
    const Graph& graph = checked_.reference.graph;
    if (c.path != statement.path || c.phase != statement.phase) {
        return format("`{0}` is made by `{1}`", class_.buffers[c.out].tensor, statement.path);
    }
    if (c.reduce != statement.reduce || c.reduced != statement.reduced) {
        return "it reduces otherwise";
    }
    if (c.scatter.size() != statement.scatter.size()) {
        return "it puts its values elsewhere";
    }
    const SlotTensor wanted = [&](int slot) { return statement.operands[static_cast<size_t>(slot)]; };
    const SlotTensor found = [&](int slot) { return tensor_in(c.reads[static_cast<size_t>(slot)]); };
    for (size_t i = 0; i < c.scatter.size(); ++i) {
        const std::string what = difference(graph, statement.scatter[i], wanted, c.scatter[i], found);
        if (!what.empty()) {
            return what;
        }
    }
    const std::string what = difference(graph, statement.body, wanted, c.body, found);
    const bool over_stages = checked_.stage_axis >= 0 &&
                             class_.buffers[c.out].layout[static_cast<size_t>(checked_.stage_axis)] == Placement::partial(Reduce::Sum);
    if (!over_stages) {
        return what;
    }
    // Each stage adds the terms that it has, in the statement's order.
    const std::vector<ExprPtr> all = terms_of(statement.body);
    terms.assign(all.size(), what.empty());
    if (what.empty()) {
        return "";
    }
    size_t next = 0;
    for (const ExprPtr& term : terms_of(c.body)) {
        if (term->op == ExprOp::Constant && term->number == 0) {
            continue;
        }
        while (next < all.size() && !difference(graph, all[next], wanted, term, found).empty()) {
            ++next;
        }
        if (next == all.size()) {
            return "it adds a term that the statement does not have there";
        }
        terms[next++] = true;
    }
    return "";
}

std::optional<Chunk> ClassState::chunk_of_operand(const Compute& c, int slot) const {
    std::optional<Chunk> chunk;
    if (!c.chunk) {
        return chunk;
    }
    bool everywhere = true;
    for_each(c.body, [&](const Expr& e) {
        if (e.op != ExprOp::Access || e.slot != slot) {
            return;
        }
        const auto& axes = class_.buffers[c.reads[static_cast<size_t>(slot)]].axes;
        bool here = false;
        for (size_t p = 0; p < e.args.size() && p < axes.size(); ++p) {
            if (e.args[p]->op == ExprOp::Iota && e.args[p]->axis == c.chunk->axis) {
                chunk = Chunk{axes[p], c.chunk->index, c.chunk->count};
                here = true;
            }
        }
        everywhere = everywhere && here;
    });
    return everywhere ? chunk : std::nullopt;
}

/// A value may replace the one it is computed from if each element needs that element only.
bool ClassState::good_in_place(const Compute& c) const {
    bool good = c.reduce == Reduce::None && c.scatter.empty();
    for_each(c.body, [&](const Expr& e) {
        if (e.op != ExprOp::Access || c.reads[static_cast<size_t>(e.slot)] != c.out) {
            return;
        }
        const auto& axes = class_.buffers[c.out].axes;
        for (size_t p = 0; p < axes.size() && p < e.args.size(); ++p) {
            good = good && e.args[p]->op == ExprOp::Iota && e.args[p]->axis == axes[p];
        }
    });
    return good;
}

void ClassState::report(const RuleError& error, const Compute& c, const std::vector<Operand>& operands) {
    const std::string along = error.mesh_axis < 0 ? "" : checked_.program.mesh.axes[static_cast<size_t>(error.mesh_axis)].name;
    const std::string name = error.slot < 0 ? "" : class_.buffers[c.reads[static_cast<size_t>(error.slot)]].name;
    switch (error.kind) {
    case RuleError::Kind::Cut:
        sink_.report(diag::WrongCut, span_, where(), error.text);
        break;
    case RuleError::Kind::Layout:
        sink_.report(diag::ReadAsWrongLayout, span_, where(), name,
                     describe(checked_, *operands[static_cast<size_t>(error.slot)].layout),
                     format("{0} along `{1}`", error.text, along));
        break;
    case RuleError::Kind::Partial:
        sink_.report(diag::PartialAsWhole, span_, where(), name, along);
        break;
    }
}

void ClassState::compute(const Compute& c) {
    const Graph& graph = checked_.reference.graph;
    const Buffer& out = class_.buffers[c.out];
    const TensorId made = written_tensor(out);
    const StatementId by = made.valid() ? checked_.reference.producer[made] : StatementId();
    if (!by.valid()) {
        sink_.report(diag::NotTheModels, span_, where(), format("nothing in the model computes `{0}`", out.tensor));
        return;
    }
    const Statement& statement = graph.statements[by];
    if (graph.tensors[made].axes != out.axes || graph.tensors[made].dtype != out.dtype) {
        sink_.report(diag::NotTheModels, span_, where(), format("`{0}` has other axes than its new value", out.name));
        return;
    }
    std::vector<bool> terms;
    const std::string different = mismatch(c, statement, terms);
    if (!different.empty()) {
        sink_.report(diag::NotTheModels, span_, where(), different);
        return;
    }
    std::vector<Operand> operands;
    bool all_there = true;
    for (size_t slot = 0; slot < c.reads.size(); ++slot) {
        const Content* content = read(c.reads[slot], chunk_of_operand(c, static_cast<int>(slot)));
        all_there = all_there && content != nullptr;
        if (content == nullptr) {
            continue;
        }
        const Buffer& buffer = class_.buffers[c.reads[slot]];
        if (!content->is_value()) {
            sink_.report(diag::NobodyProduced, span_, where(), buffer.name, "which nothing produced before");
            all_there = false;
        } else if (checked_.stage_axis >= 0 && content->layout[static_cast<size_t>(checked_.stage_axis)].is_partial()) {
            sink_.report(diag::PartialAsWhole, span_, where(), buffer.name,
                         checked_.program.mesh.axes[static_cast<size_t>(checked_.stage_axis)].name);
            all_there = false;
        }
        operands.push_back({&buffer, &content->layout});
    }
    if (!all_there) {
        return;
    }
    if (std::find(c.reads.begin(), c.reads.end(), c.out) != c.reads.end() && !good_in_place(c)) {
        sink_.report(diag::ProducedTwice, span_, where(), out.name, "it still reads");
        return;
    }
    if (c.chunk && (std::find(out.axes.begin(), out.axes.end(), c.chunk->axis) == out.axes.end() ||
                    (!c.scatter.empty()))) {
        sink_.report(diag::WrongCut, span_, where(),
                     format("its chunks run along `{0}`, which is no axis of the value", graph.axes[c.chunk->axis].name));
        return;
    }
    const auto result = out_layout(checked_, statement, c, operands);
    if (const auto* error = std::get_if<RuleError>(&result)) {
        report(*error, c, operands);
        return;
    }
    Content value = Content::value(made, std::get<Layout>(result));
    if (!terms.empty()) {
        value.layout[static_cast<size_t>(checked_.stage_axis)] = Placement::partial(Reduce::Sum);
        value.terms = terms;
        const bool none = std::find(terms.begin(), terms.end(), true) == terms.end();
        for (size_t m = 0; none && m < value.layout.size(); ++m) { // zeros are a term along any mesh axis
            if (value.layout[m].is_replicated() && out.layout[m] == Placement::partial(Reduce::Sum)) {
                value.layout[m] = out.layout[m];
            }
        }
    }
    write(c.out, std::move(value), c.chunk, c.accumulate);
}

std::string ClassState::move_problem(const Communicate& c, const Communicate::Part& part) {
    std::vector<int64_t> key{static_cast<int64_t>(c.kind)};
    for (const int axis : c.mesh_axes) {
        key.push_back(axis);
    }
    for (const Layout* layout : {&part.from_layout, &part.to_layout}) {
        for (const Placement& p : *layout) {
            key.push_back(static_cast<int64_t>(p.kind));
            key.push_back(p.axis.value);
            key.push_back(static_cast<int64_t>(p.reduction));
        }
    }
    for (const AxisId axis : class_.buffers[part.from].axes) {
        key.push_back(axis.value);
    }
    const auto known = moves_.find(key);
    if (known != moves_.end()) {
        return known->second;
    }
    std::string problem =
        wrong_move(checked_, class_.buffers[part.from].axes, c.kind, c.mesh_axes, part.from_layout, part.to_layout);
    return moves_.emplace(std::move(key), std::move(problem)).first->second;
}

void ClassState::communicate(const Communicate& c) {
    const bool over_stages = checked_.stage_axis >= 0 &&
                             checked_.program.mesh.axes[static_cast<size_t>(checked_.stage_axis)].size > 1 &&
                             std::find(c.mesh_axes.begin(), c.mesh_axes.end(), checked_.stage_axis) != c.mesh_axes.end();
    StageCollective met{class_index_, c.kind, c.mesh_axes, {}, {}, {}, over_stages ? where() : "", span_};
    if (over_stages && (c.kind != MoveKind::AllReduce || region_ == Region::Loop)) {
        sink_.report(diag::WrongMove, span_, where(), "only a sum once a step goes over the stages");
        return;
    }
    for (const Communicate::Part& part : c.parts) {
        const Buffer& from = class_.buffers[part.from];
        const Buffer& to = class_.buffers[part.to];
        const Content* content = read(part.from, c.chunk);
        if (content == nullptr) {
            continue;
        }
        Content held = *content;
        const bool no_terms = held.state == Content::State::Identity && over_stages;
        if (no_terms) {
            held = Content::value(checked_.reference.find(from.tensor), part.from_layout);
        }
        if (!held.is_value()) {
            sink_.report(diag::NobodyProduced, span_, where(), from.name, "which nothing produced before");
            continue;
        }
        if (held.layout != part.from_layout) {
            sink_.report(diag::ReadAsWrongLayout, span_, where(), from.name, describe(checked_, held.layout),
                         describe(checked_, part.from_layout));
            continue;
        }
        if (held.tensor != written_tensor(to) || part.from == part.to) {
            sink_.report(diag::WrongMove, span_, where(), format("it moves `{0}` into `{1}`, which is for another value", from.name, to.name));
            continue;
        }
        if (from.dtype != class_.buffers[c.parts[0].from].dtype || from.dtype != to.dtype) {
            sink_.report(diag::WrongMove, span_, where(), "its parts have different types");
            continue;
        }
        std::string problem = move_problem(c, part);
        for (const int m : c.mesh_axes) {
            const auto cuts = [&](const Placement& p) { return c.chunk && p.is_sharded() && p.axis == c.chunk->axis; };
            if (cuts(part.from_layout[static_cast<size_t>(m)]) || cuts(part.to_layout[static_cast<size_t>(m)])) {
                problem = "its chunks run along the axis that it moves";
            }
        }
        if (c.chunk && std::find(from.axes.begin(), from.axes.end(), c.chunk->axis) == from.axes.end()) {
            problem = "its chunks run along an axis that the value lacks";
        }
        if (!problem.empty()) {
            sink_.report(diag::WrongMove, span_, where(), problem);
            continue;
        }
        Content moved = Content::value(held.tensor, part.to_layout);
        if (over_stages) {
            met.tensors.push_back(held.tensor);
            met.layouts.push_back(held.layout);
            met.terms.push_back(held.terms);
        } else {
            moved.terms = held.terms;
        }
        write(part.to, std::move(moved), c.chunk, c.accumulate);
    }
    if (over_stages) {
        outcome_.collectives.push_back(std::move(met));
    }
}

} // namespace sspc::check
