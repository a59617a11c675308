// Compares a compute's expression with the graph statement's, and looks at how it depends on partial operands.
#include "ir/check/expr_match.h"

#include "ir/support/format.h"

#include <bit>

namespace sspc::check {

namespace {

std::string path_of(const Graph& graph, TensorId id) {
    return graph.tensors.contains(id) ? graph.tensors[id].path : "nothing";
}

} // namespace

std::string difference(const Graph& graph, const ExprPtr& wanted, const SlotTensor& wanted_slot, const ExprPtr& found,
                       const SlotTensor& found_slot) {
    if (!wanted || !found) {
        return wanted || found ? "one of the expressions is missing" : "";
    }
    if (wanted == found && wanted->args.empty() && wanted->op != ExprOp::Access) {
        return "";
    }
    if (wanted->op != found->op) {
        return format("it has `{0}` in place of `{1}`", name_of(found->op), name_of(wanted->op));
    }
    if (wanted->type != found->type) {
        return format("`{0}` has type {1} in place of {2}", name_of(found->op), name_of(found->type), name_of(wanted->type));
    }
    if (wanted->args.size() != found->args.size()) {
        return format("`{0}` has {1} operands in place of {2}", name_of(found->op), found->args.size(), wanted->args.size());
    }
    switch (wanted->op) {
    case ExprOp::Constant:
        if (std::bit_cast<uint64_t>(wanted->number) != std::bit_cast<uint64_t>(found->number)) {
            return format("the constant is {0} in place of {1}", found->number, wanted->number);
        }
        break;
    case ExprOp::Iota:
        if (wanted->axis != found->axis) {
            return format("it indexes by `{0}` in place of `{1}`", graph.axes[found->axis].name, graph.axes[wanted->axis].name);
        }
        break;
    case ExprOp::Random:
        if (wanted->draw != found->draw || wanted->path != found->path ||
            std::bit_cast<uint64_t>(wanted->number) != std::bit_cast<uint64_t>(found->number)) {
            return "it draws other random numbers";
        }
        break;
    case ExprOp::Access: {
        const TensorId a = wanted_slot(wanted->slot);
        const TensorId b = found_slot(found->slot);
        if (a != b) {
            return format("it reads `{0}` in place of `{1}`", path_of(graph, b), path_of(graph, a));
        }
        break;
    }
    default:
        break;
    }
    for (size_t i = 0; i < wanted->args.size(); ++i) {
        const std::string inner = difference(graph, wanted->args[i], wanted_slot, found->args[i], found_slot);
        if (!inner.empty()) {
            return inner;
        }
    }
    return difference(graph, wanted->otherwise, wanted_slot, found->otherwise, found_slot);
}

std::vector<ExprPtr> terms_of(const ExprPtr& expr) {
    if (!expr || expr->op != ExprOp::Add || expr->args.size() != 2) {
        return {expr};
    }
    std::vector<ExprPtr> terms = terms_of(expr->args[0]);
    const std::vector<ExprPtr> more = terms_of(expr->args[1]);
    terms.insert(terms.end(), more.begin(), more.end());
    return terms;
}

Linear linear_in(const ExprPtr& expr, const std::function<bool(int)>& is_term) {
    if (!expr) {
        return Linear::Free;
    }
    std::vector<Linear> args;
    bool all_free = true;
    for (const ExprPtr& arg : expr->args) {
        args.push_back(linear_in(arg, is_term));
        all_free = all_free && args.back() == Linear::Free;
    }
    const auto is_zero = [](const ExprPtr& e) { return e && e->op == ExprOp::Constant && e->number == 0; };
    switch (expr->op) {
    case ExprOp::Access: {
        const Linear otherwise = linear_in(expr->otherwise, is_term);
        if (!is_term(expr->slot)) {
            return all_free && otherwise == Linear::Free ? Linear::Free : Linear::Other;
        }
        // A value that stands in for an index outside would count once for each term, unless it is 0.
        return all_free && (!expr->otherwise || is_zero(expr->otherwise)) ? Linear::Linear : Linear::Other;
    }
    case ExprOp::Add:
    case ExprOp::Sub:
        if (args[0] == Linear::Linear && args[1] == Linear::Linear) {
            return Linear::Linear;
        }
        if (args[0] == Linear::Linear && is_zero(expr->args[1])) {
            return Linear::Linear;
        }
        if (args[1] == Linear::Linear && is_zero(expr->args[0])) {
            return Linear::Linear;
        }
        break;
    case ExprOp::Neg:
    case ExprOp::StopGradient:
        return args[0];
    case ExprOp::Cast:
        if (args[0] == Linear::Linear && is_float(expr->type) && is_float(expr->args[0]->type)) {
            return Linear::Linear;
        }
        break;
    case ExprOp::Mul:
        if ((args[0] == Linear::Linear && args[1] == Linear::Free) || (args[0] == Linear::Free && args[1] == Linear::Linear)) {
            return Linear::Linear;
        }
        break;
    case ExprOp::Div:
        if (args[0] == Linear::Linear && args[1] == Linear::Free) {
            return Linear::Linear;
        }
        break;
    case ExprOp::Where: {
        const auto is_linear = [&](size_t i) { return args[i] == Linear::Linear || is_zero(expr->args[i]); };
        if (args[0] == Linear::Free && !all_free && is_linear(1) && is_linear(2)) {
            return Linear::Linear;
        }
        break;
    }
    default:
        break;
    }
    return all_free ? Linear::Free : Linear::Other;
}

} // namespace sspc::check
