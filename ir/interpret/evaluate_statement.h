// Evaluates one index statement on numbers, over the whole iteration space or a part of it.
#pragma once

#include "ir/graph/graph.h"
#include "ir/graph/interval.h"
#include "ir/interpret/rounding.h"

#include <cstdint>

namespace sspc {

/// The part of a tensor that is at hand: a box of it, row-major.
struct ReadPiece {
    const double* data = nullptr;
    std::vector<AxisId> axes;
    std::vector<Interval> box; ///< one for each axis
};
struct WritePiece {
    double* data = nullptr;
    std::vector<AxisId> axes;
    std::vector<Interval> box;
    DType dtype = DType::F32;
};

struct Evaluation {
    const IdVector<AxisId, Axis>* axes = nullptr;
    ExprPtr body;
    std::vector<ExprPtr> scatter;
    Reduce reduce = Reduce::None;
    std::vector<AxisId> space;    ///< the iteration space
    std::vector<Interval> ranges; ///< the part of it to do, in global coordinates
    std::vector<ReadPiece> operands;
    WritePiece out;
    bool accumulate = false; ///< adds to (or otherwise reduces into) what `out` holds, instead of starting anew
    int64_t step = 1;
    uint64_t seed = 0;
    Precision precision = Precision::F64;
};

/// Writes `out`. Plain accesses lie inside their piece; other accesses outside it but inside their axis read 0 (another device holds the
/// element), and outside the axis read the value after `else`, or else are the error that is returned.
std::optional<std::string> evaluate_statement(const Evaluation& evaluation);

} // namespace sspc
