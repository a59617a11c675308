// Moves between layouts: the collectives and local steps that turn one layout of a tensor into another.
#pragma once

#include "ir/mesh/layout.h"

#include <string>
#include <vector>

namespace sspc {

/// In the order that breaks ties between chains of equal cost (language.md section 5's table, then the general exchange).
enum class MoveKind {
    AllReduce,     ///< P → R
    ReduceScatter, ///< P → S(a)
    AllGather,     ///< S(a) → R
    AllToAll,      ///< S(a) → S(c)
    Slice,         ///< R → S(a), local
    ToPartial,     ///< R → P: member 0 keeps the value, the others hold the reduction's identity; local
    Exchange,      ///< any unpartial layout → any unpartial layout: each device fetches what it lacks from a holder
};

/// One step along `mesh_axes` jointly (ascending; role Device or Stage, never Micro). All mesh axes in it make the same kind of transition.
struct Move {
    MoveKind kind = MoveKind::AllReduce;
    std::vector<int> mesh_axes;
    Layout from;
    Layout to;
    int64_t bytes = 0; ///< received by the busiest device
};

struct TensorShape {
    std::vector<AxisId> axes;
    DType dtype = DType::F32;
};

/// Bytes the busiest device receives: the formulas of language.md section 5 applied to the local boxes (rounded up; for uneven parts the largest).
int64_t move_bytes(const IdVector<AxisId, Axis>& axes, const TensorShape& shape, const Mesh& mesh, const Move& move);

/// The cheapest chain of moves from one layout to another: least bytes, then least moves, then the order of MoveKind
/// (Dijkstra over the layouts of this tensor). Empty if the layouts are equal. nullopt if there is none (Partial with another reduction).
/// Micro axes and mesh axes of size 1 must have equal placements on both sides.
std::optional<std::vector<Move>> cheapest_moves(const IdVector<AxisId, Axis>& axes, const TensorShape& shape,
                                                const Mesh& mesh, const Layout& from, const Layout& to);

/// `all_reduce`, `reduce_scatter`, … as the JSON documents spell them (`slice`, `to_partial` for the local ones).
std::string_view name_of(MoveKind kind);
bool is_local(MoveKind kind);

} // namespace sspc
