// Narrow floats and the parts of axes.
#include "common/types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace ssp {
namespace {

/// Every stored pattern comes back, and every number goes to the nearest pattern, halves to the even one.
template <typename T>
void expect_nearest_even(int patterns) {
    std::vector<std::pair<double, int>> finite; // value, pattern; positive
    for (int i = 0; i < patterns; ++i) {
        T stored;
        stored.word = static_cast<decltype(stored.word)>(i);
        const float value = stored;
        if (std::isnan(value)) {
            EXPECT_TRUE(std::isnan(static_cast<float>(T(value))));
            continue;
        }
        EXPECT_EQ(static_cast<int>(T(value).word), i) << value;
        if (i < patterns / 2 && std::isfinite(value)) {
            finite.emplace_back(value, i);
        }
    }
    for (size_t i = 0; i + 1 < finite.size(); ++i) {
        const double low = finite[i].first, high = finite[i + 1].first;
        ASSERT_LT(low, high);
        const auto middle = static_cast<float>((low + high) / 2);
        const int even = finite[i].second % 2 == 0 ? finite[i].second : finite[i + 1].second;
        EXPECT_EQ(static_cast<int>(T(middle).word), even) << middle;
        EXPECT_EQ(static_cast<int>(T(std::nextafter(middle, 0.0f)).word), finite[i].second);
        EXPECT_EQ(static_cast<int>(T(std::nextafter(middle, std::numeric_limits<float>::infinity())).word), finite[i + 1].second);
    }
}

TEST(RuntimeTypes, NarrowFloatsRoundToNearestEven) {
    expect_nearest_even<bf16>(1 << 16);
    expect_nearest_even<f16>(1 << 16);
    expect_nearest_even<f8e4m3>(1 << 8);
    expect_nearest_even<f8e5m2>(1 << 8);
}

TEST(RuntimeTypes, NarrowFloatsOverflowAsTheirFormatsDo) {
    EXPECT_TRUE(std::isinf(static_cast<float>(f16(65520.0f))));
    EXPECT_EQ(static_cast<float>(f16(65519.0f)), 65504.0f);
    EXPECT_TRUE(std::isinf(static_cast<float>(f8e5m2(1e30f))));
    EXPECT_EQ(static_cast<float>(f8e4m3(448.0f)), 448.0f);
    EXPECT_TRUE(std::isnan(static_cast<float>(f8e4m3(1e30f))));
    EXPECT_EQ(static_cast<float>(bf16(1.0f)), 1.0f);
    EXPECT_TRUE(std::isnan(static_cast<float>(bf16(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(RuntimeTypes, PartsCoverAnAxisOnceWithTheLongerOnesFirst) {
    for (int64_t size : {0, 1, 7, 8, 65}) {
        for (int64_t parts : {1, 2, 3, 8}) {
            int64_t at = 0;
            for (int64_t k = 0; k < parts; ++k) {
                EXPECT_EQ(part_begin(size, parts, k), at);
                EXPECT_EQ(part_size(size, parts, k), size / parts + (k < size % parts ? 1 : 0));
                at += part_size(size, parts, k);
            }
            EXPECT_EQ(at, size);
        }
    }
    const Interval inner = part_of(part_of({0, 10}, 2, 1), 2, 1);
    EXPECT_EQ(inner.begin, 8);
    EXPECT_EQ(inner.end, 10);
}

} // namespace
} // namespace ssp
