// Text of expressions, with the axes of the operands at hand.
#pragma once

#include "ir/graph/expr.h"

namespace sspc {

/// The words an expression is printed with.
struct ExprWords {
    std::function<std::string(AxisId)> axis;
    std::function<std::string(int)> operand;
    /// The axes of operand `slot`. Where given, an access at exactly these axes prints as the bare name, and other indices as
    /// `seq as kv` or `vocab = tokens`; where empty, all indices are printed as they are.
    std::function<std::vector<AxisId>(int)> operand_axes;
};

std::string print_expr(const ExprPtr& expr, const ExprWords& words);

} // namespace sspc
