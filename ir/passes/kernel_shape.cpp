// What kind of kernel carries out a compute, and which computes can share one.
#include "ir/passes/kernel_shape.h"

#include <algorithm>
#include <set>

namespace sspc {
namespace {

bool has(const std::vector<AxisId>& axes, AxisId axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

bool same_set(const std::vector<AxisId>& a, const std::vector<AxisId>& b) {
    return std::set<AxisId>(a.begin(), a.end()) == std::set<AxisId>(b.begin(), b.end());
}

std::vector<AxisId> both(const std::vector<AxisId>& a, const std::vector<AxisId>& b) {
    std::vector<AxisId> all = a;
    all.insert(all.end(), b.begin(), b.end());
    return all;
}

const Expr* strip_casts(const ExprPtr& expr) {
    const Expr* at = expr.get();
    while (at->op == ExprOp::Cast && is_float(at->type) && is_float(at->args[0]->type) &&
           size_of(at->type) > size_of(at->args[0]->type)) {
        at = at->args[0].get();
    }
    return at;
}

bool collect_factors(const ExprPtr& expr, bool inverse, Product& product) {
    const Expr* at = strip_casts(expr);
    switch (at->op) {
    case ExprOp::Constant:
        product.scale = inverse ? product.scale / at->number : product.scale * at->number;
        return true;
    case ExprOp::Neg:
        product.scale = -product.scale;
        return collect_factors(at->args[0], inverse, product);
    case ExprOp::Mul:
        return collect_factors(at->args[0], inverse, product) &&
               collect_factors(at->args[1], inverse, product);
    case ExprOp::Div:
        return collect_factors(at->args[0], inverse, product) &&
               collect_factors(at->args[1], !inverse, product);
    case ExprOp::Access:
        if (inverse || !is_plain(*at) || at->otherwise || !is_float(at->type) || product.right) {
            return false;
        }
        (product.left ? product.right : product.left) = at;
        return true;
    default:
        return false;
    }
}

/// The plain access with most axes: its memory order decides how a reduction runs.
const Expr* widest_access(const Compute& compute) {
    const Expr* widest = nullptr;
    for_each(compute.body, [&](const Expr& node) {
        if (node.op == ExprOp::Access && is_plain(node) &&
            (!widest || node.args.size() > widest->args.size())) {
            widest = &node;
        }
    });
    return widest;
}

bool contracts(const Compute& compute, const Product& product) {
    bool left_only = false;
    bool right_only = false;
    const auto left = access_axes(*product.left);
    const auto right = access_axes(*product.right);
    for (const AxisId axis : left) {
        const bool shared = has(right, axis);
        if (!shared && has(compute.reduced, axis)) {
            return false; // a sum over one factor alone
        }
        left_only = left_only || !shared;
    }
    for (const AxisId axis : right) {
        const bool shared = has(left, axis);
        if (!shared && has(compute.reduced, axis)) {
            return false;
        }
        right_only = right_only || !shared;
    }
    return left_only && right_only;
}

} // namespace

std::vector<int> cutters(const Mesh& mesh, const Cut& cut, AxisId axis) {
    std::vector<int> result;
    for (size_t i = 0; i < cut.size(); ++i) {
        if (cut[i] == axis && mesh.axes[i].size > 1) {
            result.push_back(static_cast<int>(i));
        }
    }
    return result;
}

std::vector<int> cutters(const Mesh& mesh, const Layout& layout, AxisId axis) {
    std::vector<int> result;
    for (size_t i = 0; i < layout.size(); ++i) {
        if (layout[i].is_sharded() && layout[i].axis == axis && mesh.axes[i].size > 1) {
            result.push_back(static_cast<int>(i));
        }
    }
    return result;
}

std::vector<AxisId> access_axes(const Expr& access) {
    std::vector<AxisId> axes;
    for (const ExprPtr& index : access.args) {
        axes.push_back(index->axis);
    }
    return axes;
}

std::optional<Product> as_product(const Compute& compute) {
    if (compute.reduce != Reduce::Sum || !compute.scatter.empty()) {
        return std::nullopt;
    }
    Product product;
    if (!collect_factors(compute.body, false, product) || !product.left || !product.right ||
        product.left->type != product.right->type) {
        return std::nullopt;
    }
    return product;
}

KernelShape shape_of(const Class& device_class, const Compute& compute) {
    const std::vector<AxisId>& out = device_class.buffers[compute.out].axes;
    if (!compute.scatter.empty()) {
        std::vector<AxisId> space;
        for (const ExprPtr& index : compute.scatter) {
            if (index->op == ExprOp::Iota && !has(space, index->axis)) {
                space.push_back(index->axis);
            }
        }
        for (const AxisId axis : compute.reduced) {
            if (!has(space, axis)) {
                space.push_back(axis);
            }
        }
        return {KernelForm::Scatter, space, {}};
    }
    if (compute.reduce == Reduce::None) {
        return {KernelForm::Elementwise, out, {}};
    }
    if (const auto product = as_product(compute); product && contracts(compute, *product)) {
        return {KernelForm::Contraction, out, compute.reduced};
    }
    const Expr* widest = widest_access(compute);
    if (widest && !widest->args.empty() && !out.empty()) {
        const AxisId last = widest->args.back()->axis;
        if (!has(compute.reduced, last) && last == out.back()) {
            return {KernelForm::Columns, out, compute.reduced};
        }
    }
    // Inner axes in memory order of the widest operand, so that the innermost loop is contiguous.
    std::vector<AxisId> inner;
    if (widest) {
        for (const ExprPtr& index : widest->args) {
            if (has(compute.reduced, index->axis)) {
                inner.push_back(index->axis);
            }
        }
    }
    for (const AxisId axis : compute.reduced) {
        if (!has(inner, axis)) {
            inner.push_back(axis);
        }
    }
    return {KernelForm::Rows, out, inner};
}

namespace {

/// Reads within a kernel of what the kernel itself writes must be at the point that this very thread of work has written.
bool reads_own_point(const Class& device_class, const std::vector<const Compute*>& computes) {
    for (size_t reader = 0; reader < computes.size(); ++reader) {
        bool fine = true;
        for_each(computes[reader]->body, [&](const Expr& node) {
            if (node.op != ExprOp::Access) {
                return;
            }
            const BufferId buffer = computes[reader]->reads[static_cast<size_t>(node.slot)];
            for (const Compute* writer : computes) {
                if (writer->out == buffer &&
                    (!is_plain(node) || access_axes(node) != device_class.buffers[buffer].axes)) {
                    fine = false;
                }
            }
        });
        if (!fine) {
            return false;
        }
    }
    return true;
}

/// A row kernel may compute a value again in a later loop, so what it read must not change before its last statement.
bool changes_what_is_read_again(const std::vector<const Compute*>& computes) {
    for (size_t writer = 1; writer + 1 < computes.size(); ++writer) {
        for (size_t reader = 0; reader < writer; ++reader) {
            const auto& reads = computes[reader]->reads;
            if (std::find(reads.begin(), reads.end(), computes[writer]->out) != reads.end()) {
                return true;
            }
        }
    }
    return false;
}

bool same_cut(const Mesh& mesh, const Compute& a, const Compute& b, const std::vector<AxisId>& axes) {
    return std::all_of(axes.begin(), axes.end(), [&](AxisId axis) {
        return cutters(mesh, a.cut, axis) == cutters(mesh, b.cut, axis);
    });
}

} // namespace

std::optional<KernelShape> common_shape(const Program& program, const Class& device_class,
                                        const std::vector<const Compute*>& computes) {
    KernelShape shape = shape_of(device_class, *computes[0]);
    if (computes.size() == 1) {
        return shape;
    }
    for (size_t i = 1; i < computes.size(); ++i) {
        const Compute& next = *computes[i];
        const KernelShape one = shape_of(device_class, next);
        if (next.chunk != computes[0]->chunk) {
            return std::nullopt;
        }
        const bool fits = [&] {
            switch (shape.form) {
            case KernelForm::Elementwise:
                if (one.form == KernelForm::Elementwise) {
                    return one.outer == shape.outer || same_set(one.outer, shape.outer);
                }
                return one.form == KernelForm::Rows && same_set(both(one.outer, one.inner), shape.outer);
            case KernelForm::Rows:
                if (one.form == KernelForm::Elementwise) {
                    return same_set(one.outer, shape.outer) ||
                           same_set(one.outer, both(shape.outer, shape.inner));
                }
                return one.form == KernelForm::Rows && same_set(one.outer, shape.outer) &&
                       same_set(one.inner, shape.inner);
            default:
                return false;
            }
        }();
        if (!fits || !same_cut(program.mesh, *computes[0], next, both(one.outer, one.inner))) {
            return std::nullopt;
        }
        if (shape.form == KernelForm::Elementwise && one.form == KernelForm::Rows) {
            shape = one;
        }
    }
    // A row's scalar that is elementwise over `outer` alone must come from what is outside or from scalars: reads of a whole
    // row's values at one point are no plain accesses, which reads_own_point refuses.
    if (!reads_own_point(device_class, computes)) {
        return std::nullopt;
    }
    if (shape.form == KernelForm::Rows && changes_what_is_read_again(computes)) {
        return std::nullopt;
    }
    return shape;
}

} // namespace sspc
