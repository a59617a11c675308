// The list of stages from an elaborated model and plan to a device program.
#include "ir/passes/compile.h"

#include "ir/passes/allocate.h"
#include "ir/passes/communicate.h"
#include "ir/passes/cut.h"
#include "ir/passes/differentiate.h"
#include "ir/passes/fuse.h"
#include "ir/passes/lifetimes.h"
#include "ir/passes/order.h"
#include "ir/passes/place.h"
#include "ir/passes/streams.h"

namespace sspc {

std::optional<Compiled> compile(Graph graph, Plan plan, const CompileOptions& options, Sink& sink) {
    Compiled result;
    const bool trains = !graph.gradients.empty();
    auto training = differentiate(std::move(graph), sink);
    if (!training || sink.has_errors())
        return std::nullopt;
    result.graph = std::move(*training);
    result.plan = std::move(plan);

    auto places = place(result.graph, result.plan, sink); // before cut: a parameter's layout is that of its home's first task
    if (!places)
        return std::nullopt;
    auto tasks = cut(result.graph, result.plan, *places, sink);
    if (!tasks)
        return std::nullopt;
    seed_fault(options.fault, result.graph, *tasks);
    result.tasks_text = print_tasks(result.graph, *tasks);

    const auto lanes = lanes_of(result.plan, tasks->stages, tasks->mesh.axes[0].size, trains, sink);
    if (!lanes)
        return std::nullopt;
    auto blocks = communicate(result.graph, result.plan, *tasks, sink); // before order: a schedule is judged with its messages
    if (!blocks)
        return std::nullopt;
    seed_fault(options.fault, *blocks);
    const auto kept = blocks->kept;
    auto program = order(std::move(*blocks), *lanes, result.plan, sink);
    if (!program)
        return std::nullopt;
    if (options.fuse)
        *program = fuse(std::move(*program)); // before lifetimes: what stays inside a kernel needs no memory
    *program = lifetimes(std::move(*program), kept);
    *program = allocate(std::move(*program));
    *program = streams(std::move(*program)); // after allocate: memory that is used again makes edges too
    seed_fault(options.fault, *program);
    result.program = std::move(*program);
    return result;
}

} // namespace sspc
