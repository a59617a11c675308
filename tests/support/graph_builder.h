// Builds graphs by hand, for tests.
#pragma once

#include "ir/graph/graph.h"

#include <string>
#include <utility>
#include <vector>

namespace sspc::test {

/// Tensors are named by their ids; bodies read them through `at`, which keeps the list of operands of the statement being built.
class GraphBuilder {
public:
    GraphBuilder() { graph.model = "test"; }

    AxisId axis(const std::string& name, int64_t size) {
        return graph.axes.push_back({name, size, {}});
    }

    TensorId leaf(TensorKind kind, const std::string& path, std::vector<AxisId> axes,
                  DType type = DType::F32) {
        Tensor tensor;
        tensor.path = path;
        tensor.axes = std::move(axes);
        tensor.dtype = type;
        tensor.kind = kind;
        return graph.tensors.push_back(std::move(tensor));
    }
    TensorId input(const std::string& path, std::vector<AxisId> axes, DType type = DType::F32) {
        return leaf(TensorKind::Input, path, std::move(axes), type);
    }
    /// A trained parameter; its gradient is `gradient_of(parameter)`.
    TensorId param(const std::string& path, const std::vector<AxisId>& axes,
                   DType type = DType::F32) {
        const TensorId id = leaf(TensorKind::Parameter, path, axes, type);
        const TensorId gradient = leaf(TensorKind::Value, "grad " + path, axes, type);
        graph.tensors[gradient].parameter = id;
        graph.gradients.push_back({id, gradient});
        return id;
    }
    TensorId gradient_of(TensorId parameter) const {
        for (const Graph::Gradient& gradient : graph.gradients) {
            if (gradient.parameter == parameter) {
                return gradient.gradient;
            }
        }
        return {};
    }

    /// Reads `tensor` at `index` (default: its own axes) in the statement that `make` finishes.
    ExprPtr at(TensorId tensor) { return at(tensor, graph.tensors[tensor].axes); }
    ExprPtr at(TensorId tensor, const std::vector<AxisId>& axes) {
        return access(slot(tensor), graph.tensors[tensor].dtype, axes);
    }
    ExprPtr at(TensorId tensor, std::vector<ExprPtr> index, ExprPtr otherwise = nullptr) {
        return access(slot(tensor), graph.tensors[tensor].dtype, std::move(index),
                      std::move(otherwise));
    }

    TensorId make_value(const std::string& path, std::vector<AxisId> axes, const ExprPtr& body,
                        Reduce reduce = Reduce::None, std::vector<AxisId> reduced = {},
                        Phase phase = Phase::Forward) {
        Tensor tensor;
        tensor.path = path;
        tensor.axes = std::move(axes);
        tensor.dtype = body->type;
        Statement statement;
        statement.path = path;
        statement.phase = phase;
        statement.out = graph.tensors.push_back(std::move(tensor));
        statement.operands = std::exchange(operands_, {});
        statement.reduce = reduce;
        statement.reduced = std::move(reduced);
        statement.body = body;
        graph.statements.push_back(std::move(statement));
        return graph.statements.back().out;
    }

    Graph graph;

private:
    int slot(TensorId tensor) {
        for (size_t i = 0; i < operands_.size(); ++i) {
            if (operands_[i] == tensor) {
                return static_cast<int>(i);
            }
        }
        operands_.push_back(tensor);
        return static_cast<int>(operands_.size()) - 1;
    }

    std::vector<TensorId> operands_;
};

inline ExprPtr whole(int64_t value) {
    return constant(static_cast<double>(value), DType::I64);
}
inline ExprPtr number(double value) {
    return constant(value, DType::F32);
}

} // namespace sspc::test
