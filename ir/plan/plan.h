// A plan with everything evaluated: what a `plan` declaration says about one graph.
#pragma once

#include "ir/graph/graph.h"
#include "ir/graph/selector.h"
#include "ir/mesh/mesh.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace sspc {

/// One block of a schedule.
struct BlockCall {
    enum class Kind { Forward, Backward, InputGradient, WeightGradient };
    Kind kind = Kind::Forward;
    int stage = 0;
    int micro = 0;
    bool pairs_with_next = false; ///< `F(a, m) & B(b, n)`
    Span span;                    ///< in the schedule's declaration
    friend bool operator==(const BlockCall& a, const BlockCall& b) {
        return a.kind == b.kind && a.stage == b.stage && a.micro == b.micro;
    }
};
/// One list for each lane (position along the pipeline).
using Lanes = std::vector<std::vector<BlockCall>>;
/// PyTorch's token: `0F3`, `1B0`, `0I0`, `0W0`.
std::string to_token(const BlockCall& block);

namespace plan {

/// `shard AXES over MESHAXIS [for …]`
struct ShardAxes {
    std::vector<AxisId> axes;
    std::vector<Span> axis_spans;
    int mesh_axis = 0;
    std::vector<Selector> only; ///< empty: every task
    Span span;
};
/// `shard optimizer|grads|params over MESHAXIS [for …]`
struct ShardState {
    enum class What { Optimizer, Grads, Params };
    What what = What::Optimizer;
    int mesh_axis = 0;
    std::vector<Selector> only;
    Span span;
};
/// `split AXIS into N`
struct Split {
    AxisId axis;
    int parts = 1;
    std::vector<Selector> only;
    Span span;
};
/// `stages A, layer[*], B over pp`: items in order, `layer[*]` expanded to one item an index (each item takes the tasks below its path).
struct Stages {
    std::vector<Selector> items;
    int mesh_axis = 0;
    Span span;
};
/// `stage SEL on g[pp = 0]`
struct StageOn {
    std::vector<Selector> tasks;
    int mesh_axis = 0;
    int coordinate = 0;
    Span span;
};
/// `schedule name(args)`, carried out for the plan's stages and micro-batches.
struct UseSchedule {
    std::string name;
    Lanes lanes;
    Span span;
};
struct Recompute {
    std::vector<Selector> tasks;
    Span span;
};
/// `bucket grads by 25 MB`
struct Bucket {
    int64_t bytes = 0;
    Span span;
};
/// `overlap A with comm(B) in N chunks`
struct Overlap {
    std::vector<Selector> with; ///< the selectors in order, `A` first
    int chunks = 1;
    Span span;
};
struct KeepGathered {
    std::vector<Selector> tasks;
    Span span;
};
/// `output z whole`
struct OutputWhole {
    TensorId tensor;
    Span span;
};

} // namespace plan

using PlanStatement = std::variant<plan::ShardAxes, plan::ShardState, plan::Split, plan::Stages, plan::StageOn,
                                   plan::UseSchedule, plan::Recompute, plan::Bucket, plan::Overlap, plan::KeepGathered,
                                   plan::OutputWhole>;

struct Plan {
    std::string name;
    Mesh mesh; ///< without a Micro axis (the split adds it); axes of role Stage are those named by `stages` or `stage … on`
    std::vector<PlanStatement> statements; ///< in order, `use` already replaced by the used plan's statements
    Span span;
};

} // namespace sspc
