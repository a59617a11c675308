// Which forward values a plan's `recompute` statements drop after forward and compute again in backward.
#include "ir/passes/recompute.h"

namespace sspc {
namespace {

struct Unit {
    std::string name; ///< empty: not recomputed
    bool block = false;
};

/// The unit of a statement: the outermost of its blocks that a selector names, else the block around it.
Unit unit_of(const Statement& statement, const std::vector<Selector>& selectors) {
    for (const Selector& selector : selectors) {
        if (!matches(selector, statement.path))
            continue;
        std::string path;
        for (const std::string& block : statement.blocks) {
            path += (path.empty() ? "" : ".") + block;
            if (matches(selector, path))
                return {path, true};
        }
        return {path + ".", false};
    }
    return {};
}

} // namespace

Recomputed::Recomputed(const Graph& graph, const Plan& plan) : saved_(graph.tensors.size(), true) {
    std::vector<Selector> selectors;
    for (const PlanStatement& statement : plan.statements)
        if (const auto* recompute = std::get_if<plan::Recompute>(&statement))
            selectors.insert(selectors.end(), recompute->tasks.begin(), recompute->tasks.end());
    if (selectors.empty())
        return;
    IdVector<TensorId, Unit> made_in(graph.tensors.size());
    for (const Statement& statement : graph.statements) {
        if (statement.phase != Phase::Forward)
            continue;
        const Unit unit = unit_of(statement, selectors);
        made_in[statement.out] = unit;
        if (!unit.name.empty())
            saved_[statement.out] = false;
        for (TensorId operand : statement.operands) {
            const Unit& from = made_in[operand];
            const bool enters_unit = !unit.name.empty() && unit.name != from.name;
            const bool leaves_block = from.block && unit.name != from.name;
            if (enters_unit || leaves_block)
                saved_[operand] = true;
        }
    }
}

} // namespace sspc
