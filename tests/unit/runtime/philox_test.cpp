// The generator against its published vectors.
#include "common/philox.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ssp {
namespace {

void expect_words(const Philox& got, uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3) {
    EXPECT_EQ(got.w[0], w0);
    EXPECT_EQ(got.w[1], w1);
    EXPECT_EQ(got.w[2], w2);
    EXPECT_EQ(got.w[3], w3);
}

TEST(RuntimePhilox, GivesThePublishedVectors) { // Random123, kat_vectors
    expect_words(philox(0, 0, 0, 0, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
    const uint32_t ones = 0xffffffff;
    expect_words(philox(ones, ones, ones, ones, ones, ones), 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd);
    expect_words(philox(0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0), 0xd16cfe09, 0x94fdcceb,
                 0x5001e420, 0x24126ea1);
}

TEST(RuntimePhilox, HashesPathsByFnv1a) {
    static_assert(path_hash("") == 14695981039346656037ull);
    static_assert(path_hash("a") == 0xaf63dc4c8601ec8cull);
    static_assert(path_hash("foobar") == 0x85944171f73967e8ull);
}

TEST(RuntimePhilox, DrawsFollowTheirDistributions) {
    const uint64_t hash = path_hash("layer[0].drop");
    const int n = 200000;
    double uniform = 0, normal = 0, square = 0, ones = 0;
    for (int64_t i = 0; i < n; ++i) {
        const float u = uniform01(7, 3, hash, i);
        ASSERT_GE(u, 0.0f);
        ASSERT_LT(u, 1.0f);
        uniform += u;
        const double z = normal01(7, 3, hash, i);
        normal += z;
        square += z * z;
        ones += bernoulli(0.1, 7, 3, hash, i) ? 1 : 0;
    }
    EXPECT_NEAR(uniform / n, 0.5, 0.005);
    EXPECT_NEAR(normal / n, 0.0, 0.01);
    EXPECT_NEAR(square / n, 1.0, 0.02);
    EXPECT_NEAR(ones / n, 0.1, 0.005);
}

} // namespace
} // namespace ssp
