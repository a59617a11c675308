// Leaves of expressions, and functions over whole trees.
#include "ir/graph/expr.h"

#include "ir/support/check.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

namespace sspc {
namespace {

bool same_number(double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b));
}

/// The nodes that a walk has met. Most trees are small: a hash table only pays beyond that.
class Seen {
public:
    /// False if the node was met before.
    bool insert(const Expr* expr) {
        if (few_.size() < 32) {
            if (std::find(few_.begin(), few_.end(), expr) != few_.end()) {
                return false;
            }
            few_.push_back(expr);
            return true;
        }
        return std::find(few_.begin(), few_.end(), expr) == few_.end() && many_.insert(expr).second;
    }

private:
    std::vector<const Expr*> few_;
    std::unordered_set<const Expr*> many_;
};

void visit_once(const ExprPtr& expr, Seen& seen, const std::function<void(const Expr&)>& visit) {
    if (!expr || !seen.insert(expr.get())) {
        return;
    }
    for (const ExprPtr& arg : expr->args) {
        visit_once(arg, seen, visit);
    }
    visit_once(expr->otherwise, seen, visit);
    visit(*expr);
}

ExprPtr rebuild(const ExprPtr& expr, std::vector<ExprPtr> args, ExprPtr otherwise) {
    if (args == expr->args && otherwise == expr->otherwise) {
        return expr;
    }
    switch (expr->op) {
    case ExprOp::Cast:
        return cast(args[0], expr->type);
    case ExprOp::Access:
        return access(expr->slot, expr->type, std::move(args), std::move(otherwise));
    case ExprOp::Random: {
        Expr copy = *expr;
        copy.args = std::move(args);
        return std::make_shared<const Expr>(std::move(copy));
    }
    default:
        return make(expr->op, std::move(args));
    }
}

using Rewritten = std::unordered_map<const Expr*, ExprPtr>;

ExprPtr rewrite_once(const ExprPtr& expr, Rewritten& done,
                     const std::function<ExprPtr(const ExprPtr&)>& change) {
    if (!expr) {
        return nullptr;
    }
    if (const auto it = done.find(expr.get()); it != done.end()) {
        return it->second;
    }
    std::vector<ExprPtr> args;
    args.reserve(expr->args.size());
    for (const ExprPtr& arg : expr->args) {
        args.push_back(rewrite_once(arg, done, change));
    }
    ExprPtr built = rebuild(expr, std::move(args), rewrite_once(expr->otherwise, done, change));
    if (ExprPtr changed = change(built)) {
        built = std::move(changed);
    }
    done.emplace(expr.get(), built);
    return built;
}

} // namespace

ExprPtr constant(double value, DType type) {
    Expr expr{ExprOp::Constant, type, {}};
    expr.number = value;
    return std::make_shared<const Expr>(std::move(expr));
}

ExprPtr iota(AxisId axis) {
    Expr expr{ExprOp::Iota, DType::I64, {}};
    expr.axis = axis;
    return std::make_shared<const Expr>(std::move(expr));
}

ExprPtr step_number() {
    return std::make_shared<const Expr>(Expr{ExprOp::Step, DType::I64, {}});
}

ExprPtr access(int slot, DType type, std::vector<ExprPtr> index, ExprPtr otherwise) {
    Expr expr{ExprOp::Access, type, std::move(index)};
    expr.slot = slot;
    expr.otherwise = std::move(otherwise);
    return std::make_shared<const Expr>(std::move(expr));
}

ExprPtr access(int slot, DType type, const std::vector<AxisId>& axes) {
    std::vector<ExprPtr> index;
    index.reserve(axes.size());
    for (const AxisId axis : axes) {
        index.push_back(iota(axis));
    }
    return access(slot, type, std::move(index));
}

ExprPtr random_draw(DrawKind kind, double parameter, std::string path,
                    const std::vector<AxisId>& axes) {
    Expr expr{ExprOp::Random, kind == DrawKind::Bernoulli ? DType::Bool : DType::F32, {}};
    expr.draw = kind;
    expr.number = parameter;
    expr.path = std::move(path);
    for (const AxisId axis : axes) {
        expr.args.push_back(iota(axis));
    }
    return std::make_shared<const Expr>(std::move(expr));
}

bool is_constant(const ExprPtr& expr, double value) {
    return expr->op == ExprOp::Constant && expr->number == value;
}

bool equal(const ExprPtr& a, const ExprPtr& b) {
    if (a == b) {
        return true;
    }
    if (!a || !b || a->op != b->op || a->type != b->type || a->args.size() != b->args.size() ||
        a->axis != b->axis || a->slot != b->slot || !same_number(a->number, b->number) ||
        a->draw != b->draw || a->path != b->path || !equal(a->otherwise, b->otherwise)) {
        return false;
    }
    return std::equal(a->args.begin(), a->args.end(), b->args.begin(), equal);
}

void for_each(const ExprPtr& expr, const std::function<void(const Expr&)>& visit) {
    Seen seen;
    visit_once(expr, seen, visit);
}

ExprPtr rewrite(const ExprPtr& expr, const std::function<ExprPtr(const ExprPtr&)>& change) {
    Rewritten done;
    return rewrite_once(expr, done, change);
}

ExprPtr substitute_axes(const ExprPtr& expr, const std::vector<std::pair<AxisId, ExprPtr>>& map) {
    return rewrite(expr, [&](const ExprPtr& node) -> ExprPtr {
        if (node->op == ExprOp::Iota) {
            for (const auto& [axis, value] : map) {
                if (axis == node->axis) {
                    return value;
                }
            }
        }
        return nullptr;
    });
}

std::vector<AxisId> axes_of(const ExprPtr& expr) {
    std::vector<AxisId> axes;
    for_each(expr, [&](const Expr& node) {
        if (node.op == ExprOp::Iota &&
            std::find(axes.begin(), axes.end(), node.axis) == axes.end()) {
            axes.push_back(node.axis);
        }
    });
    return axes;
}

} // namespace sspc
