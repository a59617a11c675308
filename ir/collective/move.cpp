// Bytes of a move, and the cheapest chain: a direct step where that is known to be best, else a search.
#include "ir/collective/move.h"

#include "ir/collective/move_rule.h"
#include "ir/collective/move_search.h"
#include "ir/collective/move_space.h"
#include "ir/support/check.h"

#include <bit>

namespace sspc {
namespace {

using Mask = MoveSpace::Mask;

std::vector<Move> single(MoveSpace& space, MoveKind kind, Mask along) {
    const int64_t bytes = space.bytes(kind, along, space.from(), space.to());
    return {space.to_move({kind, along, bytes}, space.from(), space.to())};
}

/// The chain where no search is needed.
std::optional<std::vector<Move>> direct_chain(MoveSpace& space) {
    const MoveSpace::State& from = space.from();
    const MoveSpace::State& to = space.to();
    const Mask changed = space.differing(from, to);
    // A device must receive what it lacks whatever the chain; one move that receives just that is the cheapest.
    if (space.partial_axes(from) == space.partial_axes(to)) {
        return std::vector<Move>{space.to_move(space.unpartial_edge(from, to), from, to)};
    }
    if (space.allows(MoveKind::ToPartial, changed, from, to)) {
        return single(space, MoveKind::ToPartial, changed);
    }
    // A reduction is best carried out at once, unless replicas along another axis could share the work, or parts are uneven.
    for (Mask rest = space.movable() & ~changed; rest != 0; rest &= rest - 1) {
        if (from[std::countr_zero(rest)] == MoveSpace::replicated) {
            return std::nullopt;
        }
    }
    if (space.divides_evenly(from, to)) {
        for (MoveKind kind : {MoveKind::AllReduce, MoveKind::ReduceScatter}) {
            if (space.allows(kind, changed, from, to)) {
                return single(space, kind, changed);
            }
        }
    }
    return std::nullopt;
}

} // namespace

int64_t move_bytes(const IdVector<AxisId, Axis>& axes, const TensorShape& shape, const Mesh& mesh, const Move& move) {
    MoveSpace space(axes, shape, mesh, move.from, move.to, MoveScope::AllAxes);
    return space.bytes(move.kind, space.mask_of(move.mesh_axes), space.from(), space.to());
}

std::optional<std::vector<Move>> cheapest_moves(const IdVector<AxisId, Axis>& axes, const TensorShape& shape,
                                                const Mesh& mesh, const Layout& from, const Layout& to,
                                                MoveScope scope) {
    if (from == to) {
        return std::vector<Move>();
    }
    MoveSpace space(axes, shape, mesh, from, to, scope);
    if (space.incompatible()) {
        return std::nullopt;
    }
    if (auto chain = direct_chain(space)) {
        return chain;
    }
    return search_moves(space);
}

std::string_view name_of(MoveKind kind) { return rule_of(kind).spelled; }

bool is_local(MoveKind kind) { return rule_of(kind).received == MoveRule::Received::Nothing; }

} // namespace sspc
