// Validity and cost of moves between the layouts of one tensor.
#include "ir/collective/move_space.h"

#include "ir/support/check.h"

#include <algorithm>
#include <bit>

namespace sspc {
namespace {

using Mask = MoveSpace::Mask;

bool has(Mask mask, size_t axis) { return (mask >> axis) & 1; }

bool is_in_state(MoveRule::State wanted, int8_t placement) {
    switch (wanted) {
    case MoveRule::State::Replicated: return placement == MoveSpace::replicated;
    case MoveRule::State::Sharded: return placement >= 0;
    case MoveRule::State::Partial: return placement == MoveSpace::partial;
    case MoveRule::State::Unpartial: return placement != MoveSpace::partial;
    }
    SSPC_UNREACHABLE("a state of a row of the table");
}

/// The one reduction of all Partial placements; None if there is no such placement, nothing if they differ.
std::optional<Reduce> common_reduction(const Layout& layout) {
    Reduce found = Reduce::None;
    for (const Placement& placement : layout) {
        if (placement.is_partial()) {
            if (found != Reduce::None && found != placement.reduction) {
                return std::nullopt;
            }
            found = placement.reduction;
        }
    }
    return found;
}

} // namespace

MoveSpace::MoveSpace(const IdVector<AxisId, Axis>& axes, const TensorShape& shape, const Mesh& mesh,
                     const Layout& from, const Layout& to, MoveScope scope)
    : axis_ids_(shape.axes), element_bytes_(size_of(shape.dtype)), base_(from) {
    SSPC_CHECK(from.size() == mesh.axes.size() && to.size() == mesh.axes.size(), "a placement for each mesh axis");
    for (AxisId id : shape.axes) {
        sizes_.push_back(axes[id].size);
    }
    reductions_.fill(Reduce::None);
    for (size_t m = 0; m < mesh.axes.size(); ++m) {
        const MeshAxis& axis = mesh.axes[m];
        const bool differs = !(from[m] == to[m]);
        const bool micro = axis.role == AxisRole::Micro;
        SSPC_CHECK(!differs || (axis.size > 1 && !micro), "layouts differ along an axis that has no devices");
        const bool side_by_side = axis.role == AxisRole::Device || differs;
        if (axis.size == 1 || (!side_by_side && !from[m].is_sharded())) {
            continue;
        }
        const size_t p = participants_.size();
        SSPC_CHECK(p < max_axes, "too many mesh axes");
        participants_.push_back({static_cast<int>(m), axis.size, micro});
        if (side_by_side) {
            groupable_ |= Mask(1) << p;
            movable_ |= Mask(differs || scope == MoveScope::AllAxes) << p;
        }
        for (const Placement& placement : {from[m], to[m]}) {
            if (placement.is_partial()) {
                incompatible_ = incompatible_ || (reductions_[p] != Reduce::None && reductions_[p] != placement.reduction);
                reductions_[p] = placement.reduction;
            }
        }
    }
    incompatible_ = incompatible_ || !common_reduction(from) || !common_reduction(to);
    from_ = state_of(from);
    to_ = state_of(to);
}

MoveSpace::State MoveSpace::state_of(const Layout& layout) const {
    State state;
    state.fill(replicated);
    for (size_t p = 0; p < participants_.size(); ++p) {
        const Placement& placement = layout[participants_[p].mesh_axis];
        if (placement.is_partial()) {
            state[p] = partial;
        } else if (placement.is_sharded()) {
            const auto at = std::find(axis_ids_.begin(), axis_ids_.end(), placement.axis);
            SSPC_CHECK(at != axis_ids_.end(), "a cut of an axis that the tensor lacks");
            state[p] = static_cast<int8_t>(at - axis_ids_.begin());
        }
    }
    return state;
}

Layout MoveSpace::layout_of(const State& state) const {
    Layout layout = base_;
    for (size_t p = 0; p < participants_.size(); ++p) {
        layout[participants_[p].mesh_axis] = state[p] == partial      ? Placement::partial(reductions_[p])
                                             : state[p] == replicated ? Placement::replicated()
                                                                      : Placement::sharded(axis_ids_[state[p]]);
    }
    return layout;
}

Mask MoveSpace::partial_axes(const State& state) const {
    Mask mask = 0;
    for (size_t p = 0; p < participants_.size(); ++p) {
        mask |= Mask(state[p] == partial) << p;
    }
    return mask;
}

Mask MoveSpace::differing(const State& a, const State& b) const {
    Mask mask = 0;
    for (size_t p = 0; p < participants_.size(); ++p) {
        mask |= Mask(a[p] != b[p]) << p;
    }
    return mask;
}

Mask MoveSpace::cutting(const State& state, int tensor_axis) const {
    Mask mask = 0;
    for (size_t p = 0; p < participants_.size(); ++p) {
        mask |= Mask(state[p] == tensor_axis) << p;
    }
    return mask;
}

Mask MoveSpace::cutting(const State& state) const {
    Mask mask = 0;
    for (size_t p = 0; p < participants_.size(); ++p) {
        mask |= Mask(state[p] >= 0) << p;
    }
    return mask;
}

/// Calls `visit(coordinates)` for all coordinates along `active`, the others 0, until it returns false.
template <typename Visit>
bool MoveSpace::each_device(Mask active, Visit visit) const {
    Coordinates at{};
    while (true) {
        if (!visit(at)) {
            return false;
        }
        size_t p = participants_.size();
        while (p-- > 0) {
            if (!has(active, p)) {
                continue;
            }
            const int last = participants_[p].size - 1;
            at[p] = at[p] == last ? 0 : participants_[p].micro ? last : at[p] + 1;
            if (at[p] != 0) {
                break;
            }
        }
        if (p == static_cast<size_t>(-1)) {
            return true;
        }
    }
}

Interval MoveSpace::interval(int tensor_axis, Mask mask, const Coordinates& at) {
    if (mask == 0) {
        return {0, sizes_[tensor_axis]};
    }
    std::vector<Interval>& table = intervals_[{tensor_axis, mask}];
    if (table.empty()) {
        table.push_back({0, sizes_[tensor_axis]});
        for (size_t p = 0; p < participants_.size(); ++p) {
            if (!has(mask, p)) {
                continue;
            }
            std::vector<Interval> finer;
            finer.reserve(table.size() * participants_[p].size);
            for (const Interval& whole : table) {
                for (int k = 0; k < participants_[p].size; ++k) {
                    finer.push_back(part_of(whole, participants_[p].size, k));
                }
            }
            table = std::move(finer);
        }
    }
    size_t index = 0;
    for (Mask rest = mask; rest != 0; rest &= rest - 1) {
        const int p = std::countr_zero(rest);
        index = index * participants_[p].size + at[p];
    }
    return table[index];
}

/// Whether the devices along `along` together hold the interval `wanted` of a tensor axis that `cut` cuts. Their parts never overlap.
bool MoveSpace::covered(int tensor_axis, Interval wanted, Mask cut, Mask along, const Coordinates& at) {
    const Mask inner = cut & along;
    const Mask outer = cut & ~along;
    const Interval within = interval(tensor_axis, outer, at);
    if (inner == 0 || outer == 0 || std::countr_zero(inner) >= static_cast<int>(std::bit_width(outer))) {
        return within.begin <= wanted.begin && wanted.end <= within.end; // the group holds one whole part of the outer cut
    }
    int64_t held = 0;
    each_device(inner, [&](Coordinates member) {
        for (size_t p = 0; p < participants_.size(); ++p) {
            if (!has(inner, p)) {
                member[p] = at[p];
            }
        }
        const Interval part = interval(tensor_axis, cut, member);
        held += std::max<int64_t>(0, std::min(part.end, wanted.end) - std::max(part.begin, wanted.begin));
        return held < wanted.size();
    });
    return held >= wanted.size();
}

bool MoveSpace::reads_suffice(Mask along, const State& a, const State& b) {
    std::vector<Mask> cut_a;
    std::vector<Mask> cut_b;
    for (int k = 0; k < tensor_axes(); ++k) {
        cut_a.push_back(cutting(a, k));
        cut_b.push_back(cutting(b, k));
    }
    // Boxes are products of intervals, and each mesh axis cuts one tensor axis at most: a union of boxes is a product of unions.
    return each_device(cutting(a) | cutting(b), [&](const Coordinates& at) {
        for (int k = 0; k < tensor_axes(); ++k) {
            if (interval(k, cut_b[k], at).size() == 0) {
                return true;
            }
        }
        for (int k = 0; k < tensor_axes(); ++k) {
            if (cut_a[k] != 0 && !covered(k, interval(k, cut_b[k], at), cut_a[k], along, at)) {
                return false;
            }
        }
        return true;
    });
}

bool MoveSpace::allows(MoveKind kind, Mask along, const State& a, const State& b) {
    const MoveRule& rule = rule_of(kind);
    if (along == 0 || (differing(a, b) & ~along) != 0) {
        return false;
    }
    Reduce reduction = Reduce::None;
    for (size_t p = 0; p < participants_.size(); ++p) {
        if (!has(along, p)) {
            continue;
        }
        if (!has(groupable_, p) || !is_in_state(rule.from, a[p]) || !is_in_state(rule.to, b[p])) {
            return false;
        }
        if (kind != MoveKind::Exchange && a[p] == b[p]) {
            return false;
        }
        if (a[p] == partial || b[p] == partial) {
            if (reduction != Reduce::None && reduction != reductions_[p]) {
                return false;
            }
            reduction = reductions_[p];
        }
    }
    return reads_suffice(rule.reads == MoveRule::Reads::Group ? along : 0, a, b);
}

int64_t MoveSpace::group_size(Mask along) const {
    int64_t n = 1;
    for (size_t p = 0; p < participants_.size(); ++p) {
        n *= has(along, p) ? participants_[p].size : 1;
    }
    return n;
}

int64_t MoveSpace::largest(const State& state) {
    int64_t product = 1;
    for (int k = 0; k < tensor_axes(); ++k) {
        product *= interval(k, cutting(state, k), Coordinates{}).size();
    }
    return product;
}

int64_t MoveSpace::missing(const State& a, const State& b) {
    std::vector<std::pair<Mask, Mask>> cuts;
    for (int k = 0; k < tensor_axes(); ++k) {
        cuts.push_back({cutting(a, k), cutting(b, k)});
    }
    int64_t most = 0;
    each_device(cutting(a) | cutting(b), [&](const Coordinates& at) {
        int64_t wanted = 1;
        int64_t held = 1;
        for (int k = 0; k < tensor_axes(); ++k) {
            const Interval after = interval(k, cuts[k].second, at);
            wanted *= after.size();
            if (cuts[k].first == cuts[k].second) {
                held *= after.size();
                continue;
            }
            const Interval before = interval(k, cuts[k].first, at);
            held *= std::max<int64_t>(0, std::min(before.end, after.end) - std::max(before.begin, after.begin));
        }
        most = std::max(most, wanted - held);
        return true;
    });
    return most;
}

int64_t MoveSpace::bytes(MoveKind kind, Mask along, const State& a, const State& b) {
    const int64_t n = group_size(along);
    switch (rule_of(kind).received) {
    case MoveRule::Received::TwiceShares: return (2 * largest(a) * element_bytes_ * (n - 1) + n - 1) / n;
    case MoveRule::Received::OtherTerms: return (n - 1) * largest(b) * element_bytes_;
    case MoveRule::Received::Missing: return missing(a, b) * element_bytes_;
    case MoveRule::Received::Nothing: return 0;
    }
    SSPC_UNREACHABLE("a formula of the table");
}

MoveSpace::Edge MoveSpace::unpartial_edge(const State& a, const State& b) {
    const Mask changed = differing(a, b);
    for (MoveKind kind : {MoveKind::AllGather, MoveKind::AllToAll, MoveKind::Slice}) {
        if (allows(kind, changed, a, b)) {
            return {kind, changed, bytes(kind, changed, a, b)};
        }
    }
    // The smallest group that holds all that is wanted; all axes together always do.
    const Mask others = groupable_ & ~changed & ~partial_axes(a);
    std::vector<Mask> candidates;
    for (Mask extra = others;; extra = (extra - 1) & others) {
        candidates.push_back(changed | extra);
        if (extra == 0) {
            break;
        }
    }
    std::sort(candidates.begin(), candidates.end(), [](Mask x, Mask y) {
        return std::pair(std::popcount(x), x) < std::pair(std::popcount(y), y);
    });
    for (Mask along : candidates) {
        if (allows(MoveKind::Exchange, along, a, b)) {
            return {MoveKind::Exchange, along, bytes(MoveKind::Exchange, along, a, b)};
        }
    }
    SSPC_UNREACHABLE("an exchange among all devices is always possible");
}

bool MoveSpace::divides_evenly(const State& a, const State& b) const {
    for (const State& state : {a, b}) {
        for (int k = 0; k < tensor_axes(); ++k) {
            if (sizes_[k] % group_size(cutting(state, k)) != 0) {
                return false;
            }
        }
    }
    return true;
}

Mask MoveSpace::mask_of(const std::vector<int>& mesh_axes) const {
    Mask mask = 0;
    for (size_t p = 0; p < participants_.size(); ++p) {
        const bool in = std::find(mesh_axes.begin(), mesh_axes.end(), participants_[p].mesh_axis) != mesh_axes.end();
        mask |= Mask(in) << p;
    }
    return mask;
}

Move MoveSpace::to_move(const Edge& edge, const State& a, const State& b) const {
    Move move;
    move.kind = edge.kind;
    for (size_t p = 0; p < participants_.size(); ++p) {
        if (has(edge.along, p)) {
            move.mesh_axes.push_back(participants_[p].mesh_axis);
        }
    }
    move.from = layout_of(a);
    move.to = layout_of(b);
    move.bytes = edge.bytes;
    return move;
}

} // namespace sspc
