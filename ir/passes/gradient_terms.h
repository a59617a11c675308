// The gradients of values while backward statements are being made: terms, their sums, and the tensors that hold them.
#pragma once

#include "ir/graph/graph.h"

#include <set>

namespace sspc {

/// A gradient, or a term of one: a tensor with the value's axes in the value's order (perhaps by other names of the same
/// sizes), or the same number everywhere.
struct GradientValue {
    TensorId tensor; ///< invalid: `number`
    double number = 0;
};

/// The operands that bodies under construction refer to.
class Operands {
public:
    explicit Operands(std::vector<TensorId> first = {}) : all_(std::move(first)) {}
    int slot(TensorId tensor);
    const std::vector<TensorId>& all() const { return all_; }

private:
    std::vector<TensorId> all_;
};

class GradientTerms {
public:
    explicit GradientTerms(Graph& graph);

    void add(TensorId value, const GradientValue& term) { terms_[value].push_back(term); }
    /// Appends a backward statement that follows `forward`; its output is a new tensor without a name yet. Operands that the body
    /// does not use are dropped.
    TensorId emit(StatementId forward, std::vector<AxisId> out_axes, DType dtype, ExprPtr body,
                  const Operands& operands, std::vector<AxisId> reduced = {},
                  std::vector<ExprPtr> scatter = {}, Reduce reduce = Reduce::Sum);
    /// Names a tensor that is no gradient of a value (`grad x.count`).
    void name(TensorId tensor, const std::string& wish);
    /// The whole gradient of a value whose terms are all there; nullopt: nothing reaches it.
    std::optional<GradientValue> total_of_value(TensorId value, StatementId producer);
    /// Makes `gradient` the sum of the terms of `parameter`; false if there are none, and it is made of zeros.
    bool finish_parameter(const Graph::Gradient& gradient, StatementId first_consumer);
    bool is_gradient(TensorId tensor) const { return tensor.value >= first_own_; }
    bool has_terms(TensorId value) const { return !terms_[value].empty(); }

    /// The backward statements in order, their operands settled; drops the tensors that were replaced from the graph.
    std::vector<Statement> take_statements();

private:
    TensorId resolve(TensorId tensor) const;
    std::string unique(const std::string& wish);
    void name_terms(TensorId value);
    /// The statement that adds all terms of `value` and `number` into `out`.
    void emit_sum(TensorId value, double number, TensorId out, Statement statement);

    Graph& graph_;
    int first_own_;
    IdVector<TensorId, std::vector<GradientValue>> terms_;
    std::vector<Statement> statements_;
    std::vector<std::pair<TensorId, TensorId>> replaced_; ///< term → the parameter's gradient tensor
    std::set<std::string> paths_;
};

} // namespace sspc
