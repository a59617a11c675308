// Remembers chains of moves by what they depend on: sizes, layouts by position, and the mesh.
#include "ir/collective/move_cache.h"

#include "ir/support/check.h"

#include <algorithm>

namespace sspc {
namespace {

AxisId position_of(const std::vector<AxisId>& axes, AxisId axis) {
    const auto at = std::find(axes.begin(), axes.end(), axis);
    SSPC_CHECK(at != axes.end(), "a cut of an axis that the tensor lacks");
    return AxisId(static_cast<size_t>(at - axes.begin()));
}

template <typename Rename>
void rename(Layout& layout, Rename axis_for) {
    for (Placement& placement : layout) {
        if (placement.is_sharded()) {
            placement.axis = axis_for(placement.axis);
        }
    }
}

void append(std::vector<int64_t>& key, const Layout& layout, const std::vector<AxisId>& axes) {
    for (const Placement& placement : layout) {
        key.push_back(static_cast<int64_t>(placement.kind));
        key.push_back(placement.is_sharded()   ? position_of(axes, placement.axis).value
                      : placement.is_partial() ? static_cast<int64_t>(placement.reduction)
                                               : 0);
    }
}

} // namespace

std::optional<std::vector<Move>> MoveCache::cheapest(const IdVector<AxisId, Axis>& axes, const TensorShape& shape,
                                                     const Mesh& mesh, const Layout& from, const Layout& to,
                                                     MoveScope scope) {
    if (from == to) {
        return std::vector<Move>();
    }
    std::vector<int64_t> key{static_cast<int64_t>(scope), size_of(shape.dtype), static_cast<int64_t>(mesh.axes.size())};
    for (const MeshAxis& axis : mesh.axes) {
        key.push_back(axis.size);
        key.push_back(static_cast<int64_t>(axis.role));
    }
    append(key, from, shape.axes);
    append(key, to, shape.axes);
    for (AxisId axis : shape.axes) {
        key.push_back(axes[axis].size);
    }
    auto found = chains_.find(key);
    if (found == chains_.end()) {
        auto chain = cheapest_moves(axes, shape, mesh, from, to, scope);
        if (chain) {
            for (Move& move : *chain) {
                rename(move.from, [&](AxisId axis) { return position_of(shape.axes, axis); });
                rename(move.to, [&](AxisId axis) { return position_of(shape.axes, axis); });
            }
        }
        found = chains_.emplace(std::move(key), std::move(chain)).first;
    }
    auto chain = found->second;
    if (chain) {
        for (Move& move : *chain) {
            rename(move.from, [&](AxisId axis) { return shape.axes[axis.value]; });
            rename(move.to, [&](AxisId axis) { return shape.axes[axis.value]; });
        }
    }
    return chain;
}

} // namespace sspc
