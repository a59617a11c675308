// Tasks: the statements of a training graph with their cut, their stage and the layouts that follow.
#pragma once

#include "ir/graph/graph.h"
#include "ir/mesh/layout.h"
#include "ir/plan/plan.h"
#include "ir/program/program.h"

#include <set>

namespace sspc {

/// A statement with its place and cut.
struct Task {
    int stage = 0; ///< all_stages: every stage carries out the terms it holds
    Cut cut;       ///< one entry for each mesh axis
    std::vector<Layout> operands; ///< the layout each operand is read in
    Layout out;
    Span cut_span; ///< the plan statement that cut it last
};
inline constexpr int all_stages = -1;

/// Layouts of a parameter (and its states) through a step. Without ZeRO all are the layout of the first forward task.
struct ParameterLayouts {
    Layout stored;   ///< between steps
    Layout gradient; ///< each micro-batch's gradient is reduced to this before it is accumulated; empty: not reduced in the loop
    Layout update;   ///< of the optimizer's statements and states
    int home = 0;    ///< stage
};

struct Tasks {
    Mesh mesh; ///< with the Micro axis first
    AxisId split;
    int stages = 1;
    IdVector<StatementId, Task> tasks;
    IdVector<TensorId, ParameterLayouts> parameters; ///< of parameters and states; empty layouts elsewhere
    IdVector<TensorId, Layout> layouts;              ///< of each value, as its task leaves it
};

int stage_of_home(const Tasks& tasks, TensorId parameter);
std::string print_tasks(const Graph& graph, const Tasks& tasks);

} // namespace sspc
