// The cheapest chain of moves by Dijkstra's algorithm over the layouts of a tensor.
//
// Two moves in a row that touch no Partial axis are never better than the one that receives what is missing, so such moves are tried only after
// a move of another kind, and once the right axes are Partial only the one to the target. That leaves few layouts to look at.
#include "ir/collective/move_search.h"

#include <bit>
#include <compare>
#include <map>
#include <set>

namespace sspc {
namespace {

using State = MoveSpace::State;
using Mask = MoveSpace::Mask;
using Edge = MoveSpace::Edge;

struct Cost {
    int64_t bytes = 0;
    int moves = 0;
    uint64_t kinds = 0; ///< the kinds in order, three bits each, so that equal lengths compare by the table's order
    auto operator<=>(const Cost&) const = default;
};

Cost operator+(const Cost& cost, const Edge& edge) {
    return {cost.bytes + edge.bytes, cost.moves + 1, cost.kinds << 3 | static_cast<uint64_t>(edge.kind)};
}

struct Node {
    Cost cost;
    State before;
    Edge edge{};
};

class Search {
public:
    explicit Search(MoveSpace& space) : space_(space) {}

    std::optional<std::vector<Move>> run() {
        nodes_[space_.from()] = {};
        open_.insert({Cost{}, space_.from()});
        while (!open_.empty()) {
            const State state = open_.begin()->second;
            open_.erase(open_.begin());
            if (state == space_.to()) {
                return chain();
            }
            expand(state);
        }
        return std::nullopt;
    }

private:
    static bool is_reduction_step(MoveKind kind) {
        return kind == MoveKind::AllReduce || kind == MoveKind::ReduceScatter || kind == MoveKind::ToPartial;
    }

    void expand(const State& state) {
        const Node node = nodes_.at(state);
        const Mask partial = space_.partial_axes(state);
        const bool after_unpartial = node.cost.moves > 0 && !is_reduction_step(node.edge.kind);
        if (!after_unpartial) {
            if (partial == space_.partial_axes(space_.to())) {
                offer_unpartial(state, node.cost, space_.to());
            } else {
                each_placing(space_.movable() & ~partial, state, true,
                             [&](const State& next) { offer_unpartial(state, node.cost, next); });
            }
        }
        each_subset(partial & space_.movable(), [&](Mask along) {
            State next = state;
            set(next, along, MoveSpace::replicated);
            offer(state, node.cost, MoveKind::AllReduce, along, next);
            each_placing(along, state, false,
                         [&](const State& cut) { offer(state, node.cost, MoveKind::ReduceScatter, along, cut); });
        });
        each_subset(may_become_partial(state), [&](Mask along) {
            State next = state;
            set(next, along, MoveSpace::partial);
            offer(state, node.cost, MoveKind::ToPartial, along, next);
        });
    }

    /// The Replicated axes that are Partial in the target, if that does not mix reductions.
    Mask may_become_partial(const State& state) const {
        const Mask wanted = space_.partial_axes(space_.to());
        const Mask present = space_.partial_axes(state);
        Mask mask = 0;
        for (Mask rest = wanted & space_.movable() & ~present; rest != 0; rest &= rest - 1) {
            const int axis = std::countr_zero(rest);
            const bool same = present == 0 || space_.reduction(std::countr_zero(present)) == space_.reduction(axis);
            if (state[axis] == MoveSpace::replicated && same) {
                mask |= Mask(1) << axis;
            }
        }
        return mask;
    }

    static void set(State& state, Mask along, int8_t placement) {
        for (; along != 0; along &= along - 1) {
            state[std::countr_zero(along)] = placement;
        }
    }
    template <typename Visit>
    static void each_subset(Mask set, Visit visit) {
        for (Mask along = set; along != 0; along = (along - 1) & set) {
            visit(along);
        }
    }
    /// Every way to cut tensor axes by the mesh axes in `along`, or to leave them Replicated where `or_replicated`.
    template <typename Visit>
    void each_placing(Mask along, State state, bool or_replicated, const Visit& visit) const {
        if (along == 0) {
            visit(state);
            return;
        }
        for (int8_t k = or_replicated ? MoveSpace::replicated : 0; k < space_.tensor_axes(); ++k) {
            state[std::countr_zero(along)] = k;
            each_placing(along & (along - 1), state, or_replicated, visit);
        }
    }

    void offer_unpartial(const State& state, const Cost& cost, const State& next) {
        if (next != state) {
            relax(state, cost, space_.unpartial_edge(state, next), next);
        }
    }
    void offer(const State& state, const Cost& cost, MoveKind kind, Mask along, const State& next) {
        if (space_.allows(kind, along, state, next)) {
            relax(state, cost, {kind, along, space_.bytes(kind, along, state, next)}, next);
        }
    }
    void relax(const State& state, const Cost& cost, const Edge& edge, const State& next) {
        const Cost total = cost + edge;
        const auto target = nodes_.find(space_.to());
        if (target != nodes_.end() && target->second.cost <= total) {
            return;
        }
        const auto [at, is_new] = nodes_.try_emplace(next, Node{total, state, edge});
        if (!is_new) {
            if (at->second.cost <= total) {
                return;
            }
            open_.erase({at->second.cost, next});
            at->second = {total, state, edge};
        }
        open_.insert({total, next});
    }

    std::vector<Move> chain() const {
        std::vector<Move> moves;
        for (State state = space_.to(); state != space_.from();) {
            const Node& node = nodes_.at(state);
            moves.insert(moves.begin(), space_.to_move(node.edge, node.before, state));
            state = node.before;
        }
        return moves;
    }

    MoveSpace& space_;
    std::map<State, Node> nodes_;
    std::set<std::pair<Cost, State>> open_;
};

} // namespace

std::optional<std::vector<Move>> search_moves(MoveSpace& space) { return Search(space).run(); }

} // namespace sspc
