// Facts about graphs that follow from the statements.
#include "ir/graph/graph.h"

#include "ir/support/check.h"

#include <algorithm>

namespace sspc {
namespace {

bool is_linear_expr(const ExprPtr& expr) {
    const auto& args = expr->args;
    switch (expr->op) {
    case ExprOp::Access:
        return is_plain(*expr) && !expr->otherwise;
    case ExprOp::Neg:
        return is_linear_expr(args[0]);
    case ExprOp::Add:
    case ExprOp::Sub:
        return is_linear_expr(args[0]) && is_linear_expr(args[1]);
    case ExprOp::Mul:
        return (args[0]->op == ExprOp::Constant && is_linear_expr(args[1])) ||
               (args[1]->op == ExprOp::Constant && is_linear_expr(args[0]));
    case ExprOp::Div:
        return args[1]->op == ExprOp::Constant && is_linear_expr(args[0]);
    default:
        return false;
    }
}

} // namespace

IdVector<TensorId, StatementId> producers(const Graph& graph) {
    IdVector<TensorId, StatementId> result(graph.tensors.size());
    for (const StatementId id : graph.statements.ids()) {
        result[graph.statements[id].out] = id;
    }
    return result;
}

std::vector<AxisId> iteration_axes(const Graph& graph, const Statement& statement) {
    std::vector<AxisId> axes;
    const std::vector<AxisId>& out = graph.tensors[statement.out].axes;
    for (size_t i = 0; i < out.size(); ++i) {
        if (statement.scatter.empty() || (statement.scatter[i]->op == ExprOp::Iota &&
                                          statement.scatter[i]->axis == out[i])) {
            axes.push_back(out[i]);
        }
    }
    axes.insert(axes.end(), statement.reduced.begin(), statement.reduced.end());
    return axes;
}

int64_t element_count(const Graph& graph, const std::vector<AxisId>& axes) {
    int64_t count = 1;
    for (const AxisId axis : axes) {
        count *= graph.axes[axis].size;
    }
    return count;
}

int64_t byte_size(const Graph& graph, const Tensor& tensor) {
    return element_count(graph, tensor.axes) * size_of(tensor.dtype);
}

bool is_plain(const Expr& access) {
    if (access.op != ExprOp::Access) {
        return false;
    }
    for (size_t i = 0; i < access.args.size(); ++i) {
        if (access.args[i]->op != ExprOp::Iota) {
            return false;
        }
        for (size_t j = 0; j < i; ++j) {
            if (access.args[j]->axis == access.args[i]->axis) {
                return false;
            }
        }
    }
    return true;
}

bool is_linear(const Statement& statement) {
    return (statement.reduce == Reduce::None || statement.reduce == Reduce::Sum) &&
           is_linear_expr(statement.body);
}

} // namespace sspc
