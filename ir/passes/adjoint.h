// Derivatives of scalar expressions, in reverse mode.
#pragma once

#include "ir/graph/expr.h"

namespace sspc {

/// The derivative with respect to one operand at one list of indices; accesses that are the same are one variable.
struct AccessAdjoint {
    ExprPtr access;
    ExprPtr adjoint; ///< of the access's type; 0 where the body does not depend on it
};

struct Adjoints {
    std::vector<AccessAdjoint> accesses; ///< in order of first appearance
    /// Adjoints of inner nodes that reach several accesses, outermost first: candidates for being computed once.
    std::vector<ExprPtr> shared;
};

/// `seed` times the derivative of `body` for each access whose slot is `wanted`. `value` is an expression that equals the body
/// (the statement's own output), or null; derivatives that are functions of the result (exp, tanh, sqrt, …) use it.
/// Comparisons, rounding, integers, draws and stop_gradient pass nothing; ties of min and max pass half to each side.
Adjoints adjoints(const ExprPtr& body, const ExprPtr& seed, const ExprPtr& value,
                  const std::function<bool(int)>& wanted);

} // namespace sspc
