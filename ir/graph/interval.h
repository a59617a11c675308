// A half-open range of coordinates along an axis.
#pragma once

#include <cstdint>

namespace sspc {

struct Interval {
    int64_t begin = 0;
    int64_t end = 0;
    int64_t size() const { return end - begin; }
    friend bool operator==(const Interval&, const Interval&) = default;
};

} // namespace sspc
