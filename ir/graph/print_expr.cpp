// Prints expressions as the language spells them.
#include "ir/graph/print_expr.h"

#include "ir/support/check.h"
#include "ir/support/format.h"

#include <cmath>

namespace sspc {
namespace {

/// Binding strength, loosest first (language.md section 1).
enum Level { Loosest, Or, And, Comparison, Sum, Product, Prefix, Power, Primary };

struct Infix {
    std::string_view sign;
    Level level;
};

Infix infix_of(ExprOp op) {
    switch (op) {
    case ExprOp::Add: return {" + ", Sum};
    case ExprOp::Sub: return {" - ", Sum};
    case ExprOp::Mul: return {" * ", Product};
    case ExprOp::Div: return {" / ", Product};
    case ExprOp::Mod: return {" % ", Product};
    case ExprOp::Pow: return {" ^ ", Power};
    case ExprOp::Eq: return {" == ", Comparison};
    case ExprOp::Ne: return {" != ", Comparison};
    case ExprOp::Lt: return {" < ", Comparison};
    case ExprOp::Le: return {" <= ", Comparison};
    case ExprOp::Gt: return {" > ", Comparison};
    case ExprOp::Ge: return {" >= ", Comparison};
    case ExprOp::And: return {" and ", And};
    case ExprOp::Or: return {" or ", Or};
    default: return {"", Primary};
    }
}

struct Text {
    std::string text;
    Level level = Primary;
};

std::string number_text(const Expr& expr) {
    if (expr.type == DType::Bool) {
        return expr.number != 0 ? "true" : "false";
    }
    const double x = expr.number;
    return std::isnan(x) ? "nan" : std::isinf(x) ? (x < 0 ? "-inf" : "inf") : to_text(x);
}

struct Printer {
    const ExprWords& words;

    std::string at(const ExprPtr& expr, Level least) const {
        const Text text = print(*expr);
        return text.level < least ? "(" + text.text + ")" : text.text;
    }

    std::string list(const std::vector<ExprPtr>& args) const {
        std::string text;
        for (const ExprPtr& arg : args) {
            text += (text.empty() ? "" : ", ") + at(arg, Loosest);
        }
        return text;
    }

    std::string axis_list(const std::vector<ExprPtr>& args) const {
        std::string text;
        for (const ExprPtr& arg : args) {
            text += (text.empty() ? "" : ", ") +
                    (arg->op == ExprOp::Iota ? words.axis(arg->axis) : at(arg, Loosest));
        }
        return "[" + text + "]";
    }

    std::string index_entry(const ExprPtr& index, AxisId own) const {
        if (index->op != ExprOp::Iota) {
            return words.axis(own) + " = " + at(index, Loosest);
        }
        return index->axis == own ? words.axis(own)
                                  : words.axis(own) + " as " + words.axis(index->axis);
    }

    std::string access(const Expr& expr) const {
        const std::string name = words.operand(expr.slot);
        if (!words.operand_axes) {
            const std::string entries = axis_list(expr.args);
            return name + (expr.otherwise ? entries.substr(0, entries.size() - 1) + " else " +
                                                at(expr.otherwise, Loosest) + "]"
                                          : entries);
        }
        const std::vector<AxisId> axes = words.operand_axes(expr.slot);
        bool bare = !expr.otherwise;
        std::string text;
        for (size_t i = 0; i < expr.args.size(); ++i) {
            const AxisId own = i < axes.size() ? axes[i] : AxisId();
            bare = bare && expr.args[i]->op == ExprOp::Iota && expr.args[i]->axis == own;
            text += (i ? ", " : "") + index_entry(expr.args[i], own);
        }
        if (bare) {
            return name;
        }
        return name + "[" + text +
               (expr.otherwise ? " else " + at(expr.otherwise, Loosest) : std::string()) + "]";
    }

    std::string draw(const Expr& expr) const {
        switch (expr.draw) {
        case DrawKind::Uniform: return "uniform" + axis_list(expr.args);
        case DrawKind::Normal: return "normal" + axis_list(expr.args);
        case DrawKind::Bernoulli:
            return "bernoulli(" + to_text(expr.number) + ")" + axis_list(expr.args);
        }
        SSPC_UNREACHABLE("a draw without a name");
    }

    Text print(const Expr& expr) const {
        switch (expr.op) {
        case ExprOp::Constant: {
            const std::string text = number_text(expr);
            return {text, text[0] == '-' ? Prefix : Primary};
        }
        case ExprOp::Iota: return {"iota(" + words.axis(expr.axis) + ")"};
        case ExprOp::Step: return {"step"};
        case ExprOp::Access: return {access(expr)};
        case ExprOp::Random: return {draw(expr)};
        case ExprOp::Neg: return {"-" + at(expr.args[0], Prefix), Prefix};
        case ExprOp::Not: return {"not " + at(expr.args[0], Prefix), Prefix};
        case ExprOp::Cast:
            return {std::string(name_of(expr.type)) + "(" + list(expr.args) + ")"};
        default: break;
        }
        const Infix infix = infix_of(expr.op);
        if (infix.sign.empty()) {
            return {std::string(name_of(expr.op)) + "(" + list(expr.args) + ")"};
        }
        const auto tighter = static_cast<Level>(infix.level + 1);
        const bool to_the_right = expr.op == ExprOp::Pow;
        const bool chains = infix.level != Comparison;
        return {at(expr.args[0], to_the_right || !chains ? tighter : infix.level) +
                    std::string(infix.sign) +
                    at(expr.args[1], to_the_right ? infix.level : tighter),
                infix.level};
    }
};

} // namespace

std::string print_expr(const ExprPtr& expr, const ExprWords& words) {
    return Printer{words}.print(*expr).text;
}

std::string to_text(const ExprPtr& expr, const std::function<std::string(AxisId)>& axis_name,
                    const std::function<std::string(int)>& operand_name) {
    return print_expr(expr, {axis_name, operand_name, {}});
}

} // namespace sspc
