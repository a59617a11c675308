// Small graphs for tests, a statement a line.
#pragma once

#include "ir/graph/graph.h"

#include <string>
#include <utility>
#include <vector>

namespace sspc {

struct GraphBuilder {
    Graph graph;

    AxisId axis(const std::string& name, int64_t size) { return graph.axes.push_back({name, size, {}}); }
    TensorId input(const std::string& name, std::vector<AxisId> axes, DType type = DType::F32) {
        Tensor tensor;
        tensor.path = name;
        tensor.axes = std::move(axes);
        tensor.dtype = type;
        tensor.kind = TensorKind::Input;
        return graph.tensors.push_back(std::move(tensor));
    }
    /// An access of operand `slot` at its own axes.
    ExprPtr read(int slot, TensorId tensor) const {
        return access(slot, graph.tensors[tensor].dtype, graph.tensors[tensor].axes);
    }
    TensorId add(const std::string& path, std::vector<AxisId> axes, std::vector<TensorId> operands, ExprPtr body,
                 Reduce reduce = Reduce::None, std::vector<AxisId> reduced = {}, std::vector<ExprPtr> scatter = {}) {
        Tensor tensor;
        tensor.path = path;
        tensor.axes = std::move(axes);
        tensor.dtype = body->type;
        const TensorId out = graph.tensors.push_back(std::move(tensor));
        Statement statement;
        statement.path = path;
        statement.out = out;
        statement.operands = std::move(operands);
        statement.reduce = reduce;
        statement.reduced = std::move(reduced);
        statement.body = std::move(body);
        statement.scatter = std::move(scatter);
        graph.statements.push_back(std::move(statement));
        return out;
    }
    void output(TensorId tensor) { graph.outputs.push_back(tensor); }
};

} // namespace sspc
