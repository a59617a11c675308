// The rules of language.md section 5, derived from statements: what a cut asks of the operands and leaves in the output, and which moves
// between layouts a collective makes. Independent of ir/mesh/layout_rules.
#pragma once

#include "ir/check/content.h"

#include <string>
#include <variant>
#include <vector>

namespace sspc::check {

/// An operand of a compute as it is read.
struct Operand {
    const Buffer* buffer = nullptr;
    const Layout* layout = nullptr;
};
struct RuleError {
    enum class Kind {
        Cut,     ///< the cut itself makes no sense; `text`
        Layout,  ///< operand `slot` needs another placement along `mesh_axis`; `text`: which
        Partial, ///< operand `slot` is partial along `mesh_axis`, and the statement is not linear in it
    };
    Kind kind = Kind::Cut;
    int slot = -1;
    int mesh_axis = -1;
    std::string text;
};
/// The layout of the output, over all mesh axes but the sum over stages; or what is wrong.
std::variant<Layout, RuleError> out_layout(const Checked& checked, const Statement& statement, const Compute& compute,
                                           const std::vector<Operand>& operands);

/// Where indices that are no plain axis may reach outside what a device holds: empty if all stay inside, else what does not.
std::string reach_outside(const Checked& checked, const Compute& compute, const Expr& access, size_t position,
                          const Operand& operand);

/// Empty if a move of this kind along these mesh axes turns `from` into `to` for a tensor with these axes; else what is wrong.
std::string wrong_move(const Checked& checked, const std::vector<AxisId>& axes, MoveKind kind,
                       const std::vector<int>& mesh_axes, const Layout& from, const Layout& to);

} // namespace sspc::check
