// Prints graphs, one statement a line.
#include "ir/graph/graph.h"
#include "ir/graph/print_expr.h"
#include "ir/support/check.h"
#include "ir/support/format.h"

namespace sspc {
namespace {

std::string axis_list(const Graph& graph, const std::vector<AxisId>& axes) {
    std::string text;
    for (const AxisId axis : axes) {
        text += (text.empty() ? "" : ", ") + graph.axes[axis].name;
    }
    return "[" + text + "]";
}

std::string_view word_of(Reduce reduce) {
    switch (reduce) {
    case Reduce::None: return "";
    case Reduce::Sum: return "sum";
    case Reduce::Max: return "max";
    case Reduce::Min: return "min";
    case Reduce::Prod: return "prod";
    }
    SSPC_UNREACHABLE("a reduction without a word");
}

std::string print_init(const Init& init) {
    switch (init.kind) {
    case Init::Kind::Zeros: return "zeros";
    case Init::Kind::Ones: return "ones";
    case Init::Kind::Constant: return to_text(init.a);
    case Init::Kind::Normal: return format("normal({0}, {1})", init.a, init.b);
    case Init::Kind::Uniform: return format("uniform({0}, {1})", init.a, init.b);
    case Init::Kind::TruncatedNormal: return format("truncated_normal({0}, {1})", init.a, init.b);
    }
    SSPC_UNREACHABLE("an initial value without a name");
}

std::string print_tensor(const Graph& graph, const Tensor& tensor) {
    return format("{0}: {1}{2}", tensor.path, name_of(tensor.dtype),
                  axis_list(graph, tensor.axes));
}

std::string print_leaves(const Graph& graph) {
    std::string text;
    for (const Tensor& tensor : graph.tensors) {
        switch (tensor.kind) {
        case TensorKind::Input:
            text += "input " + print_tensor(graph, tensor) + "\n";
            break;
        case TensorKind::Parameter:
        case TensorKind::State:
            text += (tensor.kind == TensorKind::State ? "state " : "param ") +
                    print_tensor(graph, tensor) + " = " + print_init(tensor.init) + "\n";
            break;
        case TensorKind::Value:
            break;
        }
    }
    return text;
}

std::string_view heading_of(Phase phase) {
    return phase == Phase::Forward ? "forward" : phase == Phase::Backward ? "backward" : "update";
}

} // namespace

std::string print_statement(const Graph& graph, const Statement& statement) {
    const auto axis_name = [&](AxisId axis) {
        return axis.valid() ? graph.axes[axis].name : std::string("?");
    };
    const auto operand = [&](int slot) -> const Tensor& {
        return graph.tensors[statement.operands.at(static_cast<size_t>(slot))];
    };
    const ExprWords words{axis_name, [&](int slot) { return operand(slot).path; },
                          [&](int slot) { return operand(slot).axes; }};
    const Tensor& out = graph.tensors[statement.out];

    std::string place;
    for (size_t i = 0; i < statement.scatter.size(); ++i) {
        const ExprPtr& index = statement.scatter[i];
        const bool own = index->op == ExprOp::Iota && index->axis == out.axes[i];
        place += (i ? ", " : "") + axis_name(out.axes[i]) +
                 (own ? std::string() : " = " + print_expr(index, words));
    }
    std::string text = out.path + (statement.scatter.empty() ? axis_list(graph, out.axes) + " = "
                                                             : "[" + place + "] += ");
    if (statement.reduce != Reduce::None) {
        text += std::string(word_of(statement.reduce)) + axis_list(graph, statement.reduced) + " ";
        const bool is_sum =
            statement.body->op == ExprOp::Add || statement.body->op == ExprOp::Sub;
        return text + (is_sum ? "(" + print_expr(statement.body, words) + ")"
                              : print_expr(statement.body, words));
    }
    return text + print_expr(statement.body, words);
}

std::string print_graph(const Graph& graph) {
    std::string text = "model " + graph.model + "\n";
    for (const Axis& axis : graph.axes) {
        text += format("dim {0} = {1}\n", axis.name, axis.size);
    }
    text += print_leaves(graph);
    const Statement* last = nullptr;
    for (const Statement& statement : graph.statements) {
        if (!last || last->phase != statement.phase) {
            text += std::string(heading_of(statement.phase)) + "\n";
        }
        text += "  " + print_statement(graph, statement) + "\n";
        last = &statement;
    }
    for (const TensorId output : graph.outputs) {
        text += "output " + graph.tensors[output].path + "\n";
    }
    if (graph.loss.valid()) {
        text += "loss " + graph.tensors[graph.loss].path + "\n";
    }
    if (graph.grad_norm.valid()) {
        text += "grad_norm " + graph.tensors[graph.grad_norm].path + "\n";
    }
    for (const Graph::Gradient& gradient : graph.gradients) {
        text += format("gradient {0} of {1}\n", graph.tensors[gradient.gradient].path,
                       graph.tensors[gradient.parameter].path);
    }
    for (const Graph::Update& update : graph.updates) {
        text += format("update {0} = {1}\n", graph.tensors[update.target].path,
                       graph.tensors[update.value].path);
    }
    return text;
}

} // namespace sspc
