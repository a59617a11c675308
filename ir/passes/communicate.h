// Turns tasks into blocks of instructions: computes, the moves between their layouts, and messages between stages.
#pragma once

#include "ir/passes/tasks.h"
#include "ir/support/sink.h"

#include <optional>

namespace sspc {

/// What a block run needs from other stages and what it sends.
struct BlockMessages {
    std::vector<MessageId> before; ///< received before the block runs
    std::vector<MessageId> after;  ///< sent after it ran
};

/// A program whose classes have blocks but no order, no Allocate/Free and no events yet. Blocks of each class: start, forward, backward, finish.
struct Materialized {
    Program program;
    /// [stage][block kind: 0 forward, 1 backward]; each_micro messages only.
    std::vector<std::array<BlockMessages, 2>> in_loop;
    std::vector<MessageId> before_finish; ///< gradient terms of parameters shared by stages
    std::vector<MessageId> after_finish;  ///< updated parameters to the stages that hold copies
    struct Ends {
        BufferId from, to;
    };
    IdVector<MessageId, Ends> ends;
    std::vector<std::vector<BufferId>> kept; ///< [stage] Step buffers that live until the end of the step (results)
};

std::optional<Materialized> communicate(const Graph& graph, const Plan& plan, const Tasks& tasks, Sink& sink);

} // namespace sspc
