// Boxes that devices hold under a layout, and the text of layouts.
#include "ir/mesh/layout.h"

#include "ir/support/check.h"

#include <algorithm>

namespace sspc {

Interval part_of(Interval whole, int parts, int index) {
    SSPC_CHECK(parts > 0 && index >= 0 && index < parts, "a part that there is");
    const int64_t least = whole.size() / parts;
    const int64_t longer = whole.size() % parts; // the first of the parts have one more
    const int64_t begin = whole.begin + least * index + std::min<int64_t>(index, longer);
    return {begin, begin + least + (index < longer ? 1 : 0)};
}

Interval region_of(const Axis& axis, AxisId id, const Mesh& mesh, const Layout& layout,
                   const std::vector<int>& coordinates) {
    SSPC_CHECK(layout.size() == mesh.axes.size(), "a placement for each mesh axis");
    Interval result{0, axis.size};
    for (size_t m = 0; m < mesh.axes.size(); ++m) {
        if (layout[m].is_sharded() && layout[m].axis == id) {
            result = part_of(result, mesh.axes[m].size, coordinates.at(m));
        }
    }
    return result;
}

Box region(const IdVector<AxisId, Axis>& axes, const std::vector<AxisId>& tensor_axes, const Mesh& mesh,
           const Layout& layout, const std::vector<int>& coordinates) {
    Box box;
    box.reserve(tensor_axes.size());
    for (AxisId id : tensor_axes) {
        box.push_back(region_of(axes[id], id, mesh, layout, coordinates));
    }
    return box;
}

int64_t volume(const Box& box) {
    int64_t product = 1;
    for (const Interval& interval : box) {
        product *= interval.size();
    }
    return product;
}

std::optional<Box> intersect(const Box& a, const Box& b) {
    SSPC_CHECK(a.size() == b.size(), "boxes of one tensor");
    Box result;
    result.reserve(a.size());
    for (size_t i = 0; i < a.size(); ++i) {
        const Interval common{std::max(a[i].begin, b[i].begin), std::min(a[i].end, b[i].end)};
        if (common.size() <= 0) {
            return std::nullopt;
        }
        result.push_back(common);
    }
    return result;
}

int64_t largest_volume(const IdVector<AxisId, Axis>& axes, const std::vector<AxisId>& tensor_axes,
                       const Mesh& mesh, const Layout& layout) {
    // The first part is never smaller than another, at any depth of nesting.
    return volume(region(axes, tensor_axes, mesh, layout, std::vector<int>(mesh.axes.size(), 0)));
}

Layout replicated_layout(const Mesh& mesh) { return Layout(mesh.axes.size()); }

Layout normalized(const Mesh& mesh, Layout layout) {
    SSPC_CHECK(layout.size() == mesh.axes.size(), "a placement for each mesh axis");
    for (size_t m = 0; m < mesh.axes.size(); ++m) {
        if (mesh.axes[m].size == 1) {
            layout[m] = Placement::replicated();
        }
    }
    return layout;
}

std::string to_text(const Placement& placement, const IdVector<AxisId, Axis>& axes) {
    switch (placement.kind) {
    case Placement::Kind::Replicated: return "R";
    case Placement::Kind::Sharded: return "S(" + axes[placement.axis].name + ")";
    case Placement::Kind::Partial: break;
    }
    switch (placement.reduction) {
    case Reduce::Sum: return "P(sum)";
    case Reduce::Max: return "P(max)";
    case Reduce::Min: return "P(min)";
    case Reduce::Prod: return "P(prod)";
    case Reduce::None: break;
    }
    SSPC_UNREACHABLE("a partial value without a reduction");
}

namespace {

std::string joined(const Layout& layout, const Mesh& mesh, const IdVector<AxisId, Axis>& axes,
                   const std::vector<size_t>& which) {
    std::string text;
    for (size_t m : which) {
        text += (text.empty() ? "" : ", ") + mesh.axes[m].name + ": " + to_text(layout[m], axes);
    }
    return "{" + text + "}";
}

} // namespace

std::string to_text(const Layout& layout, const Mesh& mesh, const IdVector<AxisId, Axis>& axes) {
    std::vector<size_t> all;
    for (size_t m = 0; m < layout.size(); ++m) {
        all.push_back(m);
    }
    return joined(layout, mesh, axes, all);
}

std::string to_short_text(const Layout& layout, const Mesh& mesh, const IdVector<AxisId, Axis>& axes) {
    std::vector<size_t> cut;
    for (size_t m = 0; m < layout.size(); ++m) {
        if (!layout[m].is_replicated()) {
            cut.push_back(m);
        }
    }
    return cut.empty() ? "R" : joined(layout, mesh, axes, cut);
}

} // namespace sspc
