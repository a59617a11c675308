// Walks the forward statements backwards and makes the terms of each operand's gradient.
#include "ir/passes/differentiate.h"

#include "ir/passes/adjoint.h"
#include "ir/passes/gradient_terms.h"
#include "ir/passes/inverse_access.h"
#include "ir/support/check.h"

#include <algorithm>

namespace sspc {
namespace {

bool contains(const std::vector<AxisId>& axes, AxisId axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

std::vector<AxisId> without(const std::vector<AxisId>& axes, const std::vector<AxisId>& dropped) {
    std::vector<AxisId> rest;
    for (const AxisId axis : axes) {
        if (!contains(dropped, axis)) {
            rest.push_back(axis);
        }
    }
    return rest;
}

std::vector<AxisId> plain_axes(const Expr& access) {
    std::vector<AxisId> axes;
    for (const ExprPtr& index : access.args) {
        axes.push_back(index->axis);
    }
    return axes;
}

bool is_zero(const ExprPtr& expr) {
    return is_constant(expr, 0);
}

/// A value that is read or scaled costs nothing to compute again.
bool is_cheap(const ExprPtr& expr) {
    switch (expr->op) {
    case ExprOp::Access:
    case ExprOp::Constant: return true;
    case ExprOp::Neg:
    case ExprOp::Cast: return is_cheap(expr->args[0]);
    case ExprOp::Mul:
    case ExprOp::Div: return is_cheap(expr->args[0]) && expr->args[1]->op == ExprOp::Constant;
    default: return false;
    }
}

/// More than products and sums: worth a tensor of its own if it is needed twice.
bool is_heavy(const ExprPtr& expr) {
    bool heavy = false;
    for_each(expr, [&](const Expr& node) {
        heavy = heavy || (node.op >= ExprOp::Exp && node.op <= ExprOp::Cos) ||
                node.op == ExprOp::Pow || node.op == ExprOp::Div;
    });
    return heavy;
}

/// Whether `access` occurs in the expression outside every `stop_gradient`.
bool passes_gradient(const Expr& expr, const Expr& access) {
    if (&expr == &access) {
        return true;
    }
    return expr.op != ExprOp::StopGradient &&
           std::any_of(expr.args.begin(), expr.args.end(),
                       [&](const ExprPtr& arg) { return passes_gradient(*arg, access); });
}

bool occurs_in(const ExprPtr& part, const ExprPtr& expr) {
    if (equal(part, expr)) {
        return true;
    }
    return std::any_of(expr->args.begin(), expr->args.end(),
                       [&](const ExprPtr& arg) { return occurs_in(part, arg); });
}

ExprPtr replaced(const ExprPtr& expr, const ExprPtr& part, const ExprPtr& by) {
    return rewrite(expr, [&](const ExprPtr& node) { return equal(node, part) ? by : nullptr; });
}

ExprPtr where(ExprPtr condition, ExprPtr yes, ExprPtr no) {
    return make(ExprOp::Where, {std::move(condition), std::move(yes), std::move(no)});
}

class Differentiator {
public:
    Differentiator(Graph graph, Sink& sink)
        : graph_(std::move(graph)), sink_(sink), terms_(graph_) {}

    std::optional<Graph> run() {
        const size_t errors = sink_.error_count();
        const std::vector<Statement> updates = take_updates();
        find_needed();
        terms_.add(graph_.loss, {{}, 1.0});
        for (int i = static_cast<int>(graph_.statements.size()); i-- > 0;) {
            const StatementId id(i);
            derive(id);
            for (const Graph::Gradient& gradient : graph_.gradients) {
                if (first_consumer_[gradient.parameter] == id) {
                    finish(gradient);
                }
            }
        }
        for (const Graph::Gradient& gradient : graph_.gradients) {
            if (!first_consumer_[gradient.parameter].valid()) {
                finish(gradient);
            }
        }
        for (Statement& statement : terms_.take_statements()) {
            graph_.statements.push_back(std::move(statement));
        }
        for (const Statement& statement : updates) {
            graph_.statements.push_back(statement);
        }
        if (sink_.error_count() > errors) {
            return std::nullopt;
        }
        if (const auto fault = verify(graph_)) {
            SSPC_UNREACHABLE("the differentiated graph is broken: " + *fault);
        }
        return std::move(graph_);
    }

private:
    /// Leaves the forward statements in the graph.
    std::vector<Statement> take_updates() {
        std::vector<Statement> updates;
        IdVector<StatementId, Statement> forward;
        for (Statement& statement : graph_.statements) {
            if (statement.phase == Phase::Forward) {
                forward.push_back(std::move(statement));
            } else {
                updates.push_back(std::move(statement));
            }
        }
        graph_.statements = std::move(forward);
        return updates;
    }

    void find_needed() {
        needed_.resize(graph_.tensors.size(), 0);
        first_consumer_.resize(graph_.tensors.size());
        for (const Graph::Gradient& gradient : graph_.gradients) {
            needed_[gradient.parameter] = 1;
        }
        for (const StatementId id : graph_.statements.ids()) {
            const Statement& statement = graph_.statements[id];
            for_each(statement.body, [&](const Expr& expr) {
                if (expr.op != ExprOp::Access || !is_float(expr.type)) {
                    return;
                }
                const TensorId operand = statement.operands[expr.slot];
                if (needed_[operand] && passes_gradient(*statement.body, expr) && is_float(graph_.tensors[statement.out].dtype)) {
                    needed_[statement.out] = 1;
                }
                if (!first_consumer_[operand].valid()) {
                    first_consumer_[operand] = id;
                }
            });
        }
    }

    void finish(const Graph::Gradient& gradient) {
        if (!terms_.finish_parameter(gradient, first_consumer_[gradient.parameter])) {
            const Tensor& parameter = graph_.tensors[gradient.parameter];
            sink_.report(diag::GradientIsZero, parameter.span, parameter.path);
        }
    }

    const Tensor& tensor(TensorId id) const { return graph_.tensors[id]; }
    bool needed(TensorId id) const {
        return static_cast<size_t>(id.value) < needed_.size() && needed_[id];
    }

    ExprPtr read(Operands& operands, TensorId id, const std::vector<AxisId>& at) {
        return access(operands.slot(id), tensor(id).dtype, at);
    }

    void derive(StatementId id) {
        const Statement statement = graph_.statements[id];
        if (!needed(statement.out) || !terms_.has_terms(statement.out)) {
            return;
        }
        const auto total = terms_.total_of_value(statement.out, id);
        if (!total) {
            return;
        }
        Operands operands(statement.operands);
        // Two slots of one tensor are one variable.
        const ExprPtr body = rewrite(statement.body, [&](const ExprPtr& node) -> ExprPtr {
            return node->op == ExprOp::Access
                       ? access(operands.slot(statement.operands[node->slot]), node->type,
                                node->args, node->otherwise)
                       : nullptr;
        });
        const Expr* top = body.get();
        while (top->op == ExprOp::Cast) {
            top = top->args[0].get();
        }
        if (top->op == ExprOp::Access && !is_whole_and_plain(*top, statement)) {
            derive_access(id, statement, *top, operands, *total);
            return;
        }
        derive_elementwise(id, statement, body, operands, *total);
    }

    bool is_whole_and_plain(const Expr& access, const Statement& statement) const {
        if (!is_plain(access) || access.otherwise) {
            return false;
        }
        const Tensor& operand = tensor(statement.operands[access.slot]);
        for (size_t i = 0; i < access.args.size(); ++i) {
            if (graph_.axes[access.args[i]->axis].size != graph_.axes[operand.axes[i]].size) {
                return false;
            }
        }
        return true;
    }

    // Gathers, slices, picks, splits and merges ------------------------------------------------------------------------------

    void derive_access(StatementId id, const Statement& statement, const Expr& expr,
                       Operands& operands, const GradientValue& total) {
        if (expr.otherwise) {
            for_each(expr.otherwise, [&](const Expr& node) {
                if (node.op == ExprOp::Access && needed(statement.operands[node.slot])) {
                    sink_.report(diag::NotImplemented, statement.span,
                                 "the gradient of the value after `else`");
                }
            });
        }
        const TensorId target = statement.operands[expr.slot];
        if (!needed(target) || !is_float(statement.body->type)) {
            return;
        }
        const Tensor of = tensor(target);
        const std::vector<AxisId> space = iteration_axes(graph_, statement);
        const auto inverse = statement.scatter.empty()
                                 ? invert_access(graph_, expr.args, of.axes, space)
                                 : std::nullopt;
        if (inverse && inverse->covers && inverse->picked.empty() && !total.tensor.valid()) {
            terms_.add(target, total);
            return;
        }
        if (inverse && (total.tensor.valid() || !inverse->picked.empty())) {
            terms_.add(target, {terms_.emit(id, of.axes, of.dtype,
                                            inverse_body(*inverse, of.dtype, operands, total),
                                            operands)});
            return;
        }
        scatter(id, statement, expr, operands, total);
    }

    ExprPtr inverse_body(const InverseAccess& inverse, DType dtype, Operands& operands,
                         const GradientValue& total) {
        ExprPtr body = constant(total.number, dtype);
        if (total.tensor.valid()) {
            const DType type = tensor(total.tensor).dtype;
            body = cast(access(operands.slot(total.tensor), type, inverse.index,
                               inverse.covers ? nullptr : constant(0, type)),
                        dtype);
        }
        for (const auto& [axis, coordinate] : inverse.picked) {
            const ExprPtr here = make(
                ExprOp::Eq, {iota(axis), constant(static_cast<double>(coordinate), DType::I64)});
            body = where(here, body, constant(0, dtype));
        }
        return body;
    }

    void scatter(StatementId id, const Statement& statement, const Expr& expr, Operands& operands,
                 const GradientValue& total) {
        const TensorId target = statement.operands[expr.slot];
        const Tensor of = tensor(target);
        const std::vector<AxisId> space = iteration_axes(graph_, statement);
        // Where an index is another name of the operand's axis, the operand's own name makes it a plain output axis.
        std::vector<std::pair<AxisId, ExprPtr>> names;
        std::vector<AxisId> renamed = space;
        for (size_t i = 0; i < expr.args.size(); ++i) {
            const ExprPtr& index = expr.args[i];
            if (index->op == ExprOp::Iota && !contains(renamed, of.axes[i]) &&
                graph_.axes[index->axis].size == graph_.axes[of.axes[i]].size) {
                std::replace(renamed.begin(), renamed.end(), index->axis, of.axes[i]);
                names.emplace_back(index->axis, iota(of.axes[i]));
            }
        }
        ExprPtr body = constant(total.number, of.dtype);
        if (total.tensor.valid()) {
            body = seed_of(statement, id, operands, total, tensor(statement.out).dtype);
        }
        std::vector<AxisId> plain;
        std::vector<ExprPtr> place;
        for (size_t i = 0; i < expr.args.size(); ++i) {
            place.push_back(substitute_axes(expr.args[i], names));
            if (place[i]->op == ExprOp::Iota && place[i]->axis == of.axes[i]) {
                plain.push_back(of.axes[i]);
            }
        }
        terms_.add(target, {terms_.emit(id, of.axes, of.dtype,
                                        substitute_axes(cast(body, of.dtype), names), operands,
                                        without(renamed, plain), place)});
    }

    // Elementwise statements and reductions ----------------------------------------------------------------------------------

    /// The gradient of the output at each point of the iteration space.
    ExprPtr seed_of(const Statement& statement, StatementId id, Operands& operands,
                    const GradientValue& total, DType type) {
        if (!total.tensor.valid()) {
            return constant(total.number, type);
        }
        const Tensor& out = tensor(statement.out);
        if (statement.scatter.empty()) {
            return cast(read(operands, total.tensor, out.axes), type);
        }
        const std::vector<AxisId> space = iteration_axes(graph_, statement);
        const DType dtype = tensor(total.tensor).dtype;
        const ExprPtr back = access(operands.slot(total.tensor), dtype, statement.scatter,
                                    constant(0, dtype));
        const TensorId gathered = terms_.emit(id, space, dtype, back, operands);
        terms_.name(gathered, "grad " + out.path + ".gather");
        return cast(read(operands, gathered, space), type);
    }

    struct Job {
        ExprPtr access;
        ExprPtr adjoint;
        std::vector<AxisId> axes;    ///< that index the operand
        std::vector<AxisId> reduced; ///< the others of the iteration space
    };

    void derive_elementwise(StatementId id, const Statement& statement, const ExprPtr& body,
                            Operands& operands, const GradientValue& total) {
        const Tensor out = tensor(statement.out);
        const std::vector<AxisId> space = iteration_axes(graph_, statement);
        ExprPtr seed = seed_of(statement, id, operands, total, body->type);
        ExprPtr value;
        if (statement.reduce == Reduce::None && out.dtype == body->type) {
            value = read(operands, statement.out, out.axes);
        } else if (statement.reduce == Reduce::Max || statement.reduce == Reduce::Min) {
            seed = extremum_seed(id, statement, body, operands, seed);
        } else if (statement.reduce == Reduce::Prod) {
            seed = product_seed(id, statement, body, operands, seed);
        }
        const Adjoints found = adjoints(body, seed, value, [&](int slot) {
            return needed(operands.all()[static_cast<size_t>(slot)]);
        });
        std::vector<Job> jobs;
        for (const AccessAdjoint& each : found.accesses) {
            Job job{each.access, each.adjoint, plain_axes(*each.access), {}};
            job.reduced = without(space, job.axes);
            if (is_zero(job.adjoint)) {
                continue;
            }
            jobs.push_back(std::move(job));
        }
        // Terms without a reduction first: what they compute is what the others can read.
        std::stable_partition(jobs.begin(), jobs.end(),
                              [](const Job& job) { return job.reduced.empty(); });
        for (size_t i = 0; i < jobs.size(); ++i) {
            if (!jobs[i].reduced.empty()) {
                share(id, out, space, found.shared, operands, jobs, i);
            }
            const auto made = make_term(id, statement, jobs[i], operands);
            if (made && !is_cheap(jobs[i].adjoint) &&
                tensor(*made).dtype == jobs[i].adjoint->type) {
                substitute(jobs, i + 1, jobs[i].adjoint, read(operands, *made, jobs[i].axes));
            }
        }
    }

    static void substitute(std::vector<Job>& jobs, size_t from, ExprPtr part, const ExprPtr& by) {
        for (size_t i = from; i < jobs.size(); ++i) {
            jobs[i].adjoint = replaced(jobs[i].adjoint, part, by);
        }
    }

    /// Computes a heavy factor that job `at` and a later one have in common once, as a tensor over the whole iteration space.
    void share(StatementId id, const Tensor& out, const std::vector<AxisId>& space,
               const std::vector<ExprPtr>& candidates, Operands& operands, std::vector<Job>& jobs,
               size_t at) {
        for (auto it = candidates.rbegin(); it != candidates.rend(); ++it) { // innermost first
            const ExprPtr& part = *it;
            if (is_cheap(part) || !is_heavy(part) || !occurs_in(part, jobs[at].adjoint)) {
                continue;
            }
            const bool again =
                std::any_of(jobs.begin() + static_cast<std::ptrdiff_t>(at) + 1, jobs.end(),
                            [&](const Job& job) { return occurs_in(part, job.adjoint); });
            if (!again) {
                continue;
            }
            const TensorId inner = terms_.emit(id, space, part->type, part, operands);
            terms_.name(inner, "grad " + out.path + ".inner");
            substitute(jobs, at, part, read(operands, inner, space));
        }
    }

    /// Adds the job's term to its operand's gradient. Returns the tensor if the term is the adjoint itself, without a reduction.
    std::optional<TensorId> make_term(StatementId id, const Statement& statement, const Job& job,
                                      Operands& operands) {
        const TensorId target = operands.all()[static_cast<size_t>(job.access->slot)];
        const Tensor of = tensor(target);
        if (job.adjoint->op == ExprOp::Constant) {
            const auto count = static_cast<double>(element_count(graph_, job.reduced));
            terms_.add(target, {{}, job.adjoint->number * count});
            return std::nullopt;
        }
        if (job.reduced.empty() && job.adjoint->op == ExprOp::Access &&
            plain_axes(*job.adjoint) == job.axes) {
            const TensorId same = operands.all()[static_cast<size_t>(job.adjoint->slot)];
            if (terms_.is_gradient(same) && tensor(same).dtype == of.dtype) {
                terms_.add(target, {same});
                return std::nullopt;
            }
        }
        // The term is indexed by the operand's own axes, unless the statement uses one of these names for what is summed.
        const bool clash = std::any_of(of.axes.begin(), of.axes.end(), [&](AxisId axis) {
            return contains(job.reduced, axis);
        });
        std::vector<std::pair<AxisId, ExprPtr>> names;
        for (size_t i = 0; i < of.axes.size() && !clash; ++i) {
            names.emplace_back(job.axes[i], iota(of.axes[i]));
        }
        const ExprPtr body = substitute_axes(cast(job.adjoint, of.dtype), names);
        const TensorId term = terms_.emit(id, clash ? job.axes : of.axes, of.dtype, body,
                                          operands, job.reduced);
        terms_.add(target, {term});
        (void)statement;
        return job.reduced.empty() ? std::optional(term) : std::nullopt;
    }

    /// What is reduced, as something that can be read: the operand itself, or a tensor with the values of the body.
    ExprPtr reduced_value(StatementId id, const Statement& statement, const ExprPtr& body,
                          Operands& operands) {
        if (body->op == ExprOp::Access) {
            return body;
        }
        const std::vector<AxisId> space = iteration_axes(graph_, statement);
        const TensorId made = terms_.emit(id, space, body->type, body, operands);
        terms_.name(made, "grad " + tensor(statement.out).path + ".body");
        return read(operands, made, space);
    }

    /// `max` and `min`: equal shares to all elements that are the extremum.
    ExprPtr extremum_seed(StatementId id, const Statement& statement, const ExprPtr& body,
                          Operands& operands, const ExprPtr& seed) {
        const Tensor out = tensor(statement.out);
        const ExprPtr x = reduced_value(id, statement, body, operands);
        TensorId extremum = statement.out;
        if (x != body) { // computed again with the body, so that comparing is exact
            extremum = terms_.emit(id, out.axes, out.dtype, x, operands, statement.reduced, {},
                                   statement.reduce);
            terms_.name(extremum, "grad " + out.path + ".extremum");
        }
        const ExprPtr hit = make(ExprOp::Eq, {x, cast(read(operands, extremum, out.axes),
                                                      x->type)});
        const DType type = body->type;
        const DType wide = type == DType::F64 ? DType::F64 : DType::F32; // narrow types cannot count
        const TensorId count =
            terms_.emit(id, out.axes, wide, where(hit, constant(1, wide), constant(0, wide)),
                        operands, statement.reduced);
        terms_.name(count, "grad " + out.path + ".count");
        const ExprPtr share = cast(seed, wide) / read(operands, count, out.axes);
        return where(hit, cast(share, type), constant(0, type));
    }

    /// `prod`: the product of the others, exact where one or more of them are 0.
    ExprPtr product_seed(StatementId id, const Statement& statement, const ExprPtr& body,
                         Operands& operands, const ExprPtr& seed) {
        const Tensor out = tensor(statement.out);
        const DType type = body->type;
        const ExprPtr x = reduced_value(id, statement, body, operands);
        const ExprPtr zero = constant(0, type);
        const ExprPtr one = constant(1, type);
        const ExprPtr is_nothing = make(ExprOp::Eq, {x, zero});
        const TensorId zeros = terms_.emit(id, out.axes, type, where(is_nothing, one, zero),
                                           operands, statement.reduced);
        terms_.name(zeros, "grad " + out.path + ".zeros");
        const TensorId rest = terms_.emit(id, out.axes, type, where(is_nothing, one, x), operands,
                                          statement.reduced, {}, Reduce::Prod);
        terms_.name(rest, "grad " + out.path + ".rest");
        const ExprPtr zero_count = read(operands, zeros, out.axes);
        const ExprPtr others = read(operands, rest, out.axes);
        return seed * where(is_nothing, where(make(ExprOp::Eq, {zero_count, one}), others, zero),
                            where(make(ExprOp::Eq, {zero_count, zero}), others / x, zero));
    }

    Graph graph_;
    Sink& sink_;
    GradientTerms terms_;
    IdVector<TensorId, char> needed_;
    IdVector<TensorId, StatementId> first_consumer_;
};

} // namespace

std::optional<Graph> differentiate(Graph graph, Sink& sink) {
    if (graph.gradients.empty()) {
        return graph;
    }
    SSPC_CHECK(graph.loss.valid(), "gradients without a loss");
    return Differentiator(std::move(graph), sink).run();
}

} // namespace sspc
