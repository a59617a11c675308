// Runs the checks of checks.def.
#include "ir/check/check.h"

#include "ir/check/checks.h"

namespace sspc {

void check_program(const Program& program, const Graph& training_graph, const Plan& plan, Sink& sink,
                   const CheckOptions& options) {
    const check::Reference reference(training_graph);
    check::Checked checked{program, reference, plan, options};
    checked.micro_axis = find_role(program.mesh, AxisRole::Micro).value_or(-1);
    checked.stage_axis = find_role(program.mesh, AxisRole::Stage).value_or(-1);
    checked.micros = micro_count(program);
    Sink found;
    check::check_well_formed(checked, found);
    if (!found.has_errors()) {
#define SSPC_CHECKED(name) check::check_##name(checked, found);
#include "ir/check/checks.def"
#undef SSPC_CHECKED
    }
    for (Diagnostic& diagnostic : found.diagnostics()) {
        sink.add(std::move(diagnostic));
    }
}

} // namespace sspc
