// Joins collectives of one kind into buckets (`bucket grads by 25 MB`).
#pragma once

#include "ir/program/program.h"

namespace sspc {

/// Joins the Communicates from position `begin` on that have the same kind, mesh axes, phase and element type into messages of at most
/// `bytes` (of what a device holds before the move), kept in order. Anything between them that does not depend on them stays before them.
std::vector<Instruction> bucketed(std::vector<Instruction> code, size_t begin, const Class& device_class,
                                  const IdVector<AxisId, Axis>& axes, const Mesh& mesh, int64_t bytes);

} // namespace sspc
