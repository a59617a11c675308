// Cuts every statement over the mesh and finds the layouts of all values.
#pragma once

#include "ir/passes/place.h"
#include "ir/passes/tasks.h"

namespace sspc {

/// Applies `split` and `shard` in order (a later statement replaces what an earlier one gave a task on that mesh axis); backward statements
/// follow the cut of the forward one, updates follow the parameter's layout. Layouts follow by language.md section 5. Reports SSP033x.
std::optional<Tasks> cut(const Graph& graph, const Plan& plan, const Places& places, Sink& sink);

} // namespace sspc
