// Expressions of the `.sspd` text.
#pragma once

#include "ir/program/program.h"

#include <string>
#include <string_view>

namespace sspc::sspd {

/// A name as it stands in the text: bare if it is a path such as `layer[0].attn.q`, else between double quotes.
std::string name_text(std::string_view name);
/// Whether a lexer reads `name` back as one name.
bool is_bare(std::string_view name);
/// A number that reads back to the same bits; a float always has a point or an exponent.
std::string number_text(double value, bool is_integer);

/// The expression, with accesses to `reads` written as `%buffer` or, where an index is not the axis itself, `%buffer(index, …)`.
std::string expr_text(const Program& program, const Class& device_class, const std::vector<BufferId>& reads,
                      const ExprPtr& expr);
/// The same for a list of indices, where a bare axis name is the coordinate along it.
std::string indices_text(const Program& program, const Class& device_class, const std::vector<BufferId>& reads,
                         const std::vector<ExprPtr>& indices);
/// The buffers that accesses use, each once, in order of first appearance.
std::vector<BufferId> reads_in_order(const std::vector<BufferId>& reads, const std::vector<ExprPtr>& exprs);

} // namespace sspc::sspd
