// Boxes of whole tensors, copied out and back.
#include "common/regions.h"

#include <gtest/gtest.h>

#include <numeric>

namespace ssp {
namespace {

TEST(RuntimeRegions, APartIsTakenAndPlacedElementByElement) {
    const std::vector<int64_t> sizes = {3, 4, 5};
    std::vector<int32_t> whole(60);
    std::iota(whole.begin(), whole.end(), 0);
    const Box boxes[] = {{{0, 3}, {0, 4}, {0, 5}}, {{1, 2}, {0, 4}, {0, 5}}, {{0, 3}, {1, 3}, {0, 5}},
                         {{1, 3}, {2, 4}, {1, 2}}, {{2, 3}, {3, 4}, {4, 5}}, {{0, 3}, {2, 2}, {0, 5}}};
    for (const Box& box : boxes) {
        std::vector<int32_t> part(static_cast<size_t>(volume(box)) + 1, -1);
        take_part(sizes, box, 4, reinterpret_cast<const char*>(whole.data()), reinterpret_cast<char*>(part.data()));
        size_t k = 0;
        for (int64_t i = box[0].begin; i < box[0].end; ++i) {
            for (int64_t j = box[1].begin; j < box[1].end; ++j) {
                for (int64_t l = box[2].begin; l < box[2].end; ++l) {
                    EXPECT_EQ(part[k++], (i * 4 + j) * 5 + l);
                }
            }
        }
        EXPECT_EQ(part[k], -1);
        std::vector<int32_t> back = whole;
        place_part(sizes, box, 4, reinterpret_cast<const char*>(part.data()), reinterpret_cast<char*>(back.data()));
        EXPECT_EQ(back, whole);
    }
}

TEST(RuntimeRegions, AScalarIsOneRun) {
    int runs = 0;
    each_run({}, {}, [&](int64_t whole, int64_t part, int64_t count) {
        EXPECT_EQ(whole + part, 0);
        EXPECT_EQ(count, 1);
        ++runs;
    });
    EXPECT_EQ(runs, 1);
}

} // namespace
} // namespace ssp
