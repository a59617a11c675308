// The graph: a model as index statements `out[I] = reduce[J] body(operands)` over named axes, in an order that can be executed.
//
// Static single assignment: each tensor is produced by at most one statement. Inputs, parameters and optimizer states have no
// producer; `Graph::updates` says which tensor a parameter or state becomes at the end of a step.
//
// Invariants (verify() reports the first that fails):
//  - operands of a statement are produced by earlier statements, or have no producer;
//  - a statement's iteration space is its output axes (those not scattered) plus `reduced`; body uses no other axis;
//  - an index that is not a plain Iota (a gather, slice, pick, split or merge) occurs only in statements whose body is that single
//    access (optionally cast); reductions stand alone: body is elementwise over plain accesses;
//  - within one access, the plain indices are distinct axes.
#pragma once

#include "ir/graph/expr.h"

#include <optional>
#include <string>
#include <vector>

namespace sspc {

struct TensorTag;
using TensorId = Id<TensorTag>;
struct StatementTag;
using StatementId = Id<StatementTag>;

enum class Phase { Forward, Backward, Update };
enum class Reduce { None, Sum, Max, Min, Prod };
enum class TensorKind {
    Input,     ///< fed anew each step
    Parameter, ///< trained, stored in checkpoints
    State,     ///< of an optimizer, stored in checkpoints
    Value,     ///< produced by a statement
};

/// How a parameter or state begins. Draws are keyed by the tensor's path and global coordinates.
struct Init {
    enum class Kind { Zeros, Ones, Constant, Normal, Uniform, TruncatedNormal };
    Kind kind = Kind::Zeros;
    double a = 0; ///< Constant: the value. Normal: the mean. Uniform: the lower bound
    double b = 0; ///< Normal: the standard deviation. Uniform: the upper bound
};

struct Tensor {
    /// Dotted path. Parameters: `layer.3.attn.wq`. States: the parameter's path, then the state's name. Values: the task's path,
    /// or `grad …` for gradients. Inputs: the name. Unique in the graph.
    std::string path;
    std::vector<AxisId> axes; ///< in declared (memory) order
    DType dtype = DType::F32;
    TensorKind kind = TensorKind::Value;
    Init init;
    TensorId parameter; ///< of a State, and of a gradient of a parameter: the parameter it belongs to
    Span span;
};

struct Statement {
    std::string path; ///< task path, `layer[3].attn.q.sum`; backward: the forward task's path (see `backward_of`)
    Phase phase = Phase::Forward;
    TensorId out;
    std::vector<TensorId> operands; ///< Access::slot indexes this
    Reduce reduce = Reduce::None;
    std::vector<AxisId> reduced;
    ExprPtr body;
    /// Empty, or one index expression for each output axis: `out[scatter(point)] += body(point)` over the iteration space; the output is 0 where
    /// nothing is added, and what would land outside the output is dropped. reduce is Sum; `reduced` are the axes of the iteration space that
    /// are no plain output axis.
    std::vector<ExprPtr> scatter;
    /// Backward only: the forward statement whose cut this one follows, and a name for printing ("grad of which operand").
    StatementId backward_of;
    /// Backward only: this statement only adds gradient terms of one value (`backward_of` produces that value).
    bool sums_gradients = false;
    /// Update only: the parameter whose update this belongs to (its layout follows the parameter's), invalid for the global norm.
    TensorId update_of;
    /// The blocks around it: `{"layer", 3}, {"attn", none}`; used for placement on stages. Backward and update statements carry their forward's.
    std::vector<std::string> blocks; ///< path components, `layer[3]`, `attn`
    Span span;
};

struct Graph {
    std::string model;
    IdVector<AxisId, Axis> axes;
    IdVector<TensorId, Tensor> tensors;
    IdVector<StatementId, Statement> statements; ///< in executable order

    std::vector<TensorId> outputs;  ///< `output e;`
    TensorId loss;                  ///< scalar; invalid if the model is not trained
    TensorId grad_norm;             ///< scalar, the norm of all gradients before clipping; invalid without `minimize`
    AxisId rows;                    ///< the axis that `feed … rows` names; invalid if none

    /// Before differentiation: for each trained parameter the tensor that stands for its gradient (no producer yet; update
    /// statements read it). `differentiate` makes the statements that produce it. Same order as the parameters.
    struct Gradient {
        TensorId parameter;
        TensorId gradient;
    };
    std::vector<Gradient> gradients;

    /// At the end of a step `target` (a parameter or state) takes the value of `value`.
    struct Update {
        TensorId target;
        TensorId value;
    };
    std::vector<Update> updates;
};

/// The statement that produces `tensor`, for each tensor; invalid where none does.
IdVector<TensorId, StatementId> producers(const Graph& graph);
/// The iteration axes of a statement: plain output axes, then reduced ones.
std::vector<AxisId> iteration_axes(const Graph& graph, const Statement& statement);
/// Bytes of the whole tensor.
int64_t byte_size(const Graph& graph, const Tensor& tensor);
int64_t element_count(const Graph& graph, const std::vector<AxisId>& axes);

/// `layer[0].attn.q.sum[batch, seq, heads, hd] = sum[hidden] layer[0].attn.ln * layer.0.attn.wq`
std::string print_statement(const Graph& graph, const Statement& statement);
std::string print_graph(const Graph& graph);
/// The first broken invariant in words, or nothing.
std::optional<std::string> verify(const Graph& graph);

/// True if every index of the access is an Iota of a distinct axis.
bool is_plain(const Expr& access);
/// The statement is a sum of constant multiples of plain accesses (so partial sums may pass through it).
bool is_linear(const Statement& statement);

} // namespace sspc
