// An expression as a list of operations on lanes: many points of the iteration space at once.
#pragma once

#include "ir/graph/expr.h"

#include <vector>

namespace sspc {

/// Distinct nodes of some expressions, operands first; equal nodes are one. Node i writes register i.
struct LaneProgram {
    struct Operation {
        ExprPtr node;
        std::vector<int> args; ///< registers
        int otherwise = -1;    ///< of an access: register
        bool plain = false;    ///< an access whose indices are all coordinates
    };
    std::vector<Operation> operations;
    std::vector<int> results; ///< one register for each expression
};

LaneProgram compile_lanes(const std::vector<ExprPtr>& expressions);

} // namespace sspc
