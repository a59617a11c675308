// Where each element of an operand went: the inverse of an access by splits, merges, slices, pads and picks.
#pragma once

#include "ir/graph/graph.h"

#include <utility>

namespace sspc {

struct InverseAccess {
    /// For each axis of the reading statement, in order: the coordinate that reads this element, over the operand's axes.
    std::vector<ExprPtr> index;
    /// The coordinates exist for every element; if not, elements whose coordinates lie outside are not read.
    bool covers = true;
    /// Only elements with these coordinates are read (`x[seq = 3]`). Given only where all other indices are plain.
    std::vector<std::pair<AxisId, int64_t>> picked;
};

/// `index` is an access's index list to an operand with `operand_axes`, `space` the axes that it runs over. nullopt where two points
/// may read one element (gathers, windows, axes that the index lacks).
std::optional<InverseAccess> invert_access(const Graph& graph, const std::vector<ExprPtr>& index,
                                           const std::vector<AxisId>& operand_axes,
                                           const std::vector<AxisId>& space);

} // namespace sspc
