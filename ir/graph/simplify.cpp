// Builds operations: gives them their type, folds constants, and drops what changes nothing.
//
// `x * 0` and `0 / x` become 0 although an infinite or NaN x would give NaN: the zeros come from derivatives of what does not
// depend on a variable, where 0 is the truth. Constant factors and divisors stand last, so that (x * 2) * y and
// (x * y) * 2 are one expression; this may round differently, as any change in the order of a product does.
#include "ir/graph/expr.h"
#include "ir/support/check.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace sspc {
namespace {

bool is_number(const ExprPtr& expr) {
    return expr->op == ExprOp::Constant;
}

bool is_op(const ExprPtr& expr, ExprOp op) {
    return expr->op == op;
}

ExprPtr node(ExprOp op, DType type, std::vector<ExprPtr> args) {
    return std::make_shared<const Expr>(Expr{op, type, std::move(args)});
}

bool is_comparison(ExprOp op) {
    return op >= ExprOp::Eq && op <= ExprOp::Ge;
}

double floor_mod(double a, double b) {
    const double r = std::fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

double sign_of(double x) {
    return x > 0 ? 1 : x < 0 ? -1 : x; // NaN stays NaN
}

std::optional<double> fold_unary(ExprOp op, double x) {
    switch (op) {
    case ExprOp::Neg: return -x;
    case ExprOp::Not: return x == 0;
    case ExprOp::Exp: return std::exp(x);
    case ExprOp::Log: return std::log(x);
    case ExprOp::Sqrt: return std::sqrt(x);
    case ExprOp::Rsqrt: return 1 / std::sqrt(x);
    case ExprOp::Tanh: return std::tanh(x);
    case ExprOp::Sigmoid: return 1 / (1 + std::exp(-x));
    case ExprOp::Erf: return std::erf(x);
    case ExprOp::Sin: return std::sin(x);
    case ExprOp::Cos: return std::cos(x);
    case ExprOp::Abs: return std::fabs(x);
    case ExprOp::Sign: return sign_of(x);
    case ExprOp::Floor: return std::floor(x);
    case ExprOp::Ceil: return std::ceil(x);
    case ExprOp::Round: return std::nearbyint(x);
    case ExprOp::IsNan: return std::isnan(x);
    case ExprOp::StopGradient: return x;
    default: return std::nullopt;
    }
}

std::optional<double> fold_binary(ExprOp op, double a, double b) {
    switch (op) {
    case ExprOp::Add: return a + b;
    case ExprOp::Sub: return a - b;
    case ExprOp::Mul: return a * b;
    case ExprOp::Div: return a / b;
    case ExprOp::Mod: return b == 0 ? std::nullopt : std::optional(floor_mod(a, b));
    case ExprOp::Pow: return std::pow(a, b);
    case ExprOp::Min: return std::min(a, b);
    case ExprOp::Max: return std::max(a, b);
    case ExprOp::FloorDiv: return b == 0 ? std::nullopt : std::optional(std::floor(a / b));
    case ExprOp::Eq: return a == b;
    case ExprOp::Ne: return a != b;
    case ExprOp::Lt: return a < b;
    case ExprOp::Le: return a <= b;
    case ExprOp::Gt: return a > b;
    case ExprOp::Ge: return a >= b;
    case ExprOp::And: return a != 0 && b != 0;
    case ExprOp::Or: return a != 0 || b != 0;
    default: return std::nullopt;
    }
}

ExprPtr simplify_neg(const ExprPtr& x) {
    if (is_op(x, ExprOp::Neg)) {
        return x->args[0];
    }
    if (is_op(x, ExprOp::Sub)) {
        return x->args[1] - x->args[0];
    }
    if (is_op(x, ExprOp::Mul) && is_number(x->args[1])) {
        return x->args[0] * constant(-x->args[1]->number, x->type);
    }
    return nullptr;
}

ExprPtr simplify_add(const ExprPtr& a, const ExprPtr& b) {
    if (is_constant(a, 0)) {
        return b;
    }
    if (is_constant(b, 0)) {
        return a;
    }
    if (is_op(b, ExprOp::Neg)) {
        return a - b->args[0];
    }
    if (is_op(a, ExprOp::Neg)) {
        return b - a->args[0];
    }
    if (is_number(b) && is_op(a, ExprOp::Add) && is_number(a->args[1])) {
        return a->args[0] + constant(a->args[1]->number + b->number, a->type);
    }
    if (is_number(b) && is_op(a, ExprOp::Sub) && is_number(a->args[1])) {
        return a->args[0] + constant(b->number - a->args[1]->number, a->type);
    }
    if (is_number(b) && b->number < 0) {
        return a - constant(-b->number, b->type);
    }
    return equal(a, b) ? a * constant(2, a->type) : nullptr;
}

ExprPtr simplify_sub(const ExprPtr& a, const ExprPtr& b) {
    if (is_constant(b, 0)) {
        return a;
    }
    if (is_constant(a, 0)) {
        return make(ExprOp::Neg, {b});
    }
    if (is_op(b, ExprOp::Neg)) {
        return a + b->args[0];
    }
    if (is_number(b) && b->number < 0) {
        return a + constant(-b->number, b->type);
    }
    if (is_number(b) && is_op(a, ExprOp::Add) && is_number(a->args[1])) {
        return a->args[0] + constant(a->args[1]->number - b->number, a->type);
    }
    if (is_number(b) && is_op(a, ExprOp::Sub) && is_number(a->args[1])) {
        return a->args[0] - constant(a->args[1]->number + b->number, a->type);
    }
    return nullptr;
}

ExprPtr simplify_mul(const ExprPtr& a, const ExprPtr& b, DType type) {
    if (is_number(a)) {
        return b * a;
    }
    if (is_constant(b, 1)) {
        return a;
    }
    if (is_constant(b, 0)) {
        return constant(0, type);
    }
    if (is_constant(b, -1)) {
        return make(ExprOp::Neg, {a});
    }
    if (is_op(a, ExprOp::Mul) && is_number(a->args[1])) { // (x c) b
        if (is_number(b)) {
            return a->args[0] * constant(a->args[1]->number * b->number, type);
        }
        return (a->args[0] * b) * a->args[1];
    }
    if (is_op(b, ExprOp::Mul) && is_number(b->args[1])) { // a (x c)
        return (a * b->args[0]) * b->args[1];
    }
    if (is_float(type) && is_op(a, ExprOp::Div) && is_number(a->args[1])) { // (x / c) b
        return is_number(b) ? a->args[0] * constant(b->number / a->args[1]->number, type)
                            : (a->args[0] * b) / a->args[1];
    }
    if (is_float(type) && is_op(b, ExprOp::Div) && is_number(b->args[1])) { // a (x / c)
        return (a * b->args[0]) / b->args[1];
    }
    if (is_op(a, ExprOp::Neg)) {
        return is_number(b) ? a->args[0] * constant(-b->number, type)
                            : make(ExprOp::Neg, {a->args[0] * b});
    }
    if (is_op(b, ExprOp::Neg)) {
        return make(ExprOp::Neg, {a * b->args[0]});
    }
    return nullptr;
}

ExprPtr simplify_div(const ExprPtr& a, const ExprPtr& b, DType type) {
    if (is_constant(b, 1)) {
        return a;
    }
    if (is_constant(b, -1)) {
        return make(ExprOp::Neg, {a});
    }
    if (is_constant(a, 0)) {
        return constant(0, type);
    }
    if (is_number(b) && is_op(a, ExprOp::Mul) && is_number(a->args[1])) {
        return a->args[0] * constant(a->args[1]->number / b->number, type);
    }
    if (is_op(a, ExprOp::Neg)) {
        return make(ExprOp::Neg, {a->args[0] / b});
    }
    return nullptr;
}

ExprPtr simplify_integer_division(ExprOp op, const ExprPtr& a, const ExprPtr& b) {
    if (is_constant(b, 1)) {
        return op == ExprOp::FloorDiv ? a : constant(0, a->type);
    }
    return is_constant(a, 0) ? a : nullptr;
}

ExprPtr simplify_logic(ExprOp op, const ExprPtr& a, const ExprPtr& b) {
    const double neutral = op == ExprOp::And ? 1 : 0;
    for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
        if (is_number(x)) {
            return (x->number != 0) == (neutral != 0) ? y : x;
        }
    }
    return equal(a, b) ? a : nullptr;
}

ExprPtr simplify_where(const ExprPtr& c, const ExprPtr& a, const ExprPtr& b) {
    if (is_number(c)) {
        return c->number != 0 ? a : b;
    }
    if (equal(a, b)) {
        return a;
    }
    if (is_op(c, ExprOp::Not)) {
        return make(ExprOp::Where, {c->args[0], b, a});
    }
    if (is_op(a, ExprOp::Where) && equal(a->args[0], c)) {
        return make(ExprOp::Where, {c, a->args[1], b});
    }
    if (is_op(b, ExprOp::Where) && equal(b->args[0], c)) {
        return make(ExprOp::Where, {c, a, b->args[2]});
    }
    return nullptr;
}

/// What the operation equals, or null if it stands as it is.
ExprPtr simplify(ExprOp op, DType type, const std::vector<ExprPtr>& args) {
    switch (op) {
    case ExprOp::Neg: return simplify_neg(args[0]);
    case ExprOp::Not: return is_op(args[0], ExprOp::Not) ? args[0]->args[0] : nullptr;
    case ExprOp::Add: return simplify_add(args[0], args[1]);
    case ExprOp::Sub: return simplify_sub(args[0], args[1]);
    case ExprOp::Mul: return simplify_mul(args[0], args[1], type);
    case ExprOp::Div: return simplify_div(args[0], args[1], type);
    case ExprOp::Mod:
        return is_float(type) ? nullptr : simplify_integer_division(op, args[0], args[1]);
    case ExprOp::FloorDiv: return simplify_integer_division(op, args[0], args[1]);
    case ExprOp::Pow:
        return is_constant(args[1], 1)   ? args[0]
               : is_constant(args[1], 0) ? constant(1, type)
                                         : nullptr;
    case ExprOp::Min:
    case ExprOp::Max: return equal(args[0], args[1]) ? args[0] : nullptr;
    case ExprOp::And:
    case ExprOp::Or: return simplify_logic(op, args[0], args[1]);
    case ExprOp::Where: return simplify_where(args[0], args[1], args[2]);
    default: return nullptr;
    }
}

bool is_whole(double x) {
    return std::isfinite(x) && x == std::floor(x);
}

/// The type both operands of an operation are brought to: literals take the type of the other operand, an integer becomes the
/// float type beside it.
DType common_type(const ExprPtr& a, const ExprPtr& b) {
    if (a->type == b->type) {
        return a->type;
    }
    if (is_number(a) != is_number(b)) {
        const Expr& number = is_number(a) ? *a : *b;
        const DType other = is_number(a) ? b->type : a->type;
        if (is_float(other) || (is_integer(other) && is_whole(number.number)) ||
            number.type == DType::Bool) {
            return other;
        }
        return number.type;
    }
    if (is_float(a->type) != is_float(b->type)) {
        return is_float(a->type) ? a->type : b->type;
    }
    return std::min(a->type, b->type); // the enumeration goes from wide to narrow
}

ExprPtr retyped(const ExprPtr& expr, DType type) {
    return expr->type == type ? expr : cast(expr, type);
}

} // namespace

ExprPtr cast(ExprPtr value, DType type) {
    if (value->type == type) {
        return value;
    }
    if (is_number(value)) {
        const double x = value->number;
        return constant(is_float(type)         ? x
                        : type == DType::Bool ? static_cast<double>(x != 0)
                                              : std::trunc(x),
                        type);
    }
    return node(ExprOp::Cast, type, {std::move(value)});
}

ExprPtr make(ExprOp op, std::vector<ExprPtr> args) {
    SSPC_CHECK(op != ExprOp::Cast && op > ExprOp::Random, "`make` is for operations");
    const size_t arity = op == ExprOp::Where ? 3 : op >= ExprOp::Add ? 2 : 1;
    SSPC_CHECK(args.size() == arity, "an operation with a wrong number of operands");

    DType type = args.back()->type;
    if (arity >= 2) {
        ExprPtr& a = args[arity - 2];
        ExprPtr& b = args[arity - 1];
        type = op == ExprOp::And || op == ExprOp::Or ? DType::Bool : common_type(a, b);
        if (op == ExprOp::Div && !is_float(type)) {
            type = DType::F32; // the quotient of integers is a float
        }
        a = retyped(a, type);
        b = retyped(b, type);
    }
    if (op == ExprOp::Where) {
        args[0] = retyped(args[0], DType::Bool);
    }
    const DType operand_type = type;
    if (is_comparison(op) || op == ExprOp::Not || op == ExprOp::IsNan) {
        type = DType::Bool;
    } else if (arity == 1 && op >= ExprOp::Exp && op <= ExprOp::Cos && !is_float(type)) {
        type = DType::F32;
        args[0] = retyped(args[0], type);
    }

    if (arity == 1 && is_number(args[0])) {
        if (const auto value = fold_unary(op, args[0]->number)) {
            return constant(*value, type);
        }
    }
    if (arity == 2 && is_number(args[0]) && is_number(args[1])) {
        if (const auto value = fold_binary(op, args[0]->number, args[1]->number)) {
            return constant(*value, type);
        }
    }
    if (ExprPtr simpler = simplify(op, is_comparison(op) ? operand_type : type, args)) {
        return simpler;
    }
    return node(op, type, std::move(args));
}

std::string_view name_of(ExprOp op) {
    switch (op) {
    case ExprOp::Constant: return "constant";
    case ExprOp::Iota: return "iota";
    case ExprOp::Step: return "step";
    case ExprOp::Access: return "access";
    case ExprOp::Random: return "random";
    case ExprOp::Neg: return "neg";
    case ExprOp::Not: return "not";
    case ExprOp::Exp: return "exp";
    case ExprOp::Log: return "log";
    case ExprOp::Sqrt: return "sqrt";
    case ExprOp::Rsqrt: return "rsqrt";
    case ExprOp::Tanh: return "tanh";
    case ExprOp::Sigmoid: return "sigmoid";
    case ExprOp::Erf: return "erf";
    case ExprOp::Sin: return "sin";
    case ExprOp::Cos: return "cos";
    case ExprOp::Abs: return "abs";
    case ExprOp::Sign: return "sign";
    case ExprOp::Floor: return "floor";
    case ExprOp::Ceil: return "ceil";
    case ExprOp::Round: return "round";
    case ExprOp::IsNan: return "is_nan";
    case ExprOp::Cast: return "cast";
    case ExprOp::StopGradient: return "stop_gradient";
    case ExprOp::Add: return "add";
    case ExprOp::Sub: return "sub";
    case ExprOp::Mul: return "mul";
    case ExprOp::Div: return "div";
    case ExprOp::Mod: return "mod";
    case ExprOp::Pow: return "pow";
    case ExprOp::Min: return "min";
    case ExprOp::Max: return "max";
    case ExprOp::FloorDiv: return "floordiv";
    case ExprOp::Eq: return "eq";
    case ExprOp::Ne: return "ne";
    case ExprOp::Lt: return "lt";
    case ExprOp::Le: return "le";
    case ExprOp::Gt: return "gt";
    case ExprOp::Ge: return "ge";
    case ExprOp::And: return "and";
    case ExprOp::Or: return "or";
    case ExprOp::Where: return "where";
    }
    SSPC_UNREACHABLE("an operation without a name");
}

} // namespace sspc
