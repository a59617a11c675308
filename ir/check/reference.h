// The model as the checker sees it: the trusted graph with look-up tables, and names for messages.
#pragma once

#include "ir/check/check.h"

#include <string>
#include <unordered_map>

namespace sspc::check {

/// Look-ups in the training graph.
struct Reference {
    explicit Reference(const Graph& training_graph);

    const Graph& graph;
    IdVector<TensorId, StatementId> producer;
    std::unordered_map<std::string, TensorId> by_path;
    IdVector<TensorId, TensorId> updated; ///< what a parameter or state becomes; itself where nothing updates it; invalid for others
    bool trains = false;

    TensorId find(const std::string& path) const;
};

/// What every check gets.
struct Checked {
    const Program& program;
    const Reference& reference;
    const Plan& plan;
    const CheckOptions& options;
    int micro_axis = 0; ///< position in the mesh
    int stage_axis = -1;
    int micros = 1;
};

} // namespace sspc::check
