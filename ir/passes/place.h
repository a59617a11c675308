// Gives every statement its pipeline stage.
#pragma once

#include "ir/graph/graph.h"
#include "ir/plan/plan.h"
#include "ir/support/sink.h"

#include <optional>
#include <vector>

namespace sspc {

struct Places {
    int stages = 1;
    IdVector<StatementId, int> stage;  ///< all_stages for the sums over all parameters
    IdVector<TensorId, int> home;      ///< of parameters and states: where they are stored
};

/// Items of `stages` are cut into contiguous runs so that the largest stage's forward FLOPs are least, ties to shorter later stages.
/// A statement outside every block goes with its first consumer; backward statements go with the forward one; updates with the
/// parameter, which lives with its first forward task. Reports SSP043x.
std::optional<Places> place(const Graph& graph, const Plan& plan, Sink& sink);

} // namespace sspc
