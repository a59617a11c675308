// Whether a compute's expression is the graph statement's.
#pragma once

#include "ir/check/reference.h"

#include <functional>
#include <string>

namespace sspc::check {

/// The tensor that a slot stands for.
using SlotTensor = std::function<TensorId(int)>;

/// Empty if `found` is `wanted` with accesses to the same tensors; else what differs first, in words.
std::string difference(const Graph& graph, const ExprPtr& wanted, const SlotTensor& wanted_slot, const ExprPtr& found,
                       const SlotTensor& found_slot);
/// `a + b + c` as {a, b, c}, in order.
std::vector<ExprPtr> terms_of(const ExprPtr& expr);

/// How an expression depends on some of its accesses.
enum class Linear {
    Free,   ///< not at all
    Linear, ///< each term has exactly one of them as a factor
    Other,
};
Linear linear_in(const ExprPtr& expr, const std::function<bool(int)>& is_term);

} // namespace sspc::check
