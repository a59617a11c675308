// Index expressions over a device's part of the iteration space, by interval arithmetic.
#include "ir/check/rules.h"

#include "ir/support/format.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace sspc::check {

namespace {

/// Both ends included; nothing if the arithmetic is not understood.
struct Range {
    int64_t low = 0;
    int64_t high = 0;
};

int64_t floor_div(int64_t a, int64_t b) { return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0); }

std::optional<Range> range_of(const ExprPtr& e, const std::function<std::optional<Interval>(AxisId)>& local) {
    if (e->op == ExprOp::Constant) {
        if (std::nearbyint(e->number) != e->number || std::abs(e->number) > 1e15) {
            return std::nullopt;
        }
        return Range{static_cast<int64_t>(e->number), static_cast<int64_t>(e->number)};
    }
    if (e->op == ExprOp::Iota) {
        const auto interval = local(e->axis);
        if (!interval || interval->size() <= 0) {
            return std::nullopt;
        }
        return Range{interval->begin, interval->end - 1};
    }
    std::vector<Range> args;
    for (const ExprPtr& arg : e->args) {
        const auto range = range_of(arg, local);
        if (!range) {
            return std::nullopt;
        }
        args.push_back(*range);
    }
    switch (e->op) {
    case ExprOp::Cast:
        return args[0];
    case ExprOp::Neg:
        return Range{-args[0].high, -args[0].low};
    case ExprOp::Add:
        return Range{args[0].low + args[1].low, args[0].high + args[1].high};
    case ExprOp::Sub:
        return Range{args[0].low - args[1].high, args[0].high - args[1].low};
    case ExprOp::Mul: {
        const int64_t p[] = {args[0].low * args[1].low, args[0].low * args[1].high, args[0].high * args[1].low,
                             args[0].high * args[1].high};
        return Range{*std::min_element(p, p + 4), *std::max_element(p, p + 4)};
    }
    case ExprOp::FloorDiv:
        if (args[1].low != args[1].high || args[1].low <= 0) {
            return std::nullopt;
        }
        return Range{floor_div(args[0].low, args[1].low), floor_div(args[0].high, args[1].low)};
    case ExprOp::Mod: {
        if (args[1].low != args[1].high || args[1].low <= 0) {
            return std::nullopt;
        }
        const int64_t n = args[1].low;
        if (floor_div(args[0].low, n) == floor_div(args[0].high, n)) {
            const int64_t base = floor_div(args[0].low, n) * n;
            return Range{args[0].low - base, args[0].high - base};
        }
        return Range{0, n - 1};
    }
    case ExprOp::Min:
        return Range{std::min(args[0].low, args[1].low), std::min(args[0].high, args[1].high)};
    case ExprOp::Max:
        return Range{std::max(args[0].low, args[1].low), std::max(args[0].high, args[1].high)};
    default:
        return std::nullopt;
    }
}

/// The layout under which a statement's cut divides its iteration axes.
Layout layout_of_cut(const Cut& cut) {
    Layout layout(cut.size());
    for (size_t m = 0; m < cut.size(); ++m) {
        if (cut[m].valid()) {
            layout[m] = Placement::sharded(cut[m]);
        }
    }
    return layout;
}

} // namespace

std::string reach_outside(const Checked& checked, const Compute& compute, const Expr& access, size_t position,
                          const Operand& operand) {
    const Mesh& mesh = checked.program.mesh;
    const ExprPtr& index = access.args[position];
    const AxisId target = operand.buffer->axes[position];
    const std::vector<AxisId> used = axes_of(index);
    const Layout cut = layout_of_cut(compute.cut);
    std::vector<size_t> moving;
    int64_t count = 1;
    for (size_t m = 0; m < mesh.axes.size(); ++m) {
        const bool cuts = cut[m].is_sharded() && std::find(used.begin(), used.end(), cut[m].axis) != used.end();
        const bool holds = (*operand.layout)[m].is_sharded() && (*operand.layout)[m].axis == target;
        if ((cuts || holds) && mesh.axes[m].size > 1) {
            moving.push_back(m);
            count *= mesh.axes[m].size;
        }
        if (count > (1 << 16)) {
            return "too many parts to look at";
        }
    }
    std::vector<int> at(mesh.axes.size(), 0);
    for (int64_t n = 0; n < count; ++n) {
        int64_t rest = n;
        for (const size_t m : moving) {
            at[m] = static_cast<int>(rest % mesh.axes[m].size);
            rest /= mesh.axes[m].size;
        }
        bool empty = false;
        const auto local = [&](AxisId axis) -> std::optional<Interval> {
            const Interval part = region_of(checked.program.axes[axis], axis, mesh, cut, at);
            empty = empty || part.size() <= 0;
            return part;
        };
        std::optional<Range> range = range_of(index, local);
        if (empty) {
            continue;
        }
        if (!range) {
            return "its index is no arithmetic that can be bounded";
        }
        const Axis& axis = checked.program.axes[target];
        if (access.otherwise) {
            range->low = std::max<int64_t>(range->low, 0);
            range->high = std::min<int64_t>(range->high, axis.size - 1);
        }
        const Interval held = region_of(axis, target, mesh, *operand.layout, at);
        if (range->low <= range->high && (range->low < held.begin || range->high >= held.end)) {
            return format("it reaches `{0}` [{1}, {2}), of which [{3}, {4}) is there", axis.name, range->low, range->high + 1,
                          held.begin, held.end);
        }
    }
    return "";
}

} // namespace sspc::check
