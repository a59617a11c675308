// Reverse-mode differentiation: makes the backward statements of a graph.
#pragma once

#include "ir/graph/graph.h"
#include "ir/support/sink.h"

#include <optional>

namespace sspc {

/// Adds the statements that make every tensor of `graph.gradients`, phase Backward, between the forward statements and the
/// updates, later forward statements first; each follows the cut of the forward statement `backward_of`. The gradient of a
/// value that has several terms is one statement with `sums_gradients`. A value whose gradient equals another's (an operand
/// of `+`) has no gradient tensor of its own. A parameter that the loss does not reach gets a gradient of zeros and a warning.
/// nullopt if something is not differentiable yet (reported).
std::optional<Graph> differentiate(Graph graph, Sink& sink);

} // namespace sspc
