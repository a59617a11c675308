// Maps a contraction to calls of the vendor's GEMM without copying an operand.
#pragma once

#include "backend/emit/parts.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sspc::backend {

/// One group of axes that a GEMM runs over at once, or a loop around it.
struct GemmLoop {
    std::vector<AxisId> axes;
    Size count;
    Size a, b, c; ///< steps in the operands and the result; 0 where they lack the axes
    bool sums = false; ///< over a reduced axis
};

/// c[m, n] = scale * sum over k of a[m, k] * b[k, n], row-major, for each batch and each loop.
struct GemmMapping {
    int left = 0; ///< slots of the operands that are a and b
    int right = 0;
    double scale = 1;
    std::vector<AxisId> left_axes, right_axes;
    Size m, n, k;
    bool transpose_a = false; ///< a is stored [k, m]
    bool transpose_b = false; ///< b is stored [n, k]
    Size lda, ldb, ldc;
    std::vector<GemmLoop> loops; ///< the last one, if it does not sum, can be the batch
};

std::optional<GemmMapping> map_contraction(Parts& parts, const Class& device_class, const Compute& compute);

} // namespace sspc::backend
