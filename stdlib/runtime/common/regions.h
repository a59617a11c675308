// Parts of whole tensors: boxes, and copies between a whole in host memory and a dense part.
#pragma once

#include "common/device.h"

#include <cstdint>
#include <cstring>
#include <vector>

namespace ssp {

using Box = std::vector<Interval>;

inline int64_t volume(const Box& box) {
    int64_t count = 1;
    for (const Interval& side : box) {
        count *= side.size();
    }
    return count;
}
inline int64_t volume(const std::vector<int64_t>& sizes) {
    int64_t count = 1;
    for (const int64_t size : sizes) {
        count *= size;
    }
    return count;
}
inline std::vector<int64_t> sizes_of(const std::vector<HeldAxis>& axes) {
    std::vector<int64_t> sizes;
    for (const HeldAxis& axis : axes) {
        sizes.push_back(axis.size);
    }
    return sizes;
}
/// What the device at `at` holds of a tensor.
inline Box box_of(const std::vector<HeldAxis>& axes, const std::vector<int>& mesh, const std::vector<int>& at) {
    Box box;
    for (const HeldAxis& axis : axes) {
        Interval side{0, axis.size};
        for (const int cutter : axis.cuts) {
            side = part_of(side, mesh[static_cast<size_t>(cutter)], at[static_cast<size_t>(cutter)]);
        }
        box.push_back(side);
    }
    return box;
}

/// Calls f(linear index in the whole, linear index in the part, count) for each run of the box that is contiguous in both.
template <typename F>
void each_run(const std::vector<int64_t>& sizes, const Box& box, const F& f) {
    if (volume(box) == 0) {
        return;
    }
    // The inner axes that are whole, and one more, make a run.
    size_t outer = box.size();
    int64_t run = 1;
    while (outer > 0) {
        --outer;
        run *= box[outer].size();
        if (box[outer].size() != sizes[outer]) {
            break;
        }
    }
    std::vector<int64_t> at(outer, 0);
    for (int64_t part = 0;; part += run) {
        int64_t whole = 0;
        for (size_t i = 0; i < box.size(); ++i) {
            whole = whole * sizes[i] + box[i].begin + (i < outer ? at[i] : 0);
        }
        f(whole, part, run);
        size_t i = outer;
        while (i > 0 && ++at[i - 1] == box[i - 1].size()) {
            at[--i] = 0;
        }
        if (i == 0) {
            return;
        }
    }
}

inline void take_part(const std::vector<int64_t>& sizes, const Box& box, int64_t element, const char* whole, char* part) {
    each_run(sizes, box, [&](int64_t from, int64_t to, int64_t count) {
        std::memcpy(part + to * element, whole + from * element, static_cast<size_t>(count * element));
    });
}
inline void place_part(const std::vector<int64_t>& sizes, const Box& box, int64_t element, const char* part, char* whole) {
    each_run(sizes, box, [&](int64_t to, int64_t from, int64_t count) {
        std::memcpy(whole + to * element, part + from * element, static_cast<size_t>(count * element));
    });
}

} // namespace ssp
