// How a tensor lies on a mesh: for each mesh axis replicated, sharded along one of the tensor's axes, or partial.
#pragma once

#include "ir/graph/graph.h"
#include "ir/graph/interval.h"
#include "ir/mesh/mesh.h"

#include <optional>
#include <string>
#include <vector>

namespace sspc {

/// The state along one mesh axis.
struct Placement {
    enum class Kind {
        Replicated, ///< R: every member holds the same
        Sharded,    ///< S(axis): member k holds part k of `axis`
        Partial,    ///< P(reduction): the members' values reduce to the tensor's
    };
    Kind kind = Kind::Replicated;
    AxisId axis;                    ///< of Sharded
    Reduce reduction = Reduce::Sum; ///< of Partial

    static Placement replicated() { return {}; }
    static Placement sharded(AxisId axis) { return {Kind::Sharded, axis, Reduce::Sum}; }
    static Placement partial(Reduce reduction) { return {Kind::Partial, AxisId(), reduction}; }
    bool is_replicated() const { return kind == Kind::Replicated; }
    bool is_sharded() const { return kind == Kind::Sharded; }
    bool is_partial() const { return kind == Kind::Partial; }
    friend bool operator==(const Placement& a, const Placement& b) {
        return a.kind == b.kind && (a.kind != Kind::Sharded || a.axis == b.axis) &&
               (a.kind != Kind::Partial || a.reduction == b.reduction);
    }
};

/// One placement for each axis of the mesh. Cuts of one tensor axis by several mesh axes nest in mesh order (the first is outermost). Mesh axes of
/// size 1 are always Replicated (`normalized` makes it so), so that equal layouts compare equal.
using Layout = std::vector<Placement>;

/// One interval for each axis of a tensor.
using Box = std::vector<Interval>;

/// Part `index` of `parts` of a range: the first (size mod parts) parts have one more.
Interval part_of(Interval whole, int parts, int index);
/// The part of axis `axis` that a device holds under `layout`; `coordinates` has one entry for each mesh axis.
Interval region_of(const Axis& axis, AxisId id, const Mesh& mesh, const Layout& layout, const std::vector<int>& coordinates);
/// The box of a tensor with axes `tensor_axes` that a device holds (for Partial: the box its term covers).
Box region(const IdVector<AxisId, Axis>& axes, const std::vector<AxisId>& tensor_axes, const Mesh& mesh,
           const Layout& layout, const std::vector<int>& coordinates);
int64_t volume(const Box& box);
std::optional<Box> intersect(const Box& a, const Box& b);
/// Elements of the largest box that any device holds.
int64_t largest_volume(const IdVector<AxisId, Axis>& axes, const std::vector<AxisId>& tensor_axes, const Mesh& mesh,
                       const Layout& layout);

Layout replicated_layout(const Mesh& mesh);
Layout normalized(const Mesh& mesh, Layout layout);
/// `R`, `S(heads)`, `P(sum)`
std::string to_text(const Placement& placement, const IdVector<AxisId, Axis>& axes);
/// `{dp: S(batch), tp: R}`: every mesh axis.
std::string to_text(const Layout& layout, const Mesh& mesh, const IdVector<AxisId, Axis>& axes);
/// The same without the mesh axes along which the layout is Replicated; `R` if there is no other.
std::string to_short_text(const Layout& layout, const Mesh& mesh, const IdVector<AxisId, Axis>& axes);

} // namespace sspc
