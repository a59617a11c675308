// How cuts act: one function for each row of the table in language.md section 5.
#include "ir/mesh/layout_rules.h"

#include "ir/support/check.h"

#include <algorithm>

namespace sspc {
namespace {

bool contains(const std::vector<AxisId>& axes, AxisId axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

/// Calls `visit(access)` for every access of the statement, those inside index and scatter expressions included.
template <typename Visit>
void for_each_access(const Statement& statement, Visit visit) {
    const auto look = [&](const Expr& expr) {
        if (expr.op == ExprOp::Access) {
            visit(expr);
        }
    };
    for_each(statement.body, look);
    for (const ExprPtr& index : statement.scatter) {
        for_each(index, look);
    }
}

/// The index is a coordinate of the iteration space whose parts are the parts of the tensor's axis `axis`: both are equally long (a slice
/// from 0 is shorter).
bool is_plain_index(const Graph& graph, const Expr& index, AxisId axis) {
    return index.op == ExprOp::Iota && graph.axes[index.axis].size == graph.axes[axis].size;
}

/// What one cut index asks along one mesh axis.
struct Along {
    std::vector<Placement> operands;
    Placement out;
};

enum class Role { OutputAxis, ReducedAxis, GatheredAxis, ScatteredAxis, None };

/// The operand whose axis `axis` is read at computed places, or -1.
int gathered_slot(const Graph& graph, const Statement& statement, AxisId axis) {
    if (statement.reduce != Reduce::None) {
        return -1; // a gather stands alone in its statement
    }
    int slot = -1;
    bool plainly_too = false;
    for_each_access(statement, [&](const Expr& access) {
        const Tensor& tensor = graph.tensors[statement.operands.at(access.slot)];
        for (size_t k = 0; k < access.args.size(); ++k) {
            if (tensor.axes[k] == axis && access.args[k]->op != ExprOp::Iota && slot < 0) {
                slot = access.slot;
            }
        }
    });
    // Read in another way as well (as its own index, say): then no cut of it serves both.
    for_each_access(statement, [&](const Expr& access) {
        if (access.slot == slot) {
            const std::vector<AxisId>& axes = graph.tensors[statement.operands[slot]].axes;
            const size_t k = std::find(axes.begin(), axes.end(), axis) - axes.begin();
            // What `else` gives must not be added once by each device.
            const bool adds = access.otherwise && !is_constant(access.otherwise, 0);
            plainly_too = plainly_too || adds || k == axes.size() || access.args[k]->op == ExprOp::Iota;
        }
    });
    return plainly_too ? -1 : slot;
}

/// Whether output axis number `k` takes its coordinate straight from the iteration space.
bool is_plain_output(const Graph& graph, const Statement& statement, size_t k) {
    const AxisId axis = graph.tensors[statement.out].axes[k];
    return statement.scatter.empty() ||
           (statement.scatter[k]->op == ExprOp::Iota && statement.scatter[k]->axis == axis);
}

Role role_of(const Graph& graph, const Statement& statement, AxisId axis) {
    if (contains(statement.reduced, axis)) {
        return Role::ReducedAxis;
    }
    const std::vector<AxisId>& out = graph.tensors[statement.out].axes;
    for (size_t k = 0; k < out.size(); ++k) {
        if (out[k] == axis) {
            return is_plain_output(graph, statement, k) ? Role::OutputAxis : Role::ScatteredAxis;
        }
    }
    return gathered_slot(graph, statement, axis) >= 0 ? Role::GatheredAxis : Role::None;
}

/// Each operand that has the index is sharded on it (on its own axis at that place: renames), each that lacks it is whole.
std::vector<Placement> sharded_operands(const Graph& graph, const Statement& statement, AxisId axis) {
    std::vector<Placement> result(statement.operands.size());
    std::vector<char> met(statement.operands.size(), 0);
    for_each_access(statement, [&](const Expr& access) {
        const Tensor& tensor = graph.tensors[statement.operands.at(access.slot)];
        Placement wanted;
        for (size_t k = 0; k < access.args.size(); ++k) {
            if (is_plain_index(graph, *access.args[k], tensor.axes[k]) && access.args[k]->axis == axis) {
                wanted = Placement::sharded(tensor.axes[k]);
            }
        }
        if (!met[access.slot]) {
            result[access.slot] = wanted;
            met[access.slot] = 1;
        } else if (!(result[access.slot] == wanted)) {
            result[access.slot] = Placement::replicated(); // accessed in two ways: only the whole serves both
        }
    });
    return result;
}

Along cut_output_axis(const Graph& graph, const Statement& statement, AxisId axis) {
    return {sharded_operands(graph, statement, axis), Placement::sharded(axis)};
}

Along cut_reduced_axis(const Graph& graph, const Statement& statement, AxisId axis) {
    SSPC_CHECK(statement.reduce != Reduce::None, "reduced axes come with a reduction");
    return {sharded_operands(graph, statement, axis), Placement::partial(statement.reduce)};
}

/// Rows held elsewhere give 0, so the devices' values add up.
Along cut_gathered_axis(const Graph& graph, const Statement& statement, AxisId axis) {
    Along result{std::vector<Placement>(statement.operands.size()), Placement::partial(Reduce::Sum)};
    result.operands[gathered_slot(graph, statement, axis)] = Placement::sharded(axis);
    return result;
}

/// Each device goes through all points and keeps those that fall into its part.
Along cut_scattered_axis(const Statement& statement, AxisId axis) {
    return {std::vector<Placement>(statement.operands.size()), Placement::sharded(axis)};
}

Along cut_nothing(const Statement& statement) {
    return {std::vector<Placement>(statement.operands.size()), Placement::replicated()};
}

Along cut_by(const Graph& graph, const Statement& statement, AxisId axis) {
    switch (role_of(graph, statement, axis)) {
    case Role::OutputAxis: return cut_output_axis(graph, statement, axis);
    case Role::ReducedAxis: return cut_reduced_axis(graph, statement, axis);
    case Role::GatheredAxis: return cut_gathered_axis(graph, statement, axis);
    case Role::ScatteredAxis: return cut_scattered_axis(statement, axis);
    case Role::None: return cut_nothing(statement);
    }
    SSPC_UNREACHABLE("a role of a cut axis");
}

} // namespace

StatementLayouts layouts_of(const Graph& graph, const Statement& statement, const Mesh& mesh, const Cut& cut) {
    SSPC_CHECK(cut.size() == mesh.axes.size(), "an axis or none for each mesh axis");
    StatementLayouts result{std::vector<Layout>(statement.operands.size(), replicated_layout(mesh)),
                            replicated_layout(mesh)};
    for (size_t m = 0; m < mesh.axes.size(); ++m) {
        if (!cut[m].valid() || mesh.axes[m].size == 1) {
            continue;
        }
        const Along along = cut_by(graph, statement, cut[m]);
        for (size_t slot = 0; slot < along.operands.size(); ++slot) {
            result.operands[slot][m] = along.operands[slot];
        }
        result.out[m] = along.out;
    }
    return result;
}

std::vector<AxisId> cuttable_axes(const Graph& graph, const Statement& statement) {
    std::vector<AxisId> result;
    const auto add = [&](AxisId axis) {
        if (!contains(result, axis) && role_of(graph, statement, axis) != Role::None) {
            result.push_back(axis);
        }
    };
    for (AxisId axis : iteration_axes(graph, statement)) {
        add(axis);
    }
    for_each_access(statement, [&](const Expr& access) {
        for (AxisId axis : graph.tensors[statement.operands.at(access.slot)].axes) {
            if (gathered_slot(graph, statement, axis) >= 0) {
                add(axis);
            }
        }
    });
    for (AxisId axis : graph.tensors[statement.out].axes) {
        add(axis);
    }
    return result;
}

} // namespace sspc
