// Sums gradient terms and settles which tensor holds the gradient of which value.
#include "ir/passes/gradient_terms.h"

#include "ir/support/check.h"
#include "ir/support/format.h"

#include <algorithm>

namespace sspc {

int Operands::slot(TensorId tensor) {
    const auto it = std::find(all_.begin(), all_.end(), tensor);
    if (it != all_.end()) {
        return static_cast<int>(it - all_.begin());
    }
    all_.push_back(tensor);
    return static_cast<int>(all_.size()) - 1;
}

GradientTerms::GradientTerms(Graph& graph)
    : graph_(graph), first_own_(static_cast<int>(graph.tensors.size())),
      terms_(graph.tensors.size()) {
    for (const Tensor& tensor : graph.tensors) {
        paths_.insert(tensor.path);
    }
}

std::string GradientTerms::unique(const std::string& wish) {
    std::string path = wish;
    for (int i = 2; !paths_.insert(path).second; ++i) {
        path = format("{0}.{1}", wish, i);
    }
    return path;
}

void GradientTerms::name(TensorId tensor, const std::string& wish) {
    Tensor& named = graph_.tensors[tensor];
    if (named.path.empty()) {
        named.path = unique(wish);
    }
}

TensorId GradientTerms::emit(StatementId forward, std::vector<AxisId> out_axes, DType dtype,
                             ExprPtr body, const Operands& operands, std::vector<AxisId> reduced,
                             std::vector<ExprPtr> scatter, Reduce reduce) {
    const Statement& model = graph_.statements[forward];
    Tensor tensor;
    tensor.axes = std::move(out_axes);
    tensor.dtype = dtype;
    tensor.span = model.span;

    Statement statement;
    statement.path = model.path;
    statement.phase = Phase::Backward;
    statement.reduce = reduced.empty() && scatter.empty() ? Reduce::None : reduce;
    statement.reduced = std::move(reduced);
    statement.backward_of = forward;
    statement.blocks = model.blocks;
    statement.span = model.span;

    std::vector<int> slots(operands.all().size(), -1);
    const auto use = [&](const Expr& expr) {
        if (expr.op == ExprOp::Access && slots[expr.slot] < 0) {
            slots[expr.slot] = static_cast<int>(statement.operands.size());
            statement.operands.push_back(operands.all()[expr.slot]);
        }
    };
    const auto renumber = [&](const ExprPtr& expr) -> ExprPtr {
        return expr->op == ExprOp::Access
                   ? access(slots[expr->slot], expr->type, expr->args, expr->otherwise)
                   : nullptr;
    };
    body = cast(body, dtype);
    for_each(body, use);
    statement.body = rewrite(body, renumber);
    for (const ExprPtr& index : scatter) {
        for_each(index, use);
        statement.scatter.push_back(rewrite(index, renumber));
    }
    statement.out = graph_.tensors.push_back(std::move(tensor));
    terms_.push_back({});
    statements_.push_back(std::move(statement));
    return statements_.back().out;
}

TensorId GradientTerms::resolve(TensorId tensor) const {
    for (const auto& [from, to] : replaced_) {
        if (from == tensor) {
            return to;
        }
    }
    return tensor;
}

void GradientTerms::name_terms(TensorId value) {
    int number = 0;
    for (const GradientValue& term : terms_[value]) {
        if (term.tensor.valid()) {
            name(resolve(term.tensor),
                 format("grad {0}.term{1}", graph_.tensors[value].path, ++number));
        }
    }
}

void GradientTerms::emit_sum(TensorId value, double number, TensorId out, Statement statement) {
    const Tensor& result = graph_.tensors[out];
    ExprPtr body;
    Operands operands;
    for (const GradientValue& term : terms_[value]) {
        if (!term.tensor.valid()) {
            continue;
        }
        const TensorId tensor = resolve(term.tensor);
        const ExprPtr read = cast(
            access(operands.slot(tensor), graph_.tensors[tensor].dtype, result.axes), result.dtype);
        body = body ? body + read : read;
    }
    const ExprPtr rest = constant(number, result.dtype);
    statement.body = body ? body + rest : rest;
    statement.operands = operands.all();
    statement.phase = Phase::Backward;
    statement.out = out;
    statement.sums_gradients = true;
    statements_.push_back(std::move(statement));
}

std::optional<GradientValue> GradientTerms::total_of_value(TensorId value, StatementId producer) {
    std::vector<TensorId> tensors;
    double number = 0;
    for (const GradientValue& term : terms_[value]) {
        if (term.tensor.valid()) {
            tensors.push_back(resolve(term.tensor));
        } else {
            number += term.number;
        }
    }
    if (tensors.empty()) {
        return number != 0 ? std::optional(GradientValue{{}, number}) : std::nullopt;
    }
    const Tensor of = graph_.tensors[value];
    const std::string path = "grad " + of.path;
    if (tensors.size() == 1 && number == 0 && graph_.tensors[tensors[0]].axes == of.axes &&
        graph_.tensors[tensors[0]].dtype == of.dtype) {
        name(tensors[0], path);
        return GradientValue{tensors[0]};
    }
    Tensor total;
    total.axes = of.axes;
    total.dtype = of.dtype;
    total.span = of.span;
    const TensorId out = graph_.tensors.push_back(std::move(total));
    terms_.push_back({});
    name(out, path);
    name_terms(value);

    const Statement& model = graph_.statements[producer];
    Statement statement;
    statement.path = model.path;
    statement.backward_of = producer;
    statement.blocks = model.blocks;
    statement.span = model.span;
    emit_sum(value, number, out, std::move(statement));
    return GradientValue{out};
}

bool GradientTerms::finish_parameter(const Graph::Gradient& gradient, StatementId first_consumer) {
    const TensorId value = gradient.parameter;
    const Tensor& of = graph_.tensors[value];
    const Tensor& result = graph_.tensors[gradient.gradient];
    const auto& terms = terms_[value];
    double number = 0;
    for (const GradientValue& term : terms) {
        number += term.tensor.valid() ? 0 : term.number;
    }
    if (terms.size() == 1 && terms[0].tensor.valid()) {
        const TensorId only = resolve(terms[0].tensor);
        const Tensor& made = graph_.tensors[only];
        if (made.path.empty() && made.axes == result.axes && made.dtype == result.dtype) {
            for (Statement& statement : statements_) {
                if (statement.out == only) {
                    statement.out = gradient.gradient;
                }
            }
            replaced_.emplace_back(only, gradient.gradient);
            return true;
        }
    }
    name_terms(value);
    Statement statement;
    statement.path = of.path;
    statement.span = of.span;
    if (first_consumer.valid()) {
        statement.blocks = graph_.statements[first_consumer].blocks;
    }
    emit_sum(value, number, gradient.gradient, std::move(statement));
    return !terms.empty();
}

std::vector<Statement> GradientTerms::take_statements() {
    IdVector<TensorId, TensorId> settled(graph_.tensors.size());
    IdVector<TensorId, Tensor> kept;
    for (const TensorId id : graph_.tensors.ids()) {
        if (resolve(id) == id) {
            settled[id] = kept.push_back(std::move(graph_.tensors[id]));
        }
    }
    for (const auto& [from, to] : replaced_) {
        settled[from] = settled[to];
    }
    for (Statement& statement : statements_) {
        statement.out = settled[statement.out];
        for (TensorId& operand : statement.operands) {
            operand = settled[operand];
        }
    }
    graph_.tensors = std::move(kept);
    return std::move(statements_);
}

} // namespace sspc
