// Named axes of a model.
#pragma once

#include "ir/support/id.h"
#include "ir/support/span.h"

#include <cstdint>
#include <string>

namespace sspc {

struct AxisTag;
using AxisId = Id<AxisTag>;

/// The name is the axis's identity. Derived axes (of slices and splits) get names of their own, unique in the graph.
struct Axis {
    std::string name;
    int64_t size = 0;
    Span span;
};

} // namespace sspc
