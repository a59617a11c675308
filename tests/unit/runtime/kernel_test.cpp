// Reductions of rows, and products of matrices.
#include "common/gemm.h"
#include "common/kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ssp {
namespace {

TEST(RuntimeKernels, LongSumsOfFloatsStayAccurate) {
    for (const int64_t n : {int64_t(0), int64_t(1), int64_t(1023), int64_t(1025), int64_t(3000001)}) {
        std::vector<float> x(static_cast<size_t>(n));
        double expected = 0;
        for (int64_t i = 0; i < n; ++i) {
            x[static_cast<size_t>(i)] = 1.0f + static_cast<float>(i % 97) * 0.013f;
            expected += static_cast<double>(x[static_cast<size_t>(i)]);
        }
        float one = 0, two = 0;
        const float* from = x.data();
        launch_rows(nullptr, extent(1), [&, from](const Row& row, int64_t) {
            one = row.reduce<Reduction::Sum, float>(extent(n), [from](int64_t i) { return from[i]; });
            const int64_t rest = n / 10;
            two = row.reduce<Reduction::Sum, float>(extent(10, rest), [=](int64_t i, int64_t j) { return from[i * rest + j]; });
        });
        EXPECT_NEAR(one, expected, 1e-6 * expected) << n;
        if (n % 10 == 0) {
            EXPECT_NEAR(two, expected, 1e-6 * expected) << n;
        }
    }
}

TEST(RuntimeKernels, ReductionsOfARow) {
    const std::vector<float> x = {3, -7, 2.5f, 11, 0.5f};
    const float* from = x.data();
    float most = 0, least = 0, product = 0, none = 0;
    launch_rows(nullptr, extent(1), [&, from](const Row& row, int64_t) {
        const auto element = [from](int64_t i) { return from[i]; };
        most = row.reduce<Reduction::Max, float>(extent(5), element);
        least = row.reduce<Reduction::Min, float>(extent(5), element);
        product = row.reduce<Reduction::Prod, float>(extent(5), element);
        none = row.reduce<Reduction::Max, float>(extent(0), element);
    });
    EXPECT_EQ(most, 11);
    EXPECT_EQ(least, -7);
    EXPECT_EQ(product, 3 * -7 * 2.5f * 11 * 0.5f);
    EXPECT_EQ(none, -INFINITY);
}

TEST(RuntimeKernels, ProductsOfAllTranspositionsInLoops) {
    constexpr int64_t m = 3, n = 4, k = 5, turns = 2;
    std::vector<float> a(m * k * turns), b(k * n * turns);
    for (size_t i = 0; i < a.size(); ++i) {
        a[i] = std::sin(static_cast<float>(i));
    }
    for (size_t i = 0; i < b.size(); ++i) {
        b[i] = std::cos(static_cast<float>(i));
    }
    for (const bool ta : {false, true}) {
        for (const bool tb : {false, true}) {
            std::vector<float> each(m * n * turns, 1), sum(m * n, 1);
            const GemmShape shape{m, n, k, ta, tb, ta ? m : k, tb ? k : n, n};
            gemm(nullptr, shape, 2.0, true, a.data(), b.data(), each.data(), {{turns, m * k, k * n, m * n, false}});
            gemm(nullptr, shape, 1.0, false, a.data(), b.data(), sum.data(), {{turns, m * k, k * n, 0, true}});
            for (int64_t i = 0; i < m; ++i) {
                for (int64_t j = 0; j < n; ++j) {
                    double total = 0;
                    for (int64_t t = 0; t < turns; ++t) {
                        double expected = 0;
                        for (int64_t l = 0; l < k; ++l) {
                            const float x = a[static_cast<size_t>(t * m * k + (ta ? l * m + i : i * k + l))];
                            const float y = b[static_cast<size_t>(t * k * n + (tb ? j * k + l : l * n + j))];
                            expected += static_cast<double>(x) * static_cast<double>(y);
                        }
                        total += expected;
                        EXPECT_NEAR(each[static_cast<size_t>((t * m + i) * n + j)], 1 + 2 * expected, 1e-5);
                    }
                    EXPECT_NEAR(sum[static_cast<size_t>(i * n + j)], total, 1e-5);
                }
            }
        }
    }
}

} // namespace
} // namespace ssp
