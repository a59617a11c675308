// Moves carried out on numbers, for the interpreter of device programs and for tests.
//
// Written from the meaning of each kind, element by element, and independent of how moves are found, costed or emitted. A device's new part is made
// only from what its group along the move's mesh axes holds, so that a wrong group shows as missing values.
#pragma once

#include "ir/collective/move.h"
#include "ir/mesh/layout.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sspc {

/// The part of a tensor that one device holds.
struct LocalTensor {
    Box box;                  ///< in the tensor's coordinates
    std::vector<double> data; ///< row-major over the box
    friend bool operator==(const LocalTensor&, const LocalTensor&) = default;
};

/// Position of `point` (in the tensor's coordinates) in the row-major data of a box; nothing if it lies outside.
std::optional<size_t> offset_in(const Box& box, const std::vector<int64_t>& point);
/// Calls `visit(point)` for each point of the box in row-major order.
void for_each_point(const Box& box, const std::function<void(const std::vector<int64_t>&)>& visit);
/// The value that leaves others as they are under the reduction: 0, -inf, inf, 1.
double identity_of(Reduce reduction);
double combine(Reduce reduction, double a, double b);

/// What each device (by number) holds after `move`, given what each holds before. `micro` is the coordinate along the Micro axis, if there is one.
/// Where the move cannot be carried out, the result is empty and `error` says why.
std::vector<LocalTensor> carry_out(const IdVector<AxisId, Axis>& axes, const TensorShape& shape, const Mesh& mesh,
                                   const Move& move, const std::vector<LocalTensor>& locals, int micro,
                                   std::string& error);

/// Makes `members` terms that reduce to `value`.
using Splitter = std::function<std::vector<double>(double value, int members, Reduce reduction)>;
/// Member 0 has the value, the others the identity.
std::vector<double> first_member_has_all(double value, int members, Reduce reduction);
/// Terms from `draw`, which gives numbers between -1 and 1; they reduce to the value up to rounding, max and min exactly.
Splitter random_terms(std::function<double()> draw);

/// What each device holds of `whole` (row-major over the tensor) under `layout`. Along Partial mesh axes `split` makes the terms; replicas get the same.
std::vector<LocalTensor> scatter_whole(const IdVector<AxisId, Axis>& axes, const TensorShape& shape, const Mesh& mesh,
                                       const std::vector<double>& whole, const Layout& layout, int micro,
                                       const Splitter& split = first_member_has_all);

/// The tensor that the devices hold together; with a cut Micro axis, the part of this micro-batch. Empty, with `error` set, if a device's box is not
/// the layout's, an element is missing, or replicas differ by more than `tolerance` (relative to the larger, or to 1).
std::optional<LocalTensor> gather_whole(const IdVector<AxisId, Axis>& axes, const TensorShape& shape, const Mesh& mesh,
                                        const std::vector<LocalTensor>& locals, const Layout& layout, int micro,
                                        std::string& error, double tolerance = 0);

} // namespace sspc
