// Scalar expressions: the body of an index statement, and the integer expressions that index tensors.
//
// An expression is an immutable tree. It is evaluated at one point of the statement's iteration space (a value for each axis).
#pragma once

#include "ir/graph/axis.h"
#include "ir/graph/dtype.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sspc {

enum class ExprOp {
    // leaves
    Constant, ///< `number`
    Iota,     ///< the coordinate along `axis`, an integer
    Step,     ///< the training step, counted from 1 (an integer)
    Access,   ///< an operand of the statement at the index expressions in `args`
    Random,   ///< a draw (`draw`); the position is given by `args`, see Philox in docs/language.md
    // unary
    Neg, Not, Exp, Log, Sqrt, Rsqrt, Tanh, Sigmoid, Erf, Sin, Cos, Abs, Sign, Floor, Ceil, Round, IsNan,
    Cast,         ///< to `type`
    StopGradient, ///< the argument itself; `differentiate` passes no gradient through it
    // binary
    Add, Sub, Mul, Div, Mod, Pow, Min, Max,
    FloorDiv, ///< of integers (index arithmetic)
    Eq, Ne, Lt, Le, Gt, Ge, And, Or,
    // ternary
    Where, ///< args: condition, value where true, value where false
};

enum class DrawKind { Uniform, Normal, Bernoulli };

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

struct Expr {
    ExprOp op;
    DType type = DType::F32;
    std::vector<ExprPtr> args;

    double number = 0; ///< Constant; booleans are 0 and 1. For Bernoulli draws: the probability of 1
    AxisId axis;       ///< Iota
    int slot = -1;     ///< Access: index into the statement's operands

    /// Access only: the value where an index lies outside its axis (`t[h = e else 0]`); null: such an index is a run-time error.
    ExprPtr otherwise;

    /// Random only. The draw depends on seed, step, `path` and the logical linear index of the coordinates in `args` (row-major,
    /// `args[i]` an Iota of one axis each), never on the plan.
    DrawKind draw = DrawKind::Uniform;
    std::string path;
};

ExprPtr constant(double value, DType type);
ExprPtr iota(AxisId axis);
ExprPtr step_number();
ExprPtr access(int slot, DType type, std::vector<ExprPtr> index, ExprPtr otherwise = nullptr);
/// An access whose index is one Iota for each axis in `axes`.
ExprPtr access(int slot, DType type, const std::vector<AxisId>& axes);
/// Builds an operation; folds constants and drops neutral elements (x+0, x*1, x*0 for constants 0, --x), so that derived
/// gradients stay short. The type follows the language's rules: comparisons give Bool, the others the type of their float operand.
ExprPtr make(ExprOp op, std::vector<ExprPtr> args);
ExprPtr cast(ExprPtr value, DType type);
ExprPtr random_draw(DrawKind kind, double parameter, std::string path, const std::vector<AxisId>& axes);

inline ExprPtr operator+(ExprPtr a, ExprPtr b) { return make(ExprOp::Add, {std::move(a), std::move(b)}); }
inline ExprPtr operator-(ExprPtr a, ExprPtr b) { return make(ExprOp::Sub, {std::move(a), std::move(b)}); }
inline ExprPtr operator*(ExprPtr a, ExprPtr b) { return make(ExprOp::Mul, {std::move(a), std::move(b)}); }
inline ExprPtr operator/(ExprPtr a, ExprPtr b) { return make(ExprOp::Div, {std::move(a), std::move(b)}); }

bool is_constant(const ExprPtr& expr, double value);
/// Same tree (same operations, constants, axes, slots).
bool equal(const ExprPtr& a, const ExprPtr& b);
/// Calls `visit` for each node, operands before users, index expressions and `otherwise` included.
void for_each(const ExprPtr& expr, const std::function<void(const Expr&)>& visit);
/// Rebuilds the tree bottom-up through `make`; `change` returns a replacement for a (rebuilt) node, or null to keep it.
ExprPtr rewrite(const ExprPtr& expr, const std::function<ExprPtr(const ExprPtr&)>& change);
/// Replaces Iota of the keys by the values.
ExprPtr substitute_axes(const ExprPtr& expr, const std::vector<std::pair<AxisId, ExprPtr>>& map);
/// The axes whose Iota occurs anywhere in the tree, each once, in order of first appearance.
std::vector<AxisId> axes_of(const ExprPtr& expr);
/// Readable text; `axis_name(AxisId)` and `operand_name(slot)` give the words. Constants round-trip. Fully parenthesised only
/// where precedence asks. Accesses print as `name[heads, seq as kv…]`: see print_statement for the form.
std::string to_text(const ExprPtr& expr, const std::function<std::string(AxisId)>& axis_name,
                    const std::function<std::string(int)>& operand_name);
std::string_view name_of(ExprOp op);

} // namespace sspc
