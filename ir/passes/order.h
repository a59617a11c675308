// Orders blocks and messages: which block each class runs when, and where it posts its sends and receives.
#pragma once

#include "ir/passes/communicate.h"

namespace sspc {

/// The plan's lanes, or, where it names no schedule: all forward blocks, then all backward ones (GPipe's order); with one stage each micro-batch's
/// backward follows its forward. Reports SSP0433 to SSP0437 for lanes that are not complete.
std::optional<Lanes> lanes_of(const Plan& plan, int stages, int micros, bool trains, Sink& sink);

/// Fills Class::order. Lanes advance in ticks: in each, every lane whose next block has its inputs runs it; the messages that the tick's blocks
/// produce are then posted, in one global order (tick, sending stage, message) on both ends, so that the head of the global order can always
/// complete, buffered or not. Posts of one tick that cross between a pair of stages are grouped. Reports SSP0436 where no lane can go on.
std::optional<Program> order(Materialized blocks, const Lanes& lanes, const Plan& plan, Sink& sink);

} // namespace sspc
