// Checks the invariants of graph.h.
#include "ir/graph/graph.h"
#include "ir/support/format.h"

#include <algorithm>
#include <set>

namespace sspc {
namespace {

using Fault = std::optional<std::string>;

bool contains(const std::vector<AxisId>& axes, AxisId axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

struct Verifier {
    const Graph& graph;
    IdVector<TensorId, bool> available;
    IdVector<TensorId, bool> produced;

    Fault tensors() {
        std::set<std::string> paths;
        for (const Tensor& tensor : graph.tensors) {
            if (!paths.insert(tensor.path).second) {
                return format("two tensors are called `{0}`", tensor.path);
            }
            for (size_t i = 0; i < tensor.axes.size(); ++i) {
                if (!graph.axes.contains(tensor.axes[i])) {
                    return format("`{0}` has an axis that the graph lacks", tensor.path);
                }
                if (std::count(tensor.axes.begin(), tensor.axes.end(), tensor.axes[i]) > 1) {
                    return format("`{0}` has axis `{1}` twice", tensor.path,
                                  graph.axes[tensor.axes[i]].name);
                }
            }
        }
        return std::nullopt;
    }

    /// A plain access has the size of its operand along each axis.
    bool is_whole_and_plain(const Statement& statement, const Expr& access) const {
        if (!is_plain(access) || access.otherwise) {
            return false;
        }
        const Tensor& operand = graph.tensors[statement.operands[access.slot]];
        for (size_t i = 0; i < access.args.size(); ++i) {
            if (graph.axes[access.args[i]->axis].size != graph.axes[operand.axes[i]].size) {
                return false;
            }
        }
        return true;
    }

    Fault node(const Statement& statement, const std::vector<AxisId>& space,
               const Expr& expr) const {
        if (expr.op == ExprOp::Iota && !contains(space, expr.axis)) {
            return graph.axes.contains(expr.axis)
                       ? format("axis `{0}` is not in the iteration space",
                                graph.axes[expr.axis].name)
                       : "an axis that the graph lacks";
        }
        if (expr.op == ExprOp::Random) {
            for (const ExprPtr& arg : expr.args) {
                if (arg->op != ExprOp::Iota) {
                    return "a draw at something else than coordinates";
                }
            }
        }
        if (expr.op != ExprOp::Access) {
            return std::nullopt;
        }
        if (expr.slot < 0 || static_cast<size_t>(expr.slot) >= statement.operands.size()) {
            return format("there is no operand {0}", expr.slot);
        }
        const Tensor& operand = graph.tensors[statement.operands[expr.slot]];
        if (expr.args.size() != operand.axes.size()) {
            return format("`{0}` has {1} axes and {2} indices", operand.path, operand.axes.size(),
                          expr.args.size());
        }
        if (expr.type != operand.dtype) {
            return format("`{0}` is {1} and is read as {2}", operand.path,
                          name_of(operand.dtype), name_of(expr.type));
        }
        std::vector<AxisId> plain;
        for (const ExprPtr& index : expr.args) {
            if (index->op == ExprOp::Iota) {
                if (contains(plain, index->axis)) {
                    return format("`{0}` is indexed by `{1}` twice", operand.path,
                                  graph.axes[index->axis].name);
                }
                plain.push_back(index->axis);
            }
        }
        return std::nullopt;
    }

    Fault tree(const Statement& statement, const std::vector<AxisId>& space,
               const ExprPtr& expr) const {
        if (!expr) {
            return "an expression is missing";
        }
        Fault fault;
        for_each(expr, [&](const Expr& inner) {
            if (!fault) {
                fault = node(statement, space, inner);
            }
        });
        return fault;
    }

    /// Indices other than plain ones stand alone.
    Fault accesses_of_body(const Statement& statement) const {
        const Expr* top = statement.body.get();
        while (top->op == ExprOp::Cast) {
            top = top->args[0].get();
        }
        if (top->op == ExprOp::Access && !is_whole_and_plain(statement, *top)) {
            if (statement.reduce != Reduce::None && statement.scatter.empty()) {
                return "an access that is not plain stands under a reduction";
            }
            return std::nullopt;
        }
        Fault fault;
        for_each(statement.body, [&](const Expr& expr) {
            if (!fault && expr.op == ExprOp::Access && !is_whole_and_plain(statement, expr)) {
                fault = format("the access to `{0}` is not plain and not alone",
                               graph.tensors[statement.operands[expr.slot]].path);
            }
        });
        return fault;
    }

    Fault scatter(const Statement& statement, const std::vector<AxisId>& space) const {
        const Tensor& out = graph.tensors[statement.out];
        if (statement.scatter.size() != out.axes.size()) {
            return "a scatter has one index for each axis of its output";
        }
        if (statement.reduce != Reduce::Sum) {
            return "a scatter adds";
        }
        for (const ExprPtr& index : statement.scatter) {
            if (Fault fault = tree(statement, space, index)) {
                return fault;
            }
        }
        return std::nullopt;
    }

    Fault statement(const Statement& statement) {
        if (!graph.tensors.contains(statement.out)) {
            return "no output";
        }
        if (produced[statement.out]) {
            return "produced twice";
        }
        if (graph.tensors[statement.out].kind != TensorKind::Value) {
            return "an input, parameter or state is produced";
        }
        for (const TensorId operand : statement.operands) {
            if (!graph.tensors.contains(operand) || !available[operand]) {
                return format("`{0}` is read before it is produced",
                              graph.tensors.contains(operand) ? graph.tensors[operand].path : "?");
            }
        }
        const std::vector<AxisId> space = iteration_axes(graph, statement);
        for (size_t i = 0; i < space.size(); ++i) {
            if (!graph.axes.contains(space[i])) {
                return "an axis that the graph lacks";
            }
            if (std::count(space.begin(), space.end(), space[i]) > 1) {
                return format("axis `{0}` is twice in the iteration space",
                              graph.axes[space[i]].name);
            }
        }
        if (statement.reduce == Reduce::None && !statement.reduced.empty()) {
            return "axes are reduced by no reduction";
        }
        if (Fault fault = tree(statement, space, statement.body)) {
            return fault;
        }
        if (!statement.scatter.empty()) {
            if (Fault fault = scatter(statement, space)) {
                return fault;
            }
        }
        if (statement.body->type != graph.tensors[statement.out].dtype) {
            return format("the body is {0} and the output {1}", name_of(statement.body->type),
                          name_of(graph.tensors[statement.out].dtype));
        }
        if (Fault fault = accesses_of_body(statement)) {
            return fault;
        }
        produced[statement.out] = true;
        available[statement.out] = true;
        return std::nullopt;
    }

    Fault run() {
        if (Fault fault = tensors()) {
            return fault;
        }
        available.resize(graph.tensors.size(), false);
        produced.resize(graph.tensors.size(), false);
        for (const TensorId id : graph.tensors.ids()) {
            available[id] = graph.tensors[id].kind != TensorKind::Value;
        }
        const auto made_by = producers(graph);
        for (const Graph::Gradient& gradient : graph.gradients) {
            if (!made_by[gradient.gradient].valid()) { // before differentiation
                available[gradient.gradient] = true;
            }
        }
        for (const Statement& each : graph.statements) {
            if (Fault fault = statement(each)) {
                return format("statement `{0}`: {1}",
                              graph.tensors.contains(each.out) ? graph.tensors[each.out].path
                                                               : each.path,
                              *fault);
            }
        }
        if (graph.loss.valid() && !graph.tensors[graph.loss].axes.empty()) {
            return "the loss is not a scalar";
        }
        for (const Graph::Update& update : graph.updates) {
            const Tensor& target = graph.tensors[update.target];
            const Tensor& value = graph.tensors[update.value];
            if (target.axes != value.axes || target.dtype != value.dtype) {
                return format("`{0}` is updated by a value of another shape or type", target.path);
            }
        }
        return std::nullopt;
    }
};

} // namespace

std::optional<std::string> verify(const Graph& graph) {
    return Verifier{graph, {}, {}}.run();
}

} // namespace sspc
