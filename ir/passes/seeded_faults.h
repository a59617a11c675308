// Faults that the tests seed into the compiler: each must be caught by the checker or by comparing numbers.
#pragma once

#include <array>
#include <string_view>

namespace sspc {

struct Graph;
struct Materialized;
struct Program;
struct Tasks;

// SSPC_FAULT(name, what goes wrong)
#define SSPC_FAULTS(SSPC_FAULT)                                                                                        \
    SSPC_FAULT(AllReduceLeftOut, "a partial value is read as it is")                                                   \
    SSPC_FAULT(BiasOnEveryMember, "a bias is added to a partial sum on every member")                                  \
    SSPC_FAULT(MeanByMicroBatches, "the loss is scaled by the number of micro-batches")                                \
    SSPC_FAULT(OperandsExchanged, "the operands of a subtraction are exchanged")                                       \
    SSPC_FAULT(SetForAccumulate, "a gradient is set by each micro-batch")                                              \
    SSPC_FAULT(FillLeftOut, "an accumulator keeps the sum of the last step")                                           \
    SSPC_FAULT(ScatterAlongOtherAxis, "a reduce-scatter cuts another axis")                                            \
    SSPC_FAULT(ParameterNotRestored, "the all-gather of an updated parameter is left out")                             \
    SSPC_FAULT(ReplicasInNorm, "the gradient norm counts replicas")                                                    \
    SSPC_FAULT(MaximumAsSum, "a maximum of parts is completed as a sum")                                               \
    SSPC_FAULT(StaleCopy, "the copy of a tied parameter is not updated")                                               \
    SSPC_FAULT(SentTooEarly, "a value is sent before the block that makes it")                                         \
    SSPC_FAULT(OtherMicroBatch, "a receive is posted for another micro-batch")                                         \
    SSPC_FAULT(TermDropped, "a gradient lacks a term")                                                                 \
    SSPC_FAULT(ClippedTwice, "a gradient is clipped twice")                                                            \
    SSPC_FAULT(CutDropped, "a statement is carried out as if it were not cut")                                         \
    SSPC_FAULT(OtherMask, "a recomputed draw has another key")                                                         \
    SSPC_FAULT(EqualMasks, "all rows draw the same mask")                                                                \
    SSPC_FAULT(WrongPeer, "a message goes to another stage")                                                           \
    SSPC_FAULT(ScatterForGather, "a reduce-scatter stands where an all-gather is")                                     \
    SSPC_FAULT(StateNotUpdated, "an optimizer state keeps its value")                                                  \
    SSPC_FAULT(WaitLeftOut, "a stream does not wait for the other")                                                    \
    SSPC_FAULT(FreedEarly, "a buffer is freed before its last use")                                                    \
    SSPC_FAULT(OtherGroup, "a collective runs along another mesh axis")                                                \
    SSPC_FAULT(BothSendFirst, "both ends of a pair of stages send before they receive")                                \
    SSPC_FAULT(OtherOrder, "one end of a pair of stages posts its messages in another order")

#define SSPC_FAULT(name, text) name,
enum class SeededFault : int { None = 0, SSPC_FAULTS(SSPC_FAULT) };
#undef SSPC_FAULT

struct NamedFault {
    SeededFault fault;
    std::string_view name;
    std::string_view text;
};
#define SSPC_FAULT(name, text) NamedFault{SeededFault::name, #name, text},
inline constexpr std::array seeded_faults{SSPC_FAULTS(SSPC_FAULT)};
#undef SSPC_FAULT

/// Each does nothing but for the faults that belong into this stage, and where the stage has nothing to spoil.
void seed_fault(SeededFault fault, const Graph& graph, Tasks& tasks);
void seed_fault(SeededFault fault, Materialized& blocks);
void seed_fault(SeededFault fault, Program& program);

} // namespace sspc
