// Which forward values a plan's `recompute` statements drop after forward and compute again in backward.
#pragma once

#include "ir/graph/graph.h"
#include "ir/plan/plan.h"

#include <string>
#include <vector>

namespace sspc {

/// The tasks that a selector takes are recomputed in units: a block that it names (`layer[*]`), or the tasks that it names in one block. What enters a
/// unit is saved; so is what leaves a block. Values between the tasks of a unit are not.
class Recomputed {
public:
    Recomputed(const Graph& graph, const Plan& plan);

    /// False: backward computes the value again from what is saved.
    bool is_saved(TensorId value) const { return saved_[value]; }

private:
    IdVector<TensorId, bool> saved_;
};

} // namespace sspc
