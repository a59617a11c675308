// The cheapest chain of moves by Dijkstra's algorithm over the layouts of a tensor.
#pragma once

#include "ir/collective/move_space.h"

#include <optional>
#include <vector>

namespace sspc {

/// From `space.from()` to `space.to()`; nothing if no chain leads there.
std::optional<std::vector<Move>> search_moves(MoveSpace& space);

} // namespace sspc
