// Which layouts a collective joins, and whether each device then finds in its group what it must hold: computed on coordinates.
#include "ir/check/describe.h"
#include "ir/check/rules.h"
#include "ir/support/format.h"

#include <algorithm>

namespace sspc::check {

namespace {

class MoveRule {
public:
    MoveRule(const Checked& checked, const std::vector<AxisId>& axes, MoveKind kind, const std::vector<int>& mesh_axes,
             const Layout& from, const Layout& to)
        : checked_(checked), mesh_(checked.program.mesh), axes_(axes), kind_(kind), group_(mesh_axes), from_(from), to_(to) {}

    std::string run() const {
        if (group_.empty()) {
            return "it names no mesh axis to move along";
        }
        for (size_t m = 0; m < mesh_.axes.size(); ++m) {
            const bool moves = in_group(m);
            if (!moves && !(from_[m] == to_[m])) {
                return format("it changes the layout along `{0}`, along which it does not move", mesh_.axes[m].name);
            }
            if (moves && mesh_.axes[m].size > 1 && !right_transition(from_[m], to_[m])) {
                return format("along `{0}` it is no move from {1} to {2}", mesh_.axes[m].name,
                              to_text(from_[m], checked_.program.axes), to_text(to_[m], checked_.program.axes));
            }
        }
        if (!one_reduction()) {
            return "it reduces two ways at once";
        }
        for (const AxisId axis : axes_) {
            const std::string lacking = uncovered(axis);
            if (!lacking.empty()) {
                return lacking;
            }
        }
        return "";
    }

private:
    bool in_group(size_t m) const { return std::find(group_.begin(), group_.end(), static_cast<int>(m)) != group_.end(); }

    bool right_transition(const Placement& from, const Placement& to) const {
        switch (kind_) {
        case MoveKind::AllReduce:
            return from.is_partial() && to.is_replicated();
        case MoveKind::ReduceScatter:
            return from.is_partial() && to.is_sharded();
        case MoveKind::AllGather:
            return from.is_sharded() && to.is_replicated();
        case MoveKind::AllToAll:
            return from.is_sharded() && to.is_sharded() && from.axis != to.axis;
        case MoveKind::Slice:
            return from.is_replicated() && to.is_sharded();
        case MoveKind::ToPartial:
            return from.is_replicated() && to.is_partial();
        case MoveKind::Exchange:
            return !from.is_partial() && !to.is_partial();
        }
        return false;
    }
    bool one_reduction() const {
        std::optional<Reduce> reduction;
        for (const Layout* layout : {&from_, &to_}) {
            for (const Placement& p : *layout) {
                if (p.is_partial()) {
                    if (reduction && *reduction != p.reduction) {
                        return false;
                    }
                    reduction = p.reduction;
                }
            }
        }
        return true;
    }

    bool cuts(const Layout& layout, size_t m, AxisId axis) const {
        return mesh_.axes[m].size > 1 && layout[m].is_sharded() && layout[m].axis == axis;
    }

    /// Axes of a tensor are cut by different mesh axes, so the boxes of a group cover a box if they cover it along each axis.
    std::string uncovered(AxisId axis) const {
        std::vector<size_t> here, others;
        bool changes = false;
        int64_t count = 1;
        for (size_t m = 0; m < mesh_.axes.size(); ++m) {
            changes = changes || !(from_[m] == to_[m]);
            if (!cuts(from_, m, axis) && !cuts(to_, m, axis)) {
                continue;
            }
            here.push_back(m);
            count *= mesh_.axes[m].size;
            if (in_group(m) && cuts(from_, m, axis)) {
                others.push_back(m);
            }
        }
        if (!changes || same_cuts(axis)) {
            return "";
        }
        if (count > (1 << 18)) {
            return "its layout has too many parts to look at";
        }
        const Axis& described = checked_.program.axes[axis];
        std::vector<int> at(mesh_.axes.size(), 0);
        for (int64_t n = 0; n < count; ++n) {
            set(at, here, n);
            const Interval wanted = region_of(described, axis, mesh_, to_, at);
            if (wanted.size() > 0 && !covered(described, axis, wanted, at, others)) {
                return format("a device needs `{0}` [{1}, {2}), which its group does not hold", described.name, wanted.begin,
                              wanted.end);
            }
        }
        return "";
    }
    bool same_cuts(AxisId axis) const {
        for (size_t m = 0; m < mesh_.axes.size(); ++m) {
            if (cuts(from_, m, axis) != cuts(to_, m, axis)) {
                return false;
            }
        }
        return true;
    }
    void set(std::vector<int>& at, const std::vector<size_t>& moving, int64_t n) const {
        for (const size_t m : moving) {
            at[m] = static_cast<int>(n % mesh_.axes[m].size);
            n /= mesh_.axes[m].size;
        }
    }
    bool covered(const Axis& described, AxisId axis, const Interval& wanted, std::vector<int> at,
                 const std::vector<size_t>& others) const {
        if (kind_ == MoveKind::AllReduce || kind_ == MoveKind::ReduceScatter || kind_ == MoveKind::Slice ||
            kind_ == MoveKind::ToPartial) {
            const Interval held = region_of(described, axis, mesh_, from_, at);
            return held.begin <= wanted.begin && held.end >= wanted.end;
        }
        int64_t members = 1;
        for (const size_t m : others) {
            members *= mesh_.axes[m].size;
        }
        std::vector<Interval> held;
        for (int64_t n = 0; n < members; ++n) {
            set(at, others, n);
            held.push_back(region_of(described, axis, mesh_, from_, at));
        }
        std::sort(held.begin(), held.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
        int64_t reached = wanted.begin;
        for (const Interval& interval : held) {
            if (interval.size() > 0 && interval.begin <= reached) {
                reached = std::max(reached, interval.end);
            }
        }
        return reached >= wanted.end;
    }

    const Checked& checked_;
    const Mesh& mesh_;
    const std::vector<AxisId>& axes_;
    MoveKind kind_;
    const std::vector<int>& group_;
    const Layout& from_;
    const Layout& to_;
};

} // namespace

std::string wrong_move(const Checked& checked, const std::vector<AxisId>& axes, MoveKind kind,
                       const std::vector<int>& mesh_axes, const Layout& from, const Layout& to) {
    return MoveRule(checked, axes, kind, mesh_axes, from, to).run();
}

} // namespace sspc::check
