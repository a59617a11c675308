// Words for values, and the type of literals.
#include "frontend/elaborate/value.h"

#include "ir/support/format.h"
#include "ir/support/match.h"

#include <unordered_map>

namespace sspc::elaboration {

std::string describe(const Constant& constant) {
    return std::visit(Match{[](int64_t v) { return format("the integer {0}", v); },
                            [](double v) { return format("the number {0}", v); },
                            [](bool v) { return std::string(v ? "`true`" : "`false`"); },
                            [](const std::string& v) { return format("the string \"{0}\"", v); }},
                      constant.value);
}

std::optional<double> number_of(const Constant& constant) {
    if (const auto* i = std::get_if<int64_t>(&constant.value)) {
        return static_cast<double>(*i);
    }
    if (const auto* d = std::get_if<double>(&constant.value)) {
        return *d;
    }
    return std::nullopt;
}

namespace {

/// Literals are F64, coordinates and whole literals I64 until they meet an operand; truth values stay.
ExprPtr convert(const ExprPtr& expr, DType type, std::unordered_map<const Expr*, ExprPtr>& done) {
    if (expr->type == type || expr->type == DType::Bool) {
        return expr;
    }
    if (const auto it = done.find(expr.get()); it != done.end()) {
        return it->second;
    }
    ExprPtr out;
    if (expr->op == ExprOp::Constant) {
        out = constant(expr->number, type);
    } else if (is_integer(expr->type)) {
        out = cast(expr, type);
    } else if (expr->op == ExprOp::Cast) {
        out = cast(expr->args[0], type);
    } else {
        std::vector<ExprPtr> args;
        for (const ExprPtr& arg : expr->args) {
            args.push_back(convert(arg, type, done));
        }
        out = make(expr->op, std::move(args));
    }
    done.emplace(expr.get(), out);
    return out;
}

} // namespace

ExprPtr with_type(const ExprPtr& expr, DType type) {
    std::unordered_map<const Expr*, ExprPtr> done;
    return convert(expr, type, done);
}

size_t count_nodes(const ExprPtr& expr) {
    size_t count = 0;
    for_each(expr, [&](const Expr&) { ++count; });
    return count;
}

} // namespace sspc::elaboration
