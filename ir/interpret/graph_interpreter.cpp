// Runs a graph statement by statement.
#include "ir/interpret/graph_interpreter.h"

#include "ir/interpret/evaluate_statement.h"
#include "ir/interpret/philox.h"
#include "ir/support/check.h"
#include "ir/support/format.h"

namespace sspc {
namespace {

std::vector<Interval> whole(const Graph& graph, const std::vector<AxisId>& axes) {
    std::vector<Interval> box;
    for (const AxisId axis : axes) {
        box.push_back({0, graph.axes[axis].size});
    }
    return box;
}

} // namespace

Environment initial_environment(const Graph& graph, uint64_t seed, Precision precision) {
    Environment environment;
    environment.values.resize(graph.tensors.size());
    for (const TensorId id : graph.tensors.ids()) {
        const Tensor& tensor = graph.tensors[id];
        if (tensor.kind != TensorKind::Parameter && tensor.kind != TensorKind::State) {
            continue;
        }
        const auto count = static_cast<uint64_t>(element_count(graph, tensor.axes));
        std::vector<double>& data = environment.values[id].data;
        data.reserve(count);
        for (uint64_t i = 0; i < count; ++i) {
            data.push_back(
                stored(initial_value(tensor.init, tensor.path, i, seed), tensor.dtype, precision));
        }
    }
    return environment;
}

std::optional<std::string> run(const Graph& graph, Environment& environment, int64_t step,
                               uint64_t seed, Precision precision) {
    environment.values.resize(graph.tensors.size());
    for (const TensorId id : graph.tensors.ids()) {
        const Tensor& tensor = graph.tensors[id];
        const auto count = static_cast<size_t>(element_count(graph, tensor.axes));
        if (tensor.kind != TensorKind::Value && environment.values[id].data.size() != count) {
            return format("`{0}` has {1} elements instead of {2}", tensor.path,
                          environment.values[id].data.size(), count);
        }
    }
    for (const Statement& statement : graph.statements) {
        const Tensor& out = graph.tensors[statement.out];
        Evaluation e;
        e.axes = &graph.axes;
        e.body = statement.body;
        e.scatter = statement.scatter;
        e.reduce = statement.reduce;
        e.space = iteration_axes(graph, statement);
        e.ranges = whole(graph, e.space);
        for (const TensorId operand : statement.operands) {
            const Tensor& tensor = graph.tensors[operand];
            e.operands.push_back({environment.values[operand].data.data(), tensor.axes,
                                  whole(graph, tensor.axes)});
        }
        std::vector<double>& data = environment.values[statement.out].data;
        data.resize(static_cast<size_t>(element_count(graph, out.axes)));
        e.out = {data.data(), out.axes, whole(graph, out.axes), out.dtype};
        e.step = step;
        e.seed = seed;
        e.precision = precision;
        if (const auto error = evaluate_statement(e)) {
            return format("`{0}`: {1}", out.path, *error);
        }
    }
    return std::nullopt;
}

void apply_updates(const Graph& graph, Environment& environment) {
    std::vector<Value> values; // all are read before the first is written
    values.reserve(graph.updates.size());
    for (const Graph::Update& update : graph.updates) {
        values.push_back(environment.values[update.value]);
    }
    for (size_t i = 0; i < values.size(); ++i) {
        environment.values[graph.updates[i].target] = std::move(values[i]);
    }
}

} // namespace sspc
