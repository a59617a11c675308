// Scalar expressions as C++ text.
#include "backend/emit/expression.h"

#include "ir/support/check.h"
#include "ir/support/format.h"

#include <algorithm>
#include <cmath>

namespace sspc::backend {

std::string storage_type(DType type) {
    switch (type) {
    case DType::F64: return "double";
    case DType::F32: return "float";
    case DType::BF16: return "ssp::bf16";
    case DType::F16: return "ssp::f16";
    case DType::F8E4M3: return "ssp::f8e4m3";
    case DType::F8E5M2: return "ssp::f8e5m2";
    case DType::I64: return "int64_t";
    case DType::I32: return "int32_t";
    case DType::I8: return "int8_t";
    case DType::U8: return "uint8_t";
    case DType::Bool: return "bool";
    }
    SSPC_UNREACHABLE("element type");
}

std::string compute_type(DType type) {
    return is_float(type) && type != DType::F64 ? "float" : storage_type(type);
}

std::string constant_text(double value, DType type) {
    if (type == DType::Bool) {
        return value != 0 ? "true" : "false";
    }
    if (!is_float(type)) {
        return to_text(static_cast<int64_t>(value));
    }
    const bool wide = type == DType::F64;
    if (std::isinf(value)) {
        return value < 0 ? (wide ? "-double(INFINITY)" : "-INFINITY") : (wide ? "double(INFINITY)" : "INFINITY");
    }
    if (std::isnan(value)) {
        return wide ? "double(NAN)" : "NAN";
    }
    std::string text = wide ? to_text(value) : to_text(static_cast<float>(value));
    if (text.find_first_of(".en") == std::string::npos) {
        text += ".0";
    }
    return wide ? text : text + "f";
}

namespace {

bool is_leaf(const Expr& expr) {
    return expr.op == ExprOp::Constant || expr.op == ExprOp::Iota || expr.op == ExprOp::Step ||
           expr.op == ExprOp::Access;
}

/// Integers that surely fit 32 bits: coordinates and constants. Comparing them narrow lets the compiler keep whole vectors.
bool is_coordinate(const Expr& expr) {
    return expr.op == ExprOp::Iota ||
           (expr.op == ExprOp::Constant && !is_float(expr.type) && std::fabs(expr.number) < 1e9);
}

std::string_view infix(ExprOp op) {
    switch (op) {
    case ExprOp::Add: return " + ";
    case ExprOp::Sub: return " - ";
    case ExprOp::Mul: return " * ";
    case ExprOp::Div: return " / ";
    case ExprOp::Eq: return " == ";
    case ExprOp::Ne: return " != ";
    case ExprOp::Lt: return " < ";
    case ExprOp::Le: return " <= ";
    case ExprOp::Gt: return " > ";
    case ExprOp::Ge: return " >= ";
    // Both sides have no effects, and `&` keeps loops free of branches.
    case ExprOp::And: return " & ";
    case ExprOp::Or: return " | ";
    default: return "";
    }
}

std::string_view function(ExprOp op) {
    switch (op) {
    case ExprOp::Exp: return "ssp::exp";
    case ExprOp::Log: return "ssp::log";
    case ExprOp::Sqrt: return "ssp::sqrt";
    case ExprOp::Rsqrt: return "ssp::rsqrt";
    case ExprOp::Tanh: return "ssp::tanh";
    case ExprOp::Sigmoid: return "ssp::sigmoid";
    case ExprOp::Erf: return "ssp::erf";
    case ExprOp::Sin: return "ssp::sin";
    case ExprOp::Cos: return "ssp::cos";
    case ExprOp::Abs: return "ssp::abs";
    case ExprOp::Sign: return "ssp::sign";
    case ExprOp::Floor: return "ssp::floor";
    case ExprOp::Ceil: return "ssp::ceil";
    case ExprOp::Round: return "ssp::round";
    case ExprOp::IsNan: return "ssp::isnan";
    case ExprOp::Mod: return "ssp::mod";
    case ExprOp::Pow: return "ssp::pow";
    case ExprOp::Min: return "ssp::min";
    case ExprOp::Max: return "ssp::max";
    case ExprOp::FloorDiv: return "ssp::floor_div";
    default: return "";
    }
}

bool is_comparison(ExprOp op) { return op >= ExprOp::Eq && op <= ExprOp::Ge; }

} // namespace

void ExpressionText::count(const Expr& expr) {
    if (++uses_[&expr] > 1) {
        return;
    }
    if (expr.op == ExprOp::Access || expr.op == ExprOp::Random) {
        return; // their indices are the leaf's business
    }
    for (const ExprPtr& arg : expr.args) {
        count(*arg);
    }
}

std::string ExpressionText::text(const ExprPtr& expr) {
    count(*expr);
    return write(*expr);
}

std::string ExpressionText::write(const Expr& expr) {
    if (is_leaf(expr) || uses_[&expr] < 2) {
        return node(expr);
    }
    if (const auto found = bound_.find(&expr); found != bound_.end()) {
        return found->second;
    }
    const std::string name = leaves_.bind(compute_type(expr.type), node(expr));
    bound_[&expr] = name;
    return name;
}

std::string ExpressionText::node(const Expr& expr) {
    const std::string type = compute_type(expr.type);
    // Operands are converted where C++ would not do it as the language does.
    const auto operand = [&](size_t i, DType as) {
        const Expr& arg = *expr.args[i];
        const std::string text = write(arg);
        const std::string wanted = compute_type(as);
        if (compute_type(arg.type) == wanted) {
            return text;
        }
        if (arg.op == ExprOp::Constant) {
            return constant_text(arg.number, as);
        }
        return wanted + "(" + text + ")";
    };
    const auto common = [&] {
        DType best = expr.args[0]->type;
        for (const ExprPtr& arg : expr.args) {
            const bool better = (is_float(arg->type) && !is_float(best)) ||
                                (is_float(arg->type) == is_float(best) && size_of(arg->type) > size_of(best));
            best = better ? arg->type : best;
        }
        return best;
    };
    switch (expr.op) {
    case ExprOp::Constant: return constant_text(expr.number, expr.type);
    case ExprOp::Iota: return leaves_.iota(expr.axis);
    case ExprOp::Step: return leaves_.step();
    case ExprOp::Access: return leaves_.access(expr);
    case ExprOp::Random: return leaves_.random(expr);
    case ExprOp::Neg: return "(-" + operand(0, expr.type) + ")";
    case ExprOp::Not: return "(!" + operand(0, DType::Bool) + ")";
    case ExprOp::StopGradient: return write(*expr.args[0]);
    case ExprOp::Cast:
        if (compute_type(expr.type) == storage_type(expr.type)) {
            return type == compute_type(expr.args[0]->type) ? write(*expr.args[0])
                                                            : type + "(" + write(*expr.args[0]) + ")";
        }
        // Rounds to the narrow type, then computes on.
        return format("float({0}(float({1})))", storage_type(expr.type), write(*expr.args[0]));
    case ExprOp::Where:
        return format("({0} ? {1} : {2})", write(*expr.args[0]), operand(1, expr.type), operand(2, expr.type));
    case ExprOp::IsNan: return format("ssp::isnan({0})", write(*expr.args[0]));
    case ExprOp::And:
    case ExprOp::Or:
        return "(" + operand(0, DType::Bool) + std::string(infix(expr.op)) + operand(1, DType::Bool) + ")";
    default: break;
    }
    if (is_comparison(expr.op)) {
        if (is_coordinate(*expr.args[0]) && is_coordinate(*expr.args[1])) {
            return format("(int32_t({0}){1}int32_t({2}))", write(*expr.args[0]), infix(expr.op), write(*expr.args[1]));
        }
        const DType as = common();
        return "(" + operand(0, as) + std::string(infix(expr.op)) + operand(1, as) + ")";
    }
    if (!infix(expr.op).empty()) {
        return "(" + operand(0, expr.type) + std::string(infix(expr.op)) + operand(1, expr.type) + ")";
    }
    SSPC_CHECK(!function(expr.op).empty(), "an operation has no text");
    std::string text = std::string(function(expr.op)) + "(";
    for (size_t i = 0; i < expr.args.size(); ++i) {
        const bool literal = expr.args[i]->op == ExprOp::Constant && !is_float(expr.type); // an `int`, which templates tell apart
        text += (i > 0 ? ", " : "") + (literal ? type + "(" + operand(i, expr.type) + ")" : operand(i, expr.type));
    }
    return text + ")";
}

std::optional<std::pair<int64_t, int64_t>> range_of(const ExprPtr& expr, const IdVector<AxisId, Axis>& axes) {
    const auto both = [&](auto combine) -> std::optional<std::pair<int64_t, int64_t>> {
        const auto a = range_of(expr->args[0], axes);
        const auto b = range_of(expr->args[1], axes);
        if (!a || !b) {
            return std::nullopt;
        }
        return combine(*a, *b);
    };
    using Range = std::pair<int64_t, int64_t>;
    switch (expr->op) {
    case ExprOp::Constant:
        return Range{static_cast<int64_t>(expr->number), static_cast<int64_t>(expr->number)};
    case ExprOp::Iota: return Range{0, axes[expr->axis].size - 1};
    case ExprOp::Cast:
        return is_float(expr->type) ? std::nullopt : range_of(expr->args[0], axes);
    case ExprOp::Add:
        return both([](Range a, Range b) { return Range{a.first + b.first, a.second + b.second}; });
    case ExprOp::Sub:
        return both([](Range a, Range b) { return Range{a.first - b.second, a.second - b.first}; });
    case ExprOp::Min:
        return both([](Range a, Range b) { return Range{std::min(a.first, b.first), std::min(a.second, b.second)}; });
    case ExprOp::Max:
        return both([](Range a, Range b) { return Range{std::max(a.first, b.first), std::max(a.second, b.second)}; });
    case ExprOp::Mul:
        return both([](Range a, Range b) {
            const auto [low, high] = std::minmax({a.first * b.first, a.first * b.second, a.second * b.first,
                                                  a.second * b.second});
            return Range{low, high};
        });
    case ExprOp::FloorDiv:
    case ExprOp::Mod: {
        const auto a = range_of(expr->args[0], axes);
        const Expr& by = *expr->args[1];
        if (!a || by.op != ExprOp::Constant || by.number < 1) {
            return std::nullopt;
        }
        const auto divisor = static_cast<int64_t>(by.number);
        if (expr->op == ExprOp::Mod) {
            return Range{0, divisor - 1};
        }
        const auto floor_div = [&](int64_t x) { return x >= 0 ? x / divisor : -((-x + divisor - 1) / divisor); };
        return Range{floor_div(a->first), floor_div(a->second)};
    }
    default: return std::nullopt;
    }
}

} // namespace sspc::backend
