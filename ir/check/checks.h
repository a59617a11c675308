// Every check: `check_NAME`, from checks.def, and the steps that they share.
#pragma once

#include "ir/check/reference.h"

namespace sspc::check {

/// Ids in range, layouts that fit their tensors, the graph's axes and the plan's mesh. The other checks rely on it.
void check_well_formed(const Checked& checked, Sink& sink);

#define SSPC_CHECKED(name) void check_##name(const Checked& checked, Sink& sink);
#include "ir/check/checks.def"
#undef SSPC_CHECKED

} // namespace sspc::check
