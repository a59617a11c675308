// Maps a contraction to calls of the vendor's GEMM without copying an operand.
//
// The axes fall into four classes: batch (both operands and the result), m (left and result), n (right and result), k (both operands,
// summed). From each of m, n and k one run of axes that is contiguous in its two tensors becomes a dimension of the GEMM; the other axes
// become loops. Of the possible runs those with the largest GEMM are taken whose matrices have a unit stride on one side.
#include "backend/emit/contraction.h"

#include "ir/passes/kernel_shape.h"

#include <algorithm>

namespace sspc::backend {
namespace {

/// Axes of one tensor in memory order, with their strides.
struct Strides {
    std::vector<AxisId> axes;
    std::vector<PartKey> keys;
    std::vector<Size> steps;
    std::vector<Size> sizes;

    int find(AxisId axis) const {
        const auto found = std::find(axes.begin(), axes.end(), axis);
        return found == axes.end() ? -1 : static_cast<int>(found - axes.begin());
    }
    Size step(AxisId axis) const {
        const int at = find(axis);
        return at < 0 ? Size(0) : steps[static_cast<size_t>(at)];
    }
};

Strides strides_of(Parts& parts, const Buffer& buffer, const std::vector<AxisId>& axes) {
    Strides result;
    result.axes = axes;
    result.steps.resize(axes.size());
    for (const AxisId axis : buffer.axes) {
        result.keys.push_back(parts.key(buffer.layout, axis));
        result.sizes.push_back(parts.size(result.keys.back()));
    }
    for (size_t i = axes.size(); i-- > 1;) {
        result.steps[i - 1] = result.steps[i] * result.sizes[i];
    }
    return result;
}

using Run = std::vector<AxisId>;

/// Runs of `axes` that follow one another in both tensors.
std::vector<Run> runs_of(const std::vector<AxisId>& axes, const Strides& one, const Strides& two,
                         const std::function<Size(AxisId)>& loop_size) {
    std::vector<Run> runs;
    for (const AxisId first : axes) {
        Run run = {first};
        runs.push_back(run);
        for (;;) {
            const int at_one = one.find(run.back());
            const int at_two = two.find(run.back());
            const auto next_one = static_cast<size_t>(at_one) + 1;
            const auto next_two = static_cast<size_t>(at_two) + 1;
            if (next_one >= one.axes.size() || next_two >= two.axes.size() ||
                one.axes[next_one] != two.axes[next_two]) {
                break;
            }
            const AxisId next = one.axes[next_one];
            if (std::find(axes.begin(), axes.end(), next) == axes.end() ||
                !(one.sizes[next_one] == loop_size(next)) || !(two.sizes[next_two] == loop_size(next))) {
                break;
            }
            run.push_back(next);
            runs.push_back(run);
        }
    }
    return runs;
}

} // namespace

std::optional<GemmMapping> map_contraction(Parts& parts, const Class& device_class, const Compute& compute) {
    const auto product = as_product(compute);
    if (!product || compute.out == compute.reads[0]) {
        return std::nullopt;
    }
    const Buffer& out = device_class.buffers[compute.out];
    const Expr* sides[2] = {product->left, product->right};
    if (out.dtype != sides[0]->type || sides[0]->type != sides[1]->type) {
        return std::nullopt;
    }
    const auto& axes = parts.program().axes;
    const auto loop_size = [&](AxisId axis) { return parts.size(parts.key(compute.cut, axis, compute.chunk)); };

    std::optional<GemmMapping> best;
    double best_score = -1;
    for (int order = 0; order < 2; ++order) { // which operand is `a`: decides whether c's rows are m or n
        const Expr* left = sides[order];
        const Expr* right = sides[1 - order];
        const auto slot = [&](const Expr* access) { return compute.reads[static_cast<size_t>(access->slot)]; };
        const std::vector<AxisId> left_axes = access_axes(*left);
        const std::vector<AxisId> right_axes = access_axes(*right);
        const Strides a = strides_of(parts, device_class.buffers[slot(left)], left_axes);
        const Strides b = strides_of(parts, device_class.buffers[slot(right)], right_axes);
        const Strides c = strides_of(parts, out, out.axes);
        std::vector<AxisId> batch, m, n, k;
        for (const AxisId axis : out.axes) {
            const bool in_a = a.find(axis) >= 0;
            const bool in_b = b.find(axis) >= 0;
            (in_a && in_b ? batch : in_a ? m : n).push_back(axis);
            if (!in_a && !in_b) {
                return std::nullopt; // repeated along an axis that no operand has
            }
        }
        for (const AxisId axis : a.axes) {
            if (c.find(axis) < 0) {
                k.push_back(axis);
            }
        }
        if (m.empty() || n.empty() || k.empty()) {
            return std::nullopt;
        }
        const auto total = [&](const Run& run) {
            double product_of_sizes = 1;
            for (const AxisId axis : run) {
                product_of_sizes *= static_cast<double>(axes[axis].size);
            }
            return product_of_sizes;
        };
        for (const Run& run_m : runs_of(m, a, c, loop_size)) {
            for (const Run& run_n : runs_of(n, b, c, loop_size)) {
                for (const Run& run_k : runs_of(k, a, b, loop_size)) {
                    const Size a_m = a.step(run_m.back()), a_k = a.step(run_k.back());
                    const Size b_n = b.step(run_n.back()), b_k = b.step(run_k.back());
                    const Size c_m = c.step(run_m.back()), c_n = c.step(run_n.back());
                    if (!c_n.is_one() || (!a_m.is_one() && !a_k.is_one()) || (!b_n.is_one() && !b_k.is_one())) {
                        continue;
                    }
                    const double score = total(run_m) * total(run_n) * total(run_k) +
                                         (a_k.is_one() ? 0.25 : 0) + (b_k.is_one() ? 0 : 0.25);
                    if (score <= best_score) {
                        continue;
                    }
                    best_score = score;
                    GemmMapping map;
                    map.left = left->slot;
                    map.right = right->slot;
                    map.scale = product->scale;
                    map.left_axes = left_axes;
                    map.right_axes = right_axes;
                    const auto size = [&](const Run& run) {
                        Size all;
                        for (const AxisId axis : run) {
                            all = all * loop_size(axis);
                        }
                        return all;
                    };
                    map.m = size(run_m);
                    map.n = size(run_n);
                    map.k = size(run_k);
                    map.transpose_a = !a_k.is_one();
                    map.transpose_b = b_k.is_one() && !b_n.is_one();
                    map.lda = map.transpose_a ? a_k : a_m;
                    map.ldb = map.transpose_b ? b_n : b_k;
                    map.ldc = c_m;
                    const auto in = [](const Run& run, AxisId axis) {
                        return std::find(run.begin(), run.end(), axis) != run.end();
                    };
                    // Sums run innermost but for the batch, so that the first of them sets and the others add.
                    const auto loop = [&](AxisId axis, bool sums) {
                        map.loops.push_back({{axis}, loop_size(axis), a.step(axis), b.step(axis), c.step(axis), sums});
                    };
                    for (const AxisId axis : k) {
                        if (!in(run_k, axis)) {
                            loop(axis, true);
                        }
                    }
                    for (const AxisId axis : m) {
                        if (!in(run_m, axis)) {
                            loop(axis, false);
                        }
                    }
                    for (const AxisId axis : n) {
                        if (!in(run_n, axis)) {
                            loop(axis, false);
                        }
                    }
                    for (const AxisId axis : batch) {
                        loop(axis, false);
                    }
                    best = std::move(map);
                }
            }
        }
    }
    return best;
}

} // namespace sspc::backend
