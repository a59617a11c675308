// Derivative rules of the operations, and their accumulation over an expression.
#include "ir/passes/adjoint.h"

#include "ir/support/check.h"

#include <cmath>
#include <optional>
#include <unordered_map>

namespace sspc {
namespace {

constexpr double two_over_sqrt_pi = 1.12837916709551257390;

ExprPtr same_type(double number, const ExprPtr& like) {
    return constant(number, like->type);
}

ExprPtr where(ExprPtr condition, ExprPtr yes, ExprPtr no) {
    return make(ExprOp::Where, {std::move(condition), std::move(yes), std::move(no)});
}

ExprPtr unary_adjoint(const ExprPtr& node, const ExprPtr& value, const ExprPtr& up) {
    const ExprPtr& a = node->args[0];
    switch (node->op) {
    case ExprOp::Neg: return make(ExprOp::Neg, {up});
    case ExprOp::Exp: return up * value;
    case ExprOp::Log: return up / a;
    case ExprOp::Sqrt: return up * same_type(0.5, a) / value;
    case ExprOp::Rsqrt: return up * (value * value * value) * same_type(-0.5, a);
    case ExprOp::Tanh: return up * (same_type(1, a) - value * value);
    case ExprOp::Sigmoid: return up * (value * (same_type(1, a) - value));
    case ExprOp::Erf:
        return up * make(ExprOp::Exp, {make(ExprOp::Neg, {a * a})}) *
               same_type(two_over_sqrt_pi, a);
    case ExprOp::Sin: return up * make(ExprOp::Cos, {a});
    case ExprOp::Cos: return make(ExprOp::Neg, {up * make(ExprOp::Sin, {a})});
    case ExprOp::Abs: return up * make(ExprOp::Sign, {a});
    case ExprOp::Cast: return is_float(a->type) ? cast(up, a->type) : nullptr;
    default: return nullptr; // Not, Sign, Floor, Ceil, Round, IsNan, StopGradient
    }
}

ExprPtr power_adjoint(const ExprPtr& node, const ExprPtr& value, const ExprPtr& up, size_t arg) {
    const ExprPtr& a = node->args[0];
    const ExprPtr& b = node->args[1];
    if (arg == 0) {
        const ExprPtr rest = make(ExprOp::Pow, {a, b - same_type(1, b)});
        return up * (rest * b);
    }
    const ExprPtr zero = same_type(0, a);
    return where(make(ExprOp::Eq, {a, zero}), zero, up * (value * make(ExprOp::Log, {a})));
}

/// To the side that is chosen, in halves where both are equal.
ExprPtr extremum_adjoint(const ExprPtr& node, const ExprPtr& up, size_t arg) {
    const ExprPtr& mine = node->args[arg];
    const ExprPtr& other = node->args[1 - arg];
    const ExprOp wins = node->op == ExprOp::Max ? ExprOp::Gt : ExprOp::Lt;
    return where(make(wins, {mine, other}), up,
                 where(make(ExprOp::Eq, {mine, other}), up * same_type(0.5, up),
                       same_type(0, up)));
}

ExprPtr binary_adjoint(const ExprPtr& node, const ExprPtr& value, const ExprPtr& up, size_t arg) {
    const ExprPtr& a = node->args[0];
    const ExprPtr& b = node->args[1];
    switch (node->op) {
    case ExprOp::Add: return up;
    case ExprOp::Sub: return arg == 0 ? up : make(ExprOp::Neg, {up});
    case ExprOp::Mul: return up * node->args[1 - arg];
    case ExprOp::Div: return arg == 0 ? up / b : make(ExprOp::Neg, {up / b * value});
    case ExprOp::Mod:
        return arg == 0 ? up : make(ExprOp::Neg, {up * make(ExprOp::Floor, {a / b})});
    case ExprOp::Pow: return power_adjoint(node, value, up, arg);
    case ExprOp::Min:
    case ExprOp::Max: return extremum_adjoint(node, up, arg);
    default: return nullptr; // FloorDiv, comparisons, And, Or
    }
}

/// What `up`, the adjoint of `node`, passes to operand `arg`; null: nothing.
ExprPtr passed(const ExprPtr& node, const ExprPtr& value, const ExprPtr& up, size_t arg) {
    if (node->op == ExprOp::Where) {
        const ExprPtr zero = same_type(0, up);
        return arg == 0   ? nullptr
               : arg == 1 ? where(node->args[0], up, zero)
                          : where(node->args[0], zero, up);
    }
    if (node->args.size() == 1) {
        return unary_adjoint(node, value, up);
    }
    return binary_adjoint(node, value, up, arg);
}

/// The distinct nodes of an expression, operands first. Accesses and draws are leaves.
class Nodes {
public:
    explicit Nodes(const ExprPtr& body) { root_ = intern(body); }

    const std::vector<ExprPtr>& all() const { return nodes_; }
    size_t root() const { return root_; }
    size_t index_of(const ExprPtr& node) const { return place_.at(node.get()); }

private:
    size_t intern(const ExprPtr& expr) {
        if (const auto it = place_.find(expr.get()); it != place_.end()) {
            return it->second;
        }
        Expr copy = *expr;
        if (expr->op != ExprOp::Access && expr->op != ExprOp::Random) {
            for (ExprPtr& arg : copy.args) {
                arg = nodes_[intern(arg)];
            }
        }
        const ExprPtr candidate = std::make_shared<const Expr>(std::move(copy));
        size_t at = 0;
        while (at < nodes_.size() && !equal(nodes_[at], candidate)) {
            ++at;
        }
        if (at == nodes_.size()) {
            nodes_.push_back(candidate);
            place_.emplace(candidate.get(), at);
        }
        kept_.push_back(expr);
        place_.emplace(expr.get(), at);
        return at;
    }

    std::vector<ExprPtr> nodes_;
    std::vector<ExprPtr> kept_; ///< keeps the keys of `place_` alive
    std::unordered_map<const Expr*, size_t> place_;
    size_t root_ = 0;
};

} // namespace

Adjoints adjoints(const ExprPtr& body, const ExprPtr& seed, const ExprPtr& value,
                  const std::function<bool(int)>& wanted) {
    const Nodes nodes(body);
    const std::vector<ExprPtr>& all = nodes.all();
    std::vector<int> reached(all.size(), 0); // how many wanted accesses lie below, capped at 2
    for (size_t i = 0; i < all.size(); ++i) {
        const Expr& node = *all[i];
        if (node.op == ExprOp::Access) {
            reached[i] = is_float(node.type) && wanted(node.slot) ? 1 : 0;
        } else if (is_float(node.type) && node.op != ExprOp::Random) {
            for (const ExprPtr& arg : node.args) {
                reached[i] += reached[nodes.index_of(arg)];
            }
        }
    }

    Adjoints result;
    std::vector<ExprPtr> up(all.size());
    up[nodes.root()] = seed;
    for (size_t i = all.size(); i-- > 0;) {
        const ExprPtr& node = all[i];
        if (!up[i] || reached[i] == 0 || node->op == ExprOp::Access) {
            continue;
        }
        if (reached[i] > 1 && up[i]->op != ExprOp::Access && up[i]->op != ExprOp::Constant) {
            result.shared.push_back(up[i]);
        }
        const ExprPtr own_value = value && i == nodes.root() ? value : node;
        for (size_t arg = 0; arg < node->args.size(); ++arg) {
            const size_t child = nodes.index_of(node->args[arg]);
            if (reached[child] == 0) {
                continue;
            }
            if (const ExprPtr term = passed(node, own_value, up[i], arg)) {
                up[child] = up[child] ? up[child] + term : term;
            }
        }
    }
    for (size_t i = 0; i < all.size(); ++i) {
        if (all[i]->op == ExprOp::Access && reached[i] > 0) {
            result.accesses.push_back({all[i], up[i] ? up[i] : same_type(0, all[i])});
        }
    }
    return result;
}

} // namespace sspc
