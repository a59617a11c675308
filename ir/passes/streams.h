// Orders the two streams of a device where they depend on one another.
#pragma once

#include "ir/program/program.h"

namespace sspc {

/// Inserts Record and Wait so that every dependency between instructions of different streams (through a buffer, or through memory that
/// buffers share) has an event. Within a block: recorded right after the producer, awaited right before the first instruction that
/// needs it. Between steps of the order: recorded after the earlier step, awaited before the later one. A step of the training loop
/// begins when both streams have finished the last one.
Program streams(Program program);

} // namespace sspc
