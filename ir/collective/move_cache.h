// Remembers chains of moves: tensors of equal sizes and layouts (the same parameter of every layer) are searched once.
#pragma once

#include "ir/collective/move.h"

#include <map>
#include <optional>
#include <vector>

namespace sspc {

class MoveCache {
public:
    /// As `cheapest_moves`.
    std::optional<std::vector<Move>> cheapest(const IdVector<AxisId, Axis>& axes, const TensorShape& shape,
                                              const Mesh& mesh, const Layout& from, const Layout& to,
                                              MoveScope scope = MoveScope::AllAxes);

private:
    /// Chains with the tensor's axes numbered by position.
    std::map<std::vector<int64_t>, std::optional<std::vector<Move>>> chains_;
};

} // namespace sspc
