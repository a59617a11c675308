// Cuts every statement over the mesh and finds the layouts of all values.
#include "ir/passes/cut.h"

#include "ir/mesh/layout_rules.h"
#include "ir/support/check.h"

#include <algorithm>

namespace sspc {
namespace {

bool contains(const std::vector<AxisId>& axes, AxisId axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

class Cutter {
public:
    Cutter(const Graph& graph, const Plan& plan, const Places& places, Sink& sink)
        : graph_(graph), plan_(plan), places_(places), sink_(sink), producer_(producers(graph)) {}

    std::optional<Tasks> run() {
        make_mesh();
        cut_forward_and_backward();
        if (sink_.has_errors())
            return std::nullopt;
        find_layouts();
        check_sizes();
        if (sink_.has_errors())
            return std::nullopt;
        return std::move(tasks_);
    }

private:
    void make_mesh() {
        tasks_.mesh = plan_.mesh;
        MeshAxis micro{"micro", 1, AxisRole::Micro, plan_.span};
        for (const PlanStatement& statement : plan_.statements) {
            if (const auto* split = std::get_if<plan::Split>(&statement)) {
                if (!split->only.empty())
                    sink_.report(diag::NotImplemented, split->span, "`split … for` some tasks; without `for` it makes micro-batches");
                else if (tasks_.split.valid() && tasks_.split != split->axis)
                    sink_.report(diag::NotImplemented, split->span, "a second `split`");
                tasks_.split = split->axis;
                micro.size = split->parts;
                micro.span = split->span;
                split_span_ = split->span;
            }
        }
        tasks_.mesh.axes.insert(tasks_.mesh.axes.begin(), micro);
        tasks_.stages = places_.stages;
        tasks_.tasks = IdVector<StatementId, Task>(graph_.statements.size());
        tasks_.layouts = IdVector<TensorId, Layout>(graph_.tensors.size());
        tasks_.parameters = IdVector<TensorId, ParameterLayouts>(graph_.tensors.size());
        for (StatementId id : graph_.statements.ids()) {
            tasks_.tasks[id].stage = places_.stage[id];
            tasks_.tasks[id].cut.assign(tasks_.mesh.axes.size(), AxisId());
        }
    }

    /// What `axis` of the forward statement is called in its backward statement: the same, or, where the forward statement renamed a
    /// tensor's axis, that axis.
    AxisId in_backward(const Statement& forward, const std::vector<AxisId>& cuttable, AxisId axis) const {
        if (contains(cuttable, axis))
            return axis;
        AxisId found;
        for_each(forward.body, [&](const Expr& expr) {
            if (expr.op != ExprOp::Access || found.valid())
                return;
            const Tensor& tensor = graph_.tensors[forward.operands[expr.slot]];
            for (size_t i = 0; i < expr.args.size(); ++i)
                if (expr.args[i]->op == ExprOp::Iota && expr.args[i]->axis == axis && contains(cuttable, tensor.axes[i]))
                    found = tensor.axes[i];
        });
        return found;
    }

    /// Whether a plan statement limited to `only` speaks of this statement.
    bool selects(const std::vector<Selector>& only, const Statement& statement) const {
        if (only.empty())
            return true;
        for (const Selector& selector : only) {
            const bool right_kind = selector.of == Selector::Of::Tasks ||
                                    (selector.of == Selector::Of::Gradient && statement.phase == Phase::Backward);
            if (right_kind && matches(selector, statement.path))
                return true;
        }
        return false;
    }

    void cut_forward_and_backward() {
        const int micro = 0;
        for (StatementId id : graph_.statements.ids()) {
            const Statement& statement = graph_.statements[id];
            if (statement.phase == Phase::Update)
                continue;
            if (tasks_.split.valid() && tasks_.mesh.axes[micro].size > 1 &&
                contains(iteration_axes(graph_, statement), tasks_.split))
                tasks_.tasks[id].cut[micro] = tasks_.split;
        }
        for (const PlanStatement& statement : plan_.statements)
            if (const auto* shard = std::get_if<plan::ShardAxes>(&statement))
                apply(*shard);
    }

    void apply(const plan::ShardAxes& shard) {
        const int mesh_axis = shard.mesh_axis + 1; // the Micro axis stands first
        bool conflict = false;
        bool effect = false;
        for (StatementId id : graph_.statements.ids()) {
            const Statement& statement = graph_.statements[id];
            if (statement.phase == Phase::Update || !selects(shard.only, statement))
                continue;
            const std::vector<AxisId> cuttable = cuttable_axes(graph_, statement);
            AxisId chosen;
            for (AxisId axis : shard.axes) {
                AxisId here = axis;
                if (statement.phase == Phase::Backward && statement.backward_of.valid())
                    here = in_backward(graph_.statements[statement.backward_of], cuttable, axis);
                else if (!contains(cuttable, axis))
                    here = AxisId();
                if (!here.valid() || here == chosen)
                    continue;
                if (chosen.valid()) {
                    // A backward statement may meet both names of a renamed axis; its forward statement's cut is the first.
                    if (statement.phase == Phase::Forward && !conflict) {
                        conflict = true;
                        sink_.report(diag::TwoAxesOverOneMeshAxis, shard.span, statement.path, graph_.axes[chosen].name,
                                     graph_.axes[axis].name, tasks_.mesh.axes[mesh_axis].name)
                            .note(statement.span, "the task")
                            .help("limit one of them with `for`, or cut them over different mesh axes");
                    }
                    continue;
                }
                chosen = here;
            }
            if (!chosen.valid())
                continue;
            effect = true;
            if (tasks_.mesh.axes[mesh_axis].size == 1)
                continue;
            tasks_.tasks[id].cut[mesh_axis] = chosen;
            tasks_.tasks[id].cut_span = shard.span;
        }
        if (!effect && tasks_.mesh.axes[mesh_axis].size > 1)
            sink_.report(diag::NoEffect, shard.span, shard.only.empty() ? "no task has these axes" : "none of the selected tasks has these axes");
    }

    // Layouts ---------------------------------------------------------------------------------

    void find_layouts() {
        find_parameter_layouts();
        for (TensorId id : graph_.tensors.ids())
            if (tasks_.parameters[id].stored.size() > 0)
                tasks_.layouts[id] = tasks_.parameters[id].stored;
        for (StatementId id : graph_.statements.ids()) {
            const Statement& statement = graph_.statements[id];
            if (statement.phase == Phase::Update)
                layout_update(id, statement);
            else if (statement.sums_gradients && graph_.tensors[statement.out].parameter.valid())
                layout_gradient_sum(id, statement);
            else
                layout_in_loop(id, statement);
        }
    }

    void find_parameter_layouts() {
        for (const Statement& statement : graph_.statements) {
            if (statement.phase != Phase::Forward)
                continue;
            const StatementId id(static_cast<int32_t>(&statement - &*graph_.statements.begin()));
            StatementLayouts rules; // only asked for where a parameter is new
            for (size_t slot = 0; slot < statement.operands.size(); ++slot) {
                const TensorId operand = statement.operands[slot];
                if (graph_.tensors[operand].kind != TensorKind::Parameter || !tasks_.parameters[operand].stored.empty())
                    continue;
                if (rules.operands.empty())
                    rules = layouts_of(graph_, statement, tasks_.mesh, tasks_.tasks[id].cut);
                Layout layout = normalized(tasks_.mesh, rules.operands[slot]);
                layout[0] = Placement::replicated(); // a split reads its part of the parameter each time
                set_parameter(operand, layout);
            }
        }
        for (TensorId id : graph_.tensors.ids())
            if (graph_.tensors[id].kind == TensorKind::Parameter && tasks_.parameters[id].stored.empty())
                set_parameter(id, replicated_layout(tasks_.mesh));
        for (TensorId id : graph_.tensors.ids())
            if (graph_.tensors[id].kind == TensorKind::State)
                tasks_.parameters[id] = state_layouts(id);
    }

    ParameterLayouts state_layouts(TensorId state) const {
        const ParameterLayouts& of = tasks_.parameters[graph_.tensors[state].parameter];
        ParameterLayouts result;
        result.home = of.home;
        result.stored = restrict(of.update, graph_.tensors[state].axes);
        result.update = result.stored;
        return result;
    }
    /// Cuts of axes that the tensor lacks become Replicated.
    Layout restrict(Layout layout, const std::vector<AxisId>& axes) const {
        for (Placement& placement : layout)
            if (placement.is_sharded() && !contains(axes, placement.axis))
                placement = Placement::replicated();
        return layout;
    }

    void set_parameter(TensorId id, const Layout& layout) {
        ParameterLayouts result;
        result.home = places_.home[id];
        result.stored = result.update = layout;
        for (const PlanStatement& statement : plan_.statements) {
            const auto* shard = std::get_if<plan::ShardState>(&statement);
            if (!shard || tasks_.mesh.axes[shard->mesh_axis + 1].size == 1)
                continue;
            if (!shard->only.empty() && !matches_any(shard->only, graph_.tensors[id].path))
                continue;
            const int mesh_axis = shard->mesh_axis + 1;
            const AxisId axis = largest_uncut(id, result.update);
            if (!axis.valid() || !result.update[mesh_axis].is_replicated())
                continue; // nothing left to cut: this parameter's state is replicated
            result.update[mesh_axis] = Placement::sharded(axis);
            if (shard->what != plan::ShardState::What::Optimizer) {
                if (result.gradient.empty())
                    result.gradient = layout;
                result.gradient[mesh_axis] = result.update[mesh_axis];
            }
            if (shard->what == plan::ShardState::What::Params)
                result.stored[mesh_axis] = result.update[mesh_axis];
        }
        tasks_.parameters[id] = result;
    }
    AxisId largest_uncut(TensorId id, const Layout& layout) const {
        AxisId best;
        for (AxisId axis : graph_.tensors[id].axes) {
            const bool cut = std::any_of(layout.begin(), layout.end(), [&](const Placement& placement) {
                return placement.is_sharded() && placement.axis == axis;
            });
            if (!cut && (!best.valid() || graph_.axes[axis].size > graph_.axes[best].size))
                best = axis;
        }
        return best;
    }

    /// Mesh axes (but Micro) along which every operand is Partial under Sum and the task is not cut: a sum passes them through.
    void pass_partial_through(const Statement& statement, Task& task) {
        if (!is_linear(statement) || statement.reduce != Reduce::None || statement.operands.empty())
            return;
        for (size_t m = 1; m < tasks_.mesh.axes.size(); ++m) {
            if (task.cut[m].valid() && !statement.sums_gradients)
                continue;
            const Placement first = tasks_.layouts[statement.operands[0]].empty() ? Placement::replicated()
                                                                                 : tasks_.layouts[statement.operands[0]][m];
            if (!first.is_partial() || first.reduction != Reduce::Sum)
                continue;
            const bool all = std::all_of(statement.operands.begin(), statement.operands.end(), [&](TensorId operand) {
                return !tasks_.layouts[operand].empty() && tasks_.layouts[operand][m] == first;
            });
            if (!all) {
                if (statement.sums_gradients)
                    pass_most_partial(statement, task, m);
                continue;
            }
            task.cut[m] = AxisId();
            for (Layout& layout : task.operands)
                layout[m] = first;
            task.out[m] = first;
        }
    }
    /// Gradient terms that are all cut alike are added as they are: their sum is moved once, not each of them.
    void cut_as_terms(const Statement& statement, Task& task) const {
        for (size_t m = 1; m < tasks_.mesh.axes.size(); ++m) {
            // A term of a renamed value has the other name of the axis.
            std::optional<AxisId> alike;
            for_each(statement.body, [&](const Expr& expr) {
                if (expr.op != ExprOp::Access)
                    return;
                const TensorId operand = statement.operands[expr.slot];
                const Placement& placement = tasks_.layouts[operand][m];
                AxisId cut;
                for (size_t i = 0; i < expr.args.size() && placement.is_sharded(); ++i)
                    if (graph_.tensors[operand].axes[i] == placement.axis && expr.args[i]->op == ExprOp::Iota)
                        cut = expr.args[i]->axis;
                alike = alike && *alike != cut ? AxisId() : cut;
            });
            if (alike && alike->valid())
                task.cut[m] = *alike;
        }
    }
    /// Gradient terms of one value of which several are Partial: the others (Replicated) count on member 0 only, so that one message completes all.
    void pass_most_partial(const Statement& statement, Task& task, size_t m) {
        int partial = 0;
        int sharded = 0;
        for (TensorId operand : statement.operands) {
            partial += tasks_.layouts[operand][m].is_partial();
            sharded += tasks_.layouts[operand][m].is_sharded();
        }
        if (partial < 2 || sharded > 0 || task.cut[m].valid())
            return;
        for (Layout& layout : task.operands)
            layout[m] = Placement::partial(Reduce::Sum);
        task.out[m] = Placement::partial(Reduce::Sum);
    }

    void layout_in_loop(StatementId id, const Statement& statement) {
        Task& task = tasks_.tasks[id];
        if (statement.sums_gradients)
            cut_as_terms(statement, task);
        StatementLayouts rules = layouts_of(graph_, statement, tasks_.mesh, task.cut);
        task.operands = std::move(rules.operands);
        task.out = std::move(rules.out);
        pass_partial_through(statement, task);
        if (tasks_.split.valid() && tasks_.mesh.axes[0].size > 1)
            layout_micro(statement, task);
        tasks_.layouts[statement.out] = task.out;
    }

    /// The Micro axis: parts run one after another, so a value cut by it cannot be gathered inside the loop; a term of a sum over the parts may
    /// pass through what is linear in it.
    void layout_micro(const Statement& statement, Task& task) {
        for (size_t slot = 0; slot < statement.operands.size(); ++slot) {
            const TensorId operand = statement.operands[slot];
            const Tensor& tensor = graph_.tensors[operand];
            Placement& wanted = task.operands[slot][0];
            if (tensor.kind == TensorKind::Input)
                continue; // loaded as wanted
            if (tensor.kind != TensorKind::Value) {
                if (wanted.is_sharded())
                    sink_.report(diag::NotImplemented, split_span_,
                                 "`split` of an axis that the parameter `" + tensor.path + "` has");
                continue;
            }
            const Placement made = tasks_.layouts[operand][0];
            if (made == wanted)
                continue;
            if (made.is_partial() && (statement.phase == Phase::Backward || is_linear(statement))) {
                wanted = made;
                task.out[0] = made;
                continue;
            }
            if (made.is_partial())
                sink_.report(diag::ReducedReadInLoop, statement.span, statement.path, tensor.path, graph_.axes[tasks_.split].name)
                    .note(split_span_, "split here");
            else
                sink_.report(diag::ReadsAllParts, statement.span, statement.path, graph_.axes[tasks_.split].name)
                    .note(split_span_, "split here");
        }
    }

    /// The gradient of a parameter from several uses: each term is accumulated on its own, then they are added, after the loop.
    void layout_gradient_sum(StatementId id, const Statement& statement) {
        Task& task = tasks_.tasks[id];
        const TensorId parameter = graph_.tensors[statement.out].parameter;
        const ParameterLayouts& layouts = tasks_.parameters[parameter];
        Layout layout = layouts.gradient.empty() ? layouts.update : layouts.gradient;
        if (layouts.gradient.empty() && is_linear(statement) && !statement.operands.empty()) {
            for (size_t m = 1; m < layout.size(); ++m) {
                const bool all = std::all_of(statement.operands.begin(), statement.operands.end(), [&](TensorId operand) {
                    return tasks_.layouts[operand][m] == Placement::partial(Reduce::Sum);
                });
                if (all)
                    layout[m] = Placement::partial(Reduce::Sum);
            }
        }
        for (size_t m = 0; m < layout.size(); ++m)
            task.cut[m] = layout[m].is_sharded() ? layout[m].axis : AxisId();
        task.operands.assign(statement.operands.size(), layout);
        task.out = layout;
        tasks_.layouts[statement.out] = layout;
    }

    void layout_update(StatementId id, const Statement& statement) {
        Task& task = tasks_.tasks[id];
        if (statement.update_of.valid()) {
            const Layout& update = tasks_.parameters[statement.update_of].update;
            const std::vector<AxisId> axes = iteration_axes(graph_, statement);
            for (size_t m = 1; m < update.size(); ++m)
                if (update[m].is_sharded() && contains(axes, update[m].axis))
                    task.cut[m] = update[m].axis;
        }
        StatementLayouts rules = layouts_of(graph_, statement, tasks_.mesh, task.cut);
        task.operands = std::move(rules.operands);
        task.out = std::move(rules.out);
        if (!statement.update_of.valid() && is_linear(statement) && sums_over_parameters(statement))
            make_partial_sum(statement, task);
        tasks_.layouts[statement.out] = task.out;
    }
    bool sums_over_parameters(const Statement& statement) const {
        return std::all_of(statement.operands.begin(), statement.operands.end(), [&](TensorId operand) {
            const StatementId from = producer_[operand];
            return from.valid() && graph_.statements[from].update_of.valid();
        });
    }
    /// The sum over all parameters: Partial along every mesh axis along which any term is, so that one message completes it.
    void make_partial_sum(const Statement& statement, Task& task) {
        for (size_t m = 1; m < tasks_.mesh.axes.size(); ++m) {
            bool partial = false;
            for (TensorId operand : statement.operands)
                partial |= tasks_.layouts[operand][m].is_partial();
            if (tasks_.mesh.axes[m].role == AxisRole::Stage && tasks_.mesh.axes[m].size > 1) {
                task.out[m] = Placement::partial(Reduce::Sum); // each stage has the terms of its own parameters
            } else if (partial) {
                for (Layout& layout : task.operands)
                    layout[m] = Placement::partial(Reduce::Sum);
                task.out[m] = Placement::partial(Reduce::Sum);
            }
        }
    }

    /// More parts than elements, for the cuts that the user wrote (of optimizer states, empty parts are fine).
    void check_sizes() {
        for (StatementId id : graph_.statements.ids()) {
            const Statement& statement = graph_.statements[id];
            const Task& task = tasks_.tasks[id];
            if (statement.phase != Phase::Forward)
                continue;
            for (AxisId axis : task.cut) {
                if (!axis.valid())
                    continue;
                int64_t parts = 1;
                for (size_t m = 0; m < task.cut.size(); ++m)
                    if (task.cut[m] == axis)
                        parts *= tasks_.mesh.axes[m].size;
                if (parts <= graph_.axes[axis].size || !reported_.insert(axis.value).second)
                    continue;
                sink_.report(diag::MorePartsThanElements, task.cut_span.valid() ? task.cut_span : split_span_, graph_.axes[axis].name,
                             statement.path, graph_.axes[axis].size, parts)
                    .note(statement.span, "the task")
                    .help("cut `" + graph_.axes[axis].name + "` into at most " + std::to_string(graph_.axes[axis].size) + " parts");
            }
        }
    }

    const Graph& graph_;
    const Plan& plan_;
    const Places& places_;
    Sink& sink_;
    IdVector<TensorId, StatementId> producer_;
    Tasks tasks_;
    Span split_span_;
    std::set<int> reported_;
};

} // namespace

std::optional<Tasks> cut(const Graph& graph, const Plan& plan, const Places& places, Sink& sink) {
    return Cutter(graph, plan, places, sink).run();
}

int stage_of_home(const Tasks& tasks, TensorId parameter) { return tasks.parameters[parameter].home; }

std::string print_tasks(const Graph& graph, const Tasks& tasks) {
    std::string text;
    for (StatementId id : graph.statements.ids()) {
        const Statement& statement = graph.statements[id];
        const Task& task = tasks.tasks[id];
        static const char* const phases[] = {"forward ", "backward", "update  "};
        text += std::string(phases[static_cast<int>(statement.phase)]) + " stage " +
                (task.stage == all_stages ? "*" : std::to_string(task.stage)) + "  " + graph.tensors[statement.out].path;
        std::string cuts;
        for (size_t m = 0; m < task.cut.size(); ++m)
            if (task.cut[m].valid())
                cuts += (cuts.empty() ? "" : ", ") + tasks.mesh.axes[m].name + ": " + graph.axes[task.cut[m]].name;
        text += "  cut {" + cuts + "}  -> " + to_text(task.out, tasks.mesh, graph.axes) + "\n";
    }
    return text;
}

} // namespace sspc
