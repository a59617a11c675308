// Gives every statement its pipeline stage.
#include "ir/passes/place.h"

#include "ir/passes/tasks.h"
#include "ir/support/check.h"

#include <algorithm>
#include <limits>

namespace sspc {
namespace {

constexpr int unplaced = -2;

double forward_flops(const Graph& graph, const Statement& statement) {
    const double points = static_cast<double>(element_count(graph, iteration_axes(graph, statement)));
    return statement.reduce == Reduce::None ? points : 2 * points;
}

/// Contiguous partition of `cost` into `parts` runs, each of one item at least, with the least largest sum; among those, the one whose later
/// runs are shortest. Returns the part of each item.
std::vector<int> partition(const std::vector<double>& cost, int parts) {
    const int items = static_cast<int>(cost.size());
    std::vector<double> prefix(items + 1, 0);
    for (int i = 0; i < items; ++i)
        prefix[i + 1] = prefix[i] + cost[i];
    // best[p][i]: the least largest sum when the first i items make p runs.
    const double infinity = std::numeric_limits<double>::infinity();
    std::vector<std::vector<double>> best(parts + 1, std::vector<double>(items + 1, infinity));
    best[0][0] = 0;
    for (int p = 1; p <= parts; ++p)
        for (int i = p; i <= items; ++i)
            for (int j = p - 1; j < i; ++j)
                best[p][i] = std::min(best[p][i], std::max(best[p - 1][j], prefix[i] - prefix[j]));
    const double limit = best[parts][items] * (1 + 1e-12);
    std::vector<int> part(items);
    int end = items;
    for (int p = parts; p >= 1; --p) {
        int begin = end - 1;
        while (!(best[p - 1][begin] <= limit && prefix[end] - prefix[begin] <= limit))
            --begin;
        for (int i = begin; i < end; ++i)
            part[i] = p - 1;
        end = begin;
    }
    return part;
}

class Placer {
public:
    Placer(const Graph& graph, const Plan& plan, Sink& sink) : graph_(graph), plan_(plan), sink_(sink), producer_(producers(graph)) {}

    std::optional<Places> run() {
        const auto axis = find_role(plan_.mesh, AxisRole::Stage);
        places_.stages = axis ? plan_.mesh.axes[*axis].size : 1;
        places_.stage = IdVector<StatementId, int>(graph_.statements.size(), places_.stages == 1 ? 0 : unplaced);
        places_.home = IdVector<TensorId, int>(graph_.tensors.size(), places_.stages == 1 ? 0 : unplaced);
        if (places_.stages > 1)
            place_forward();
        if (sink_.has_errors())
            return std::nullopt;
        place_homes();
        place_rest();
        return std::move(places_);
    }

private:
    void place_forward() {
        Span where = plan_.span; // of the last statement that places anything
        for (const PlanStatement& statement : plan_.statements) {
            if (const auto* stages = std::get_if<plan::Stages>(&statement)) {
                where = stages->span;
                if (!apply(*stages))
                    return; // nothing is placed: no need to say so of each task
            } else if (const auto* on = std::get_if<plan::StageOn>(&statement)) {
                where = on->span;
                apply(*on);
            }
        }
        place_by_consumers();
        std::vector<std::string> shown; // a block that is forgotten is one mistake, not one for each of its tasks
        for (StatementId id : graph_.statements.ids()) {
            const Statement& statement = graph_.statements[id];
            if (statement.phase != Phase::Forward || places_.stage[id] != unplaced)
                continue;
            const std::string name = statement.blocks.empty() ? statement.path : statement.blocks.front();
            if (std::find(shown.begin(), shown.end(), name) != shown.end() || shown.size() == 5)
                continue;
            shown.push_back(name);
            sink_.report(diag::TaskWithoutPlace, where, name)
                .note(statement.span, "`" + statement.path + "` is one of its tasks")
                .help("list `" + name + "` in `stages`, or place it with `stage … on`");
        }
    }

    bool apply(const plan::Stages& stages) {
        const int count = plan_.mesh.axes[stages.mesh_axis].size;
        const int items = static_cast<int>(stages.items.size());
        if (items < count) {
            sink_.report(diag::MoreStagesThanItems, stages.span, count, std::to_string(items) + (items == 1 ? " item" : " items"))
                .help("give `" + plan_.mesh.axes[stages.mesh_axis].name + "` a size of at most " + std::to_string(items) +
                      ", or list smaller blocks");
            return false;
        }
        std::vector<double> cost(items, 0);
        std::vector<int> item_of(graph_.statements.size(), -1);
        for (StatementId id : graph_.statements.ids()) {
            const Statement& statement = graph_.statements[id];
            if (statement.phase != Phase::Forward)
                continue;
            for (int i = 0; i < items; ++i) {
                if (matches(stages.items[i], statement.path)) {
                    item_of[id.value] = i;
                    cost[i] += forward_flops(graph_, statement);
                    break;
                }
            }
        }
        const std::vector<int> part = partition(cost, count);
        for (StatementId id : graph_.statements.ids())
            if (item_of[id.value] >= 0)
                places_.stage[id] = part[item_of[id.value]];
        return true;
    }

    void apply(const plan::StageOn& on) {
        const MeshAxis& axis = plan_.mesh.axes[on.mesh_axis];
        if (on.coordinate < 0 || on.coordinate >= axis.size) {
            sink_.report(diag::StageOutOfRange, on.span, axis.name, on.coordinate, axis.size);
            return;
        }
        for (StatementId id : graph_.statements.ids()) {
            const Statement& statement = graph_.statements[id];
            if (statement.phase == Phase::Forward && matches_any(on.tasks, statement.path))
                places_.stage[id] = on.coordinate;
        }
    }

    /// A task outside every block goes with its first consumer; one without consumers (the loss) with its last operand.
    void place_by_consumers() {
        for (int32_t i = static_cast<int32_t>(graph_.statements.size()) - 1; i >= 0; --i) {
            const Statement& consumer = graph_.statements[StatementId(i)];
            if (consumer.phase != Phase::Forward || places_.stage[StatementId(i)] == unplaced)
                continue;
            for (TensorId operand : consumer.operands) {
                const StatementId from = producer_[operand];
                if (from.valid() && graph_.statements[from].blocks.empty() &&
                    (places_.stage[from] == unplaced || by_consumer_.contains(from.value))) {
                    places_.stage[from] = places_.stage[StatementId(i)]; // earlier consumers come later in this loop
                    by_consumer_.insert(from.value);
                }
            }
        }
        for (StatementId id : graph_.statements.ids()) {
            const Statement& statement = graph_.statements[id];
            if (statement.phase != Phase::Forward || places_.stage[id] != unplaced || !statement.blocks.empty())
                continue;
            int last = unplaced;
            for (TensorId operand : statement.operands)
                if (producer_[operand].valid())
                    last = std::max(last, places_.stage[producer_[operand]]);
            places_.stage[id] = last;
        }
    }

    void place_homes() {
        if (places_.stages == 1)
            return;
        for (const Statement& statement : graph_.statements) {
            if (statement.phase != Phase::Forward)
                continue;
            for (TensorId operand : statement.operands)
                if (graph_.tensors[operand].kind == TensorKind::Parameter && places_.home[operand] == unplaced)
                    places_.home[operand] = places_.stage[producing(statement)];
        }
        for (TensorId id : graph_.tensors.ids()) {
            const Tensor& tensor = graph_.tensors[id];
            if (tensor.kind == TensorKind::Parameter && places_.home[id] == unplaced)
                places_.home[id] = 0; // read by no task
        }
        for (TensorId id : graph_.tensors.ids()) {
            const Tensor& tensor = graph_.tensors[id];
            if (tensor.kind == TensorKind::State)
                places_.home[id] = places_.home[tensor.parameter];
        }
    }
    StatementId producing(const Statement& statement) const {
        return StatementId(static_cast<int32_t>(&statement - &*graph_.statements.begin()));
    }

    void place_rest() {
        if (places_.stages == 1)
            return;
        for (StatementId id : graph_.statements.ids()) {
            const Statement& statement = graph_.statements[id];
            if (statement.phase == Phase::Forward)
                continue;
            const TensorId parameter_of_sum = graph_.tensors[statement.out].parameter;
            if (statement.sums_gradients && !parameter_of_sum.valid() && common_stage(statement) != unplaced) {
                places_.stage[id] = common_stage(statement);
            } else if (statement.backward_of.valid()) {
                places_.stage[id] = places_.stage[statement.backward_of];
            } else {
                TensorId parameter = statement.update_of;
                if (!parameter.valid())
                    parameter = graph_.tensors[statement.out].parameter;
                places_.stage[id] = parameter.valid() ? places_.home[parameter] : all_stages;
            }
        }
    }

    /// The stage that makes all of a sum's terms: there they are added, so that one message carries them. `unplaced` if they come from several.
    int common_stage(const Statement& statement) const {
        int stage = unplaced;
        for (TensorId operand : statement.operands) {
            const StatementId from = producer_[operand];
            if (!from.valid() || (stage != unplaced && places_.stage[from] != stage))
                return unplaced;
            stage = places_.stage[from];
        }
        return stage;
    }

    const Graph& graph_;
    const Plan& plan_;
    Sink& sink_;
    IdVector<TensorId, StatementId> producer_;
    Places places_;
    std::set<int> by_consumer_;
};

} // namespace

std::optional<Places> place(const Graph& graph, const Plan& plan, Sink& sink) {
    return Placer(graph, plan, sink).run();
}

} // namespace sspc
