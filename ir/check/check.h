// Proves a device program against the model, without any pass that made it.
//
// What goes in: a program, the training graph (trusted), and the plan (of which only the mesh, the schedule's lanes and explicit stages are
// read). What is true if no error is reported: every device holds, at the end of a step, the graph's value of each parameter, state and
// result it stores; the order of blocks is the schedule's; no order of messages can deadlock; no memory is touched by two streams at once.
// The proof is made once a class and block, on layouts, never a device or a micro-batch at a time.
#pragma once

#include "ir/graph/graph.h"
#include "ir/plan/plan.h"
#include "ir/program/program.h"
#include "ir/support/sink.h"

#include <optional>

namespace sspc {

struct CheckOptions {
    std::optional<int64_t> memory; ///< bytes of one device; a program that needs more is an error (SSP0601)
};

void check_program(const Program& program, const Graph& training_graph, const Plan& plan, Sink& sink,
                   const CheckOptions& options = {});

/// Lanes of blocks without a program, as `sspc schedule --check` reads them: every F once for each stage and micro-batch, then B, or I and W, for
/// all or none; each stage on one lane; the order follows the dependencies, of which there is no cycle (the shortest is reported).
void check_lanes(const Lanes& lanes, int stages, int micro, Sink& sink);

} // namespace sspc
