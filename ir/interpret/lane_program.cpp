// Numbers the nodes of expressions.
#include "ir/interpret/lane_program.h"

#include <unordered_map>

namespace sspc {
namespace {

struct Compiler {
    LaneProgram program;
    std::unordered_map<const Expr*, int> places;

    int add(const ExprPtr& expr) {
        if (const auto it = places.find(expr.get()); it != places.end()) {
            return it->second;
        }
        auto& operations = program.operations;
        for (size_t i = 0; i < operations.size(); ++i) {
            if (equal(operations[i].node, expr)) {
                return places[expr.get()] = static_cast<int>(i);
            }
        }
        LaneProgram::Operation operation{expr, {}};
        operation.plain = expr->op == ExprOp::Access && !expr->otherwise;
        for (const ExprPtr& arg : expr->args) {
            operation.plain = operation.plain && arg->op == ExprOp::Iota;
        }
        if (!operation.plain) {
            for (const ExprPtr& arg : expr->args) {
                operation.args.push_back(add(arg));
            }
        }
        if (expr->otherwise) {
            operation.otherwise = add(expr->otherwise);
        }
        operations.push_back(std::move(operation));
        return places[expr.get()] = static_cast<int>(operations.size()) - 1;
    }
};

} // namespace

LaneProgram compile_lanes(const std::vector<ExprPtr>& expressions) {
    Compiler compiler;
    for (const ExprPtr& expr : expressions) {
        const int place = compiler.add(expr);
        compiler.program.results.push_back(place);
    }
    return std::move(compiler.program);
}

} // namespace sspc
