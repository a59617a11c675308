// Look-ups in the training graph.
#include "ir/check/reference.h"

namespace sspc::check {

Reference::Reference(const Graph& training_graph)
    : graph(training_graph), producer(producers(training_graph)), updated(training_graph.tensors.size()) {
    for (const TensorId id : graph.tensors.ids()) {
        const Tensor& tensor = graph.tensors[id];
        by_path.emplace(tensor.path, id);
        if (tensor.kind == TensorKind::Parameter || tensor.kind == TensorKind::State) {
            updated[id] = id;
        }
    }
    for (const Graph::Update& update : graph.updates) {
        if (updated.contains(update.target)) {
            updated[update.target] = update.value;
        }
    }
    for (const Statement& statement : graph.statements) {
        trains = trains || statement.phase == Phase::Backward;
    }
}

TensorId Reference::find(const std::string& path) const {
    const auto found = by_path.find(path);
    return found == by_path.end() ? TensorId() : found->second;
}

} // namespace sspc::check
