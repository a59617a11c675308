// How cuts act: the layouts that a cut of a statement asks of its operands and gives its output.
#pragma once

#include "ir/graph/graph.h"
#include "ir/mesh/layout.h"

#include <vector>

namespace sspc {

/// For each mesh axis the axis of the statement that it cuts, or invalid.
using Cut = std::vector<AxisId>;

struct StatementLayouts {
    std::vector<Layout> operands; ///< one for each operand
    Layout out;
};

/// The rows of language.md section 5's first table. Mesh axes of size 1 are Replicated whatever the cut says.
StatementLayouts layouts_of(const Graph& graph, const Statement& statement, const Mesh& mesh, const Cut& cut);

/// The axes by which this statement may be cut, each once: its iteration axes, gathered axes and scattered axes.
std::vector<AxisId> cuttable_axes(const Graph& graph, const Statement& statement);

} // namespace sspc
