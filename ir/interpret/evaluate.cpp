// Evaluates a scalar expression at one point of an iteration space, in double.
#include "ir/interpret/evaluate.h"

#include "ir/interpret/philox.h"
#include "ir/support/check.h"

#include <cmath>

namespace sspc {

double apply(ExprOp op, DType type, double a, double b, double c) {
    switch (op) {
    case ExprOp::Neg: return -a;
    case ExprOp::Not: return a == 0;
    case ExprOp::Exp: return std::exp(a);
    case ExprOp::Log: return std::log(a);
    case ExprOp::Sqrt: return std::sqrt(a);
    case ExprOp::Rsqrt: return 1 / std::sqrt(a);
    case ExprOp::Tanh: return std::tanh(a);
    case ExprOp::Sigmoid: return 1 / (1 + std::exp(-a));
    case ExprOp::Erf: return std::erf(a);
    case ExprOp::Sin: return std::sin(a);
    case ExprOp::Cos: return std::cos(a);
    case ExprOp::Abs: return std::abs(a);
    case ExprOp::Sign: return (a > 0) - (a < 0);
    case ExprOp::Floor: return std::floor(a);
    case ExprOp::Ceil: return std::ceil(a);
    case ExprOp::Round: return std::nearbyint(a);
    case ExprOp::IsNan: return std::isnan(a);
    case ExprOp::StopGradient: return a;
    case ExprOp::Cast:
        if (type == DType::Bool)
            return a != 0;
        return is_integer(type) ? std::trunc(a) : a;
    case ExprOp::Add: return a + b;
    case ExprOp::Sub: return a - b;
    case ExprOp::Mul: return a * b;
    case ExprOp::Div: return a / b;
    case ExprOp::Mod: return a - b * std::floor(a / b);
    case ExprOp::FloorDiv: return std::floor(a / b);
    case ExprOp::Pow: return std::pow(a, b);
    case ExprOp::Min: return std::isnan(a) || a < b ? a : b;
    case ExprOp::Max: return std::isnan(a) || a > b ? a : b;
    case ExprOp::Eq: return a == b;
    case ExprOp::Ne: return a != b;
    case ExprOp::Lt: return a < b;
    case ExprOp::Le: return a <= b;
    case ExprOp::Gt: return a > b;
    case ExprOp::Ge: return a >= b;
    case ExprOp::And: return a != 0 && b != 0;
    case ExprOp::Or: return a != 0 || b != 0;
    case ExprOp::Where: return a != 0 ? b : c;
    case ExprOp::Constant:
    case ExprOp::Iota:
    case ExprOp::Step:
    case ExprOp::Access:
    case ExprOp::Random: break;
    }
    SSPC_UNREACHABLE("an operation without a value");
}

double evaluate(const Expr& expr, const EvaluationPoint& point) {
    switch (expr.op) {
    case ExprOp::Constant: return expr.number;
    case ExprOp::Iota: return static_cast<double>(point.coordinates[expr.axis.value]);
    case ExprOp::Step: return static_cast<double>(point.step);
    case ExprOp::Access: {
        const std::vector<int64_t>& sizes = point.operand_sizes(expr.slot);
        std::vector<int64_t> index(expr.args.size());
        for (size_t i = 0; i < index.size(); ++i) {
            index[i] = static_cast<int64_t>(evaluate(*expr.args[i], point));
            if (index[i] >= 0 && index[i] < sizes[i])
                continue;
            if (expr.otherwise)
                return evaluate(*expr.otherwise, point);
            throw IndexOutOfRange("index " + std::to_string(index[i]) + " of an axis of size " + std::to_string(sizes[i]));
        }
        return point.read(expr.slot, index);
    }
    case ExprOp::Random: {
        uint64_t position = 0;
        for (const ExprPtr& arg : expr.args)
            position = position * static_cast<uint64_t>((*point.sizes)[arg->axis.value]) +
                       static_cast<uint64_t>(evaluate(*arg, point));
        return draw(expr, point.seed, point.step, position);
    }
    case ExprOp::Where: // only the chosen side is looked at: the other may index outside
        return evaluate(*expr.args[0], point) != 0 ? evaluate(*expr.args[1], point) : evaluate(*expr.args[2], point);
    default: break;
    }
    double values[2] = {0, 0};
    for (size_t i = 0; i < expr.args.size() && i < 2; ++i)
        values[i] = evaluate(*expr.args[i], point);
    return apply(expr.op, expr.type, values[0], values[1]);
}

} // namespace sspc
