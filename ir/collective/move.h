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
    /// Any cut → any cut: each device fetches what it lacks from a holder in its group. `mesh_axes` are not Partial on either side; axes whose
    /// placement stays may be among them, where the nesting of cuts makes the devices along them exchange regions.
    Exchange,
};

/// One step along `mesh_axes` jointly (ascending; role Device or Stage, never Micro). All mesh axes in it make the same kind of transition (but
/// for Exchange); placements along the others are the same in `from` and `to`. A device reads only what its group along `mesh_axes` holds.
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

/// Bytes the busiest device receives: the formulas of docs/language.md applied to the local boxes, rounded up; for uneven parts those of the
/// device that receives most (`collectives.def` says how each kind counts).
int64_t move_bytes(const IdVector<AxisId, Axis>& axes, const TensorShape& shape, const Mesh& mesh, const Move& move);

/// Which mesh axes the moves of a chain may use.
enum class MoveScope {
    AllAxes,     ///< also those along which both layouts agree: replicas may share the work (slice, reduce a part each, gather)
    ChangedAxes, ///< only those along which the layouts differ; the others keep their placement throughout
};

/// The cheapest chain of moves from one layout to another: least bytes, then least moves, then the order of MoveKind
/// (Dijkstra over the layouts of this tensor). Empty if the layouts are equal. nullopt if there is none (Partial with another reduction).
/// Micro axes and mesh axes of size 1 must have equal placements on both sides. Stage axes along which both sides agree are never used: the other
/// stages do not hold the tensor. Callers that ask often keep a MoveCache (ir/collective/move_cache.h).
std::optional<std::vector<Move>> cheapest_moves(const IdVector<AxisId, Axis>& axes, const TensorShape& shape,
                                                const Mesh& mesh, const Layout& from, const Layout& to,
                                                MoveScope scope = MoveScope::AllAxes);

/// `all_reduce`, `reduce_scatter`, … as the JSON documents spell them (`slice`, `to_partial` for the local ones).
std::string_view name_of(MoveKind kind);
bool is_local(MoveKind kind);

} // namespace sspc
