// Evaluates a scalar expression at one point of an iteration space, in double.
#pragma once

#include "ir/graph/expr.h"

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <vector>

namespace sspc {

/// Everything an expression may ask for.
struct EvaluationPoint {
    std::vector<int64_t> coordinates; ///< by AxisId
    const std::vector<int64_t>* sizes = nullptr; ///< whole sizes by AxisId (for the position of draws)
    int64_t step = 1;
    uint64_t seed = 0;
    /// The operand's element at global coordinates, one for each of its axes; in range of the whole axes.
    std::function<double(int slot, const std::vector<int64_t>& index)> read;
    /// Whole sizes of an operand's axes, for the range check.
    std::function<const std::vector<int64_t>&(int slot)> operand_sizes;
};

/// An index outside its axis without `else`.
struct IndexOutOfRange : std::runtime_error {
    using std::runtime_error::runtime_error;
};

double evaluate(const Expr& expr, const EvaluationPoint& point);
/// One operation on values; Access, Iota, Step and Random are not operations.
double apply(ExprOp op, DType type, double a, double b = 0, double c = 0);

} // namespace sspc
