// Moves carried out on numbers, element by element.
#include "ir/interpret/moves.h"

#include "ir/support/check.h"
#include "ir/support/format.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sspc {
namespace {

using Point = std::vector<int64_t>;

std::vector<int> coordinates_with(const Mesh& mesh, int device, int micro) {
    std::vector<int> result = coordinates(mesh, device);
    if (const auto axis = find_role(mesh, AxisRole::Micro)) {
        result[*axis] = micro;
    }
    return result;
}

std::string text_of(const Point& point) {
    std::string text;
    for (int64_t coordinate : point) {
        text += (text.empty() ? "" : ", ") + std::to_string(coordinate);
    }
    return "[" + text + "]";
}

/// The mesh axes (but Micro) along which the layout is Partial, and their reduction.
struct PartialAxes {
    std::vector<int> axes;
    Reduce reduction = Reduce::Sum;
    int members = 1;
};
PartialAxes partial_axes(const Mesh& mesh, const Layout& layout) {
    PartialAxes result;
    for (size_t m = 0; m < layout.size(); ++m) {
        if (layout[m].is_partial() && mesh.axes[m].role != AxisRole::Micro) {
            SSPC_CHECK(result.axes.empty() || result.reduction == layout[m].reduction, "one reduction in a layout");
            result.axes.push_back(static_cast<int>(m));
            result.reduction = layout[m].reduction;
            result.members *= mesh.axes[m].size;
        }
    }
    return result;
}
/// Number of the term that a device holds: row-major over the Partial mesh axes.
int member_of(const Mesh& mesh, const PartialAxes& partial, const std::vector<int>& at) {
    int member = 0;
    for (int axis : partial.axes) {
        member = member * mesh.axes[axis].size + at[axis];
    }
    return member;
}

/// One device's side of a move.
class Receiver {
public:
    Receiver(const Mesh& mesh, const Move& move, const std::vector<LocalTensor>& locals, int device, int micro)
        : move_(move), locals_(locals), device_(device), group_(group_of(mesh, device, move.mesh_axes)) {
        const std::vector<int> at = coordinates_with(mesh, device, micro);
        is_first_ = std::all_of(move.mesh_axes.begin(), move.mesh_axes.end(), [&](int axis) { return at[axis] == 0; });
    }

    /// The new value at a point; nothing if no member of the group has what it takes.
    std::optional<double> value(const Point& point) const {
        switch (move_.kind) {
        case MoveKind::AllReduce:
        case MoveKind::ReduceScatter: return reduced(point);
        case MoveKind::AllGather:
        case MoveKind::AllToAll:
        case MoveKind::Exchange: return fetched(point);
        case MoveKind::Slice: return held_by(device_, point);
        case MoveKind::ToPartial: return is_first_ ? held_by(device_, point) : identity_of(reduction(move_.to));
        }
        SSPC_UNREACHABLE("a kind of move");
    }

private:
    std::optional<double> held_by(int device, const Point& point) const {
        const auto offset = offset_in(locals_[device].box, point);
        return offset ? std::optional(locals_[device].data[*offset]) : std::nullopt;
    }
    /// All members must have a term.
    std::optional<double> reduced(const Point& point) const {
        double result = identity_of(reduction(move_.from));
        for (int member : group_) {
            const auto term = held_by(member, point);
            if (!term) {
                return std::nullopt;
            }
            result = combine(reduction(move_.from), result, *term);
        }
        return result;
    }
    std::optional<double> fetched(const Point& point) const {
        if (const auto own = held_by(device_, point)) {
            return own;
        }
        for (int member : group_) {
            if (const auto value = held_by(member, point)) {
                return value;
            }
        }
        return std::nullopt;
    }
    Reduce reduction(const Layout& layout) const { return layout[move_.mesh_axes.front()].reduction; }

    const Move& move_;
    const std::vector<LocalTensor>& locals_;
    int device_;
    std::vector<int> group_;
    bool is_first_ = false;
};

/// What makes the move meaningless whatever the numbers, or nothing.
std::string fault_of(const Mesh& mesh, const Move& move) {
    using Kind = Placement::Kind;
    if (move.mesh_axes.empty()) {
        return format("{0} along no mesh axis", name_of(move.kind));
    }
    for (size_t m = 0; m < mesh.axes.size(); ++m) {
        const bool along = std::find(move.mesh_axes.begin(), move.mesh_axes.end(), static_cast<int>(m)) !=
                           move.mesh_axes.end();
        const Kind from = move.from[m].kind;
        const Kind to = move.to[m].kind;
        if (!along && !(move.from[m] == move.to[m])) {
            return format("{0} changes the placement along `{1}`, which it does not act on", name_of(move.kind),
                          mesh.axes[m].name);
        }
        bool fits = true;
        switch (move.kind) {
        case MoveKind::AllReduce: fits = from == Kind::Partial && to == Kind::Replicated; break;
        case MoveKind::ReduceScatter: fits = from == Kind::Partial && to == Kind::Sharded; break;
        case MoveKind::AllGather: fits = from == Kind::Sharded && to == Kind::Replicated; break;
        case MoveKind::AllToAll: fits = from == Kind::Sharded && to == Kind::Sharded; break;
        case MoveKind::Slice: fits = from == Kind::Replicated && to == Kind::Sharded; break;
        case MoveKind::ToPartial: fits = from == Kind::Replicated && to == Kind::Partial; break;
        case MoveKind::Exchange: fits = from != Kind::Partial && to != Kind::Partial; break;
        }
        const int first = move.mesh_axes.front();
        if (along && (from == Kind::Partial || to == Kind::Partial)) {
            const Layout& partial = from == Kind::Partial ? move.from : move.to;
            fits = fits && partial[m].reduction == partial[first].reduction;
        }
        if (along && (!fits || mesh.axes[m].role == AxisRole::Micro)) {
            return format("{0} does not make this step along `{1}`", name_of(move.kind), mesh.axes[m].name);
        }
    }
    return "";
}

std::vector<int64_t> strides_of(const Box& box) {
    std::vector<int64_t> strides(box.size(), 1);
    for (size_t k = box.size(); k-- > 1;) {
        strides[k - 1] = strides[k] * box[k].size();
    }
    return strides;
}

bool agree(double a, double b, double tolerance) {
    if (a == b || (std::isnan(a) && std::isnan(b))) {
        return true;
    }
    return std::abs(a - b) <= tolerance * std::max({1.0, std::abs(a), std::abs(b)});
}

} // namespace

std::optional<size_t> offset_in(const Box& box, const Point& point) {
    SSPC_CHECK(point.size() == box.size(), "a coordinate for each axis");
    int64_t offset = 0;
    for (size_t k = 0; k < box.size(); ++k) {
        if (point[k] < box[k].begin || point[k] >= box[k].end) {
            return std::nullopt;
        }
        offset = offset * box[k].size() + (point[k] - box[k].begin);
    }
    return static_cast<size_t>(offset);
}

void for_each_point(const Box& box, const std::function<void(const Point&)>& visit) {
    const int64_t count = volume(box);
    const std::vector<int64_t> strides = strides_of(box);
    Point point(box.size());
    for (int64_t i = 0; i < count; ++i) {
        for (size_t k = 0; k < box.size(); ++k) {
            point[k] = box[k].begin + i / strides[k] % box[k].size();
        }
        visit(point);
    }
}

double identity_of(Reduce reduction) {
    switch (reduction) {
    case Reduce::Sum: return 0;
    case Reduce::Max: return -std::numeric_limits<double>::infinity();
    case Reduce::Min: return std::numeric_limits<double>::infinity();
    case Reduce::Prod: return 1;
    case Reduce::None: break;
    }
    SSPC_UNREACHABLE("a reduction");
}

double combine(Reduce reduction, double a, double b) {
    switch (reduction) {
    case Reduce::Sum: return a + b;
    case Reduce::Max: return std::isnan(a) || a > b ? a : b;
    case Reduce::Min: return std::isnan(a) || a < b ? a : b;
    case Reduce::Prod: return a * b;
    case Reduce::None: break;
    }
    SSPC_UNREACHABLE("a reduction");
}

std::vector<LocalTensor> carry_out(const IdVector<AxisId, Axis>& axes, const TensorShape& shape, const Mesh& mesh,
                                   const Move& move, const std::vector<LocalTensor>& locals, int micro,
                                   std::string& error) {
    error = fault_of(mesh, move);
    if (!error.empty()) {
        return {};
    }
    const int devices = device_count(mesh);
    SSPC_CHECK(locals.size() == static_cast<size_t>(devices), "a part for each device");
    for (int device = 0; device < devices; ++device) {
        if (locals[device].box != region(axes, shape.axes, mesh, move.from, coordinates_with(mesh, device, micro))) {
            error = format("device {0} holds another part than {1} says", device, to_text(move.from, mesh, axes));
            return {};
        }
    }
    std::vector<LocalTensor> result(devices);
    for (int device = 0; device < devices && error.empty(); ++device) {
        LocalTensor& made = result[device];
        made.box = region(axes, shape.axes, mesh, move.to, coordinates_with(mesh, device, micro));
        made.data.reserve(volume(made.box));
        const Receiver receiver(mesh, move, locals, device, micro);
        for_each_point(made.box, [&](const Point& point) {
            const auto value = receiver.value(point);
            if (!value && error.empty()) {
                error = format("device {0} needs element {1}, which its group in the {2} does not hold", device,
                               text_of(point), name_of(move.kind));
            }
            made.data.push_back(value.value_or(0));
        });
    }
    return error.empty() ? result : std::vector<LocalTensor>();
}

std::vector<double> first_member_has_all(double value, int members, Reduce reduction) {
    std::vector<double> terms(members, identity_of(reduction));
    terms[0] = value;
    return terms;
}

Splitter random_terms(std::function<double()> draw) {
    return [draw = std::move(draw)](double value, int members, Reduce reduction) {
        std::vector<double> terms(members);
        // One member, drawn too, makes up for what the others have.
        const int last = std::min(members - 1, static_cast<int>((draw() + 1) / 2 * members));
        double rest = value;
        for (int k = 0; k < members; ++k) {
            if (k == last) {
                continue;
            }
            const double number = draw();
            switch (reduction) {
            case Reduce::Sum: rest -= terms[k] = number; break;
            case Reduce::Max: terms[k] = value - std::abs(number); break;
            case Reduce::Min: terms[k] = value + std::abs(number); break;
            case Reduce::Prod: rest /= terms[k] = number < 0 ? number - 0.5 : number + 0.5; break;
            case Reduce::None: SSPC_UNREACHABLE("a reduction");
            }
        }
        terms[last] = rest;
        return terms;
    };
}

std::vector<LocalTensor> scatter_whole(const IdVector<AxisId, Axis>& axes, const TensorShape& shape, const Mesh& mesh,
                                       const std::vector<double>& whole, const Layout& layout, int micro,
                                       const Splitter& split) {
    Box all;
    for (AxisId axis : shape.axes) {
        all.push_back({0, axes[axis].size});
    }
    SSPC_CHECK(whole.size() == static_cast<size_t>(volume(all)), "a number for each element");
    const PartialAxes partial = partial_axes(mesh, layout);
    // Every element is split once, so that replicas of one term are equal.
    std::vector<std::vector<double>> terms;
    terms.reserve(whole.size());
    for (double value : whole) {
        terms.push_back(partial.axes.empty() ? std::vector<double>{value}
                                             : split(value, partial.members, partial.reduction));
    }
    std::vector<LocalTensor> locals;
    for (int device = 0; device < device_count(mesh); ++device) {
        const std::vector<int> at = coordinates_with(mesh, device, micro);
        LocalTensor local{region(axes, shape.axes, mesh, layout, at), {}};
        for_each_point(local.box, [&](const Point& point) {
            local.data.push_back(terms[*offset_in(all, point)][member_of(mesh, partial, at)]);
        });
        locals.push_back(std::move(local));
    }
    return locals;
}

std::optional<LocalTensor> gather_whole(const IdVector<AxisId, Axis>& axes, const TensorShape& shape, const Mesh& mesh,
                                        const std::vector<LocalTensor>& locals, const Layout& layout, int micro,
                                        std::string& error, double tolerance) {
    error.clear();
    SSPC_CHECK(locals.size() == static_cast<size_t>(device_count(mesh)), "a part for each device");
    Layout only_micro = replicated_layout(mesh);
    if (const auto axis = find_role(mesh, AxisRole::Micro)) {
        only_micro[*axis] = layout[*axis];
    }
    const PartialAxes partial = partial_axes(mesh, layout);
    LocalTensor result{region(axes, shape.axes, mesh, only_micro, coordinates_with(mesh, 0, micro)), {}};
    const size_t count = volume(result.box);
    std::vector<std::vector<double>> terms(partial.members, std::vector<double>(count, 0));
    std::vector<std::vector<int>> holders(partial.members, std::vector<int>(count, -1));
    for (int device = 0; device < device_count(mesh); ++device) {
        const std::vector<int> at = coordinates_with(mesh, device, micro);
        const LocalTensor& local = locals[device];
        if (local.box != region(axes, shape.axes, mesh, layout, at) ||
            local.data.size() != static_cast<size_t>(volume(local.box))) {
            error = format("device {0} holds another part than {1} says", device, to_text(layout, mesh, axes));
            return std::nullopt;
        }
        const int member = member_of(mesh, partial, at);
        size_t next = 0;
        for_each_point(local.box, [&](const Point& point) {
            const size_t offset = *offset_in(result.box, point);
            const double value = local.data[next++];
            int& holder = holders[member][offset];
            if (holder < 0) {
                holder = device;
                terms[member][offset] = value;
            } else if (!agree(terms[member][offset], value, tolerance) && error.empty()) {
                error = format("devices {0} and {1} differ in element {2}: {3} and {4}", holder, device,
                               text_of(point), terms[member][offset], value);
            }
        });
    }
    size_t offset = 0;
    for_each_point(result.box, [&](const Point& point) {
        double value = partial.axes.empty() ? terms[0][offset] : identity_of(partial.reduction);
        for (int member = 0; member < partial.members; ++member) {
            if (holders[member][offset] < 0 && error.empty()) {
                error = format("no device holds element {0}", text_of(point));
            }
            if (!partial.axes.empty()) {
                value = combine(partial.reduction, value, terms[member][offset]);
            }
        }
        result.data.push_back(value);
        ++offset;
    });
    return error.empty() ? std::optional(std::move(result)) : std::nullopt;
}

} // namespace sspc
