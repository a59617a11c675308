// From a statement and its cut: the placement each operand must have along each mesh axis, and the placement of the output.
#include "ir/check/describe.h"
#include "ir/check/expr_match.h"
#include "ir/check/rules.h"
#include "ir/support/format.h"

#include <algorithm>

namespace sspc::check {

namespace {

bool contains(const std::vector<AxisId>& axes, AxisId axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
}
bool is_iota_of(const ExprPtr& e, AxisId axis) { return e && e->op == ExprOp::Iota && e->axis == axis; }
bool is_plain_index(const ExprPtr& e) { return e && e->op == ExprOp::Iota; }
bool reads_data(const ExprPtr& e) {
    bool found = false;
    for_each(e, [&](const Expr& inner) { found = found || inner.op == ExprOp::Access || inner.op == ExprOp::Random; });
    return found;
}
const Expr* single_access(const ExprPtr& body) {
    const Expr* e = body.get();
    while (e != nullptr && (e->op == ExprOp::Cast || e->op == ExprOp::StopGradient)) {
        e = e->args[0].get();
    }
    return e != nullptr && e->op == ExprOp::Access ? e : nullptr;
}

class Rule {
public:
    Rule(const Checked& checked, const Statement& statement, const Compute& compute, const std::vector<Operand>& operands)
        : checked_(checked), graph_(checked.reference.graph), statement_(statement), compute_(compute), operands_(operands) {
        const auto collect = [&](const Expr& e) {
            if (e.op == ExprOp::Access) {
                accesses_.push_back(&e);
            }
        };
        for_each(compute.body, collect);
        for (const ExprPtr& e : compute.scatter) {
            for_each(e, collect);
        }
    }

    std::variant<Layout, RuleError> run() {
        const Mesh& mesh = checked_.program.mesh;
        Layout out(mesh.axes.size());
        for (size_t m = 0; m < mesh.axes.size() && !error_; ++m) {
            if (mesh.axes[m].size > 1) {
                out[m] = along(static_cast<int>(m));
            }
        }
        std::optional<Reduce> reduction;
        for (const Placement& p : out) {
            if (p.is_partial() && reduction && *reduction != p.reduction && !error_) {
                error_ = RuleError{RuleError::Kind::Cut, -1, -1, "its value would be partial under two reductions at once"};
            }
            reduction = p.is_partial() ? std::optional(p.reduction) : reduction;
        }
        if (error_) {
            return *error_;
        }
        return out;
    }

private:
    Placement fail(RuleError::Kind kind, int slot, int mesh_axis, std::string text) {
        if (!error_) {
            error_ = RuleError{kind, slot, mesh_axis, std::move(text)};
        }
        return Placement::replicated();
    }

    /// How the cut axis enters the statement.
    enum class Role { None, Output, Reduced, Gathered, Scattered };

    bool is_plain_output(AxisId c) const {
        const auto& axes = graph_.tensors[statement_.out].axes;
        for (size_t i = 0; i < axes.size(); ++i) {
            if (axes[i] == c) {
                return statement_.scatter.empty() || is_iota_of(statement_.scatter[i], c);
            }
        }
        return false;
    }
    bool is_scattered_output(AxisId c) const {
        const auto& axes = graph_.tensors[statement_.out].axes;
        return !statement_.scatter.empty() && contains(axes, c) && !is_plain_output(c);
    }

    Role role_of(AxisId c) const {
        if (!c.valid()) {
            return Role::None;
        }
        if (is_plain_output(c)) {
            return Role::Output;
        }
        if (contains(statement_.reduced, c)) {
            return Role::Reduced;
        }
        if (is_scattered_output(c)) {
            return Role::Scattered;
        }
        return Role::Gathered;
    }

    Placement along(int m) {
        const size_t at = static_cast<size_t>(m);
        const AxisId c = compute_.cut[at];
        if (m == checked_.stage_axis && c.valid()) {
            return fail(RuleError::Kind::Cut, -1, m, "it cuts an axis over the pipeline's stages");
        }
        const Role role = role_of(c);
        if (role == Role::None) {
            if (const auto passed = pass_through(at)) {
                return *passed;
            }
        }
        const Expr* gathered = role == Role::Gathered ? single_access(compute_.body) : nullptr;
        if (role == Role::Gathered && !is_gathered(gathered, c)) {
            return fail(RuleError::Kind::Cut, -1, m, format("it cuts `{0}`, which is no axis of the statement", graph_.axes[c].name));
        }
        for (const Expr* access : accesses_) {
            need(*access, c, role == Role::Gathered && access == gathered, at);
        }
        switch (role) {
        case Role::Output:
        case Role::Scattered:
            return Placement::sharded(c);
        case Role::Reduced:
            return Placement::partial(statement_.reduce == Reduce::None ? Reduce::Sum : statement_.reduce);
        case Role::Gathered:
            return Placement::partial(Reduce::Sum);
        case Role::None:
            break;
        }
        return Placement::replicated();
    }

    bool is_gathered(const Expr* access, AxisId c) const {
        if (access == nullptr || statement_.reduce != Reduce::None || !statement_.scatter.empty()) {
            return false;
        }
        if (access->otherwise && !(access->otherwise->op == ExprOp::Constant && access->otherwise->number == 0)) {
            return false; // every device would add it
        }
        const auto& axes = operands_[static_cast<size_t>(access->slot)].buffer->axes;
        for (size_t p = 0; p < axes.size() && p < access->args.size(); ++p) {
            if (axes[p] == c) {
                return !is_plain_index(access->args[p]);
            }
        }
        return false;
    }

    /// No cut along this mesh axis: Partial operands may pass if the statement is linear in them.
    std::optional<Placement> pass_through(size_t m) {
        std::optional<Reduce> reduction;
        int slot = -1;
        for (const Expr* access : accesses_) {
            const Placement& p = (*operands_[static_cast<size_t>(access->slot)].layout)[m];
            if (p.is_partial()) {
                if (reduction && *reduction != p.reduction) {
                    return fail(RuleError::Kind::Partial, access->slot, static_cast<int>(m), "");
                }
                reduction = p.reduction;
                slot = access->slot;
            }
        }
        if (!reduction) {
            return std::nullopt;
        }
        const auto is_term = [&](int s) { return (*operands_[static_cast<size_t>(s)].layout)[m].is_partial(); };
        bool good = false;
        if (*reduction == Reduce::Sum) {
            good = (statement_.reduce == Reduce::None || statement_.reduce == Reduce::Sum) &&
                   linear_in(compute_.body, is_term) == Linear::Linear;
            for (const ExprPtr& index : compute_.scatter) {
                good = good && linear_in(index, is_term) == Linear::Free;
            }
        } else {
            good = compute_.body->op == ExprOp::Access && !compute_.body->otherwise && accesses_.size() == 1 &&
                   (statement_.reduce == Reduce::None || statement_.reduce == *reduction) && compute_.scatter.empty();
        }
        if (!good) {
            return fail(RuleError::Kind::Partial, slot, static_cast<int>(m), "");
        }
        for (const Expr* access : accesses_) {
            if (!is_term(access->slot)) {
                need(*access, AxisId(), false, m);
            }
        }
        return Placement::partial(*reduction);
    }

    /// The placement that an access asks of its operand along one mesh axis.
    void need(const Expr& access, AxisId c, bool is_gathered_operand, size_t m) {
        const Operand& operand = operands_[static_cast<size_t>(access.slot)];
        const Placement& has = (*operand.layout)[m];
        const auto& axes = operand.buffer->axes;
        if (access.args.size() != axes.size()) {
            fail(RuleError::Kind::Cut, access.slot, static_cast<int>(m), "it indexes a tensor by too many or too few axes");
            return;
        }
        if (has.is_partial()) {
            fail(RuleError::Kind::Partial, access.slot, static_cast<int>(m), "");
            return;
        }
        Placement wanted = Placement::replicated();
        if (is_gathered_operand) {
            wanted = Placement::sharded(c);
        } else if (c.valid()) {
            for (size_t p = 0; p < axes.size(); ++p) {
                // A slice from 0 is shorter than the axis: its parts are no parts of it.
                if (is_iota_of(access.args[p], c) && graph_.axes[c].size == graph_.axes[axes[p]].size) {
                    wanted = Placement::sharded(axes[p]);
                }
            }
        }
        if (has == wanted) {
            return;
        }
        if (has.is_sharded() && wanted.is_replicated()) {
            // An index such as `iota(a) * 2 + iota(b)` may need only the part that is there.
            for (size_t p = 0; p < axes.size(); ++p) {
                if (axes[p] == has.axis && !is_plain_index(access.args[p]) && !reads_data(access.args[p]) &&
                    reach_outside(checked_, compute_, access, p, operand).empty()) {
                    return;
                }
            }
        }
        fail(RuleError::Kind::Layout, access.slot, static_cast<int>(m), to_text(wanted, checked_.program.axes));
    }

    const Checked& checked_;
    const Graph& graph_;
    const Statement& statement_;
    const Compute& compute_;
    const std::vector<Operand>& operands_;
    std::vector<const Expr*> accesses_;
    std::optional<RuleError> error_;
};

} // namespace

std::variant<Layout, RuleError> out_layout(const Checked& checked, const Statement& statement, const Compute& compute,
                                           const std::vector<Operand>& operands) {
    return Rule(checked, statement, compute, operands).run();
}

} // namespace sspc::check
