// The list of stages from an elaborated model and plan to a device program.
#pragma once

#include "ir/graph/graph.h"
#include "ir/passes/seeded_faults.h"
#include "ir/plan/plan.h"
#include "ir/program/program.h"
#include "ir/support/sink.h"

#include <optional>
#include <string>

namespace sspc {

struct CompileOptions {
    bool strict = false; ///< plan statements without effect are errors instead of warnings
    SeededFault fault = SeededFault::None; ///< seeded by the tests of what is caught; None in the product
    bool fuse = true; ///< group computes into kernels; off shows every task apart
};

struct Compiled {
    Graph graph; ///< with its gradients
    Plan plan;
    Program program;
    std::string tasks_text;    ///< `sspc lower --stage tasks`: each statement with its cut, stage and layouts
    std::string messages_text; ///< `--stage messages`
};

/// nullopt if there were errors (all are in the sink).
std::optional<Compiled> compile(Graph graph, Plan plan, const CompileOptions& options, Sink& sink);

} // namespace sspc
