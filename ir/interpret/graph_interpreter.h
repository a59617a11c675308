// Carries out a graph on numbers: the reference that every compiled program is compared with.
#pragma once

#include "ir/graph/graph.h"
#include "ir/interpret/rounding.h"

#include <cstdint>

namespace sspc {

/// A whole tensor, row-major in its declared axis order; every element type as double. Empty: not there (yet).
struct Value {
    std::vector<double> data;
};

struct Environment {
    IdVector<TensorId, Value> values;
};

/// Parameters and states as their `init` says, drawn for `seed`; the other tensors are empty. To start from given weights, assign them.
Environment initial_environment(const Graph& graph, uint64_t seed, Precision precision);

/// Computes every statement in order. Inputs, parameters and states must be there. Returns what went wrong, naming the statement, or nothing.
std::optional<std::string> run(const Graph& graph, Environment& environment, int64_t step,
                               uint64_t seed, Precision precision);

/// The end of a step: parameters and states take their new values.
void apply_updates(const Graph& graph, Environment& environment);

} // namespace sspc
