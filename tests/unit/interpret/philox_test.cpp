// Philox against its published vectors, and the distributions.
#include "ir/interpret/philox.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sspc {
namespace {

using Words = std::array<uint32_t, 4>;

TEST(Philox, GivesThePublishedVectors) { // Random123, kat_vectors, philox4x32 of 10 rounds
    EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
              (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
              (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Draws, DependOnSeedStepPathAndElement) {
    const auto words = [](uint64_t seed, int64_t step, std::string_view path, uint64_t index) {
        return draw_words(seed, step, path, index, DrawPurpose::Statement);
    };
    const Words base = words(1, 1, "drop", 0);
    EXPECT_EQ(base, words(1, 1, "drop", 0));
    EXPECT_NE(base, words(2, 1, "drop", 0));
    EXPECT_NE(base, words(1, 2, "drop", 0));
    EXPECT_NE(base, words(1, 1, "drop#2", 0));
    EXPECT_NE(base, words(1, 1, "drop", 1));
    EXPECT_NE(base, words(1, 1, "drop", uint64_t{1} << 32));
    EXPECT_NE(base, draw_words(1, 1, "drop", 0, DrawPurpose::Initial));
}

struct Moments {
    double mean = 0;
    double deviation = 0;
    double largest = 0;
};

template <typename Draw>
Moments moments(Draw draw) {
    constexpr int count = 20000;
    Moments result;
    double squares = 0;
    for (uint64_t i = 0; i < count; ++i) {
        const double x = draw(i);
        result.mean += x / count;
        squares += x * x / count;
        result.largest = std::max(result.largest, std::fabs(x));
    }
    result.deviation = std::sqrt(squares - result.mean * result.mean);
    return result;
}

TEST(Draws, HaveTheirDistributions) {
    const ExprPtr uniform = random_draw(DrawKind::Uniform, 0, "u", {});
    const ExprPtr normal = random_draw(DrawKind::Normal, 0, "n", {});
    const ExprPtr bernoulli = random_draw(DrawKind::Bernoulli, 0.25, "b", {});
    const Moments u = moments([&](uint64_t i) { return draw(*uniform, 7, 3, i); });
    const Moments n = moments([&](uint64_t i) { return draw(*normal, 7, 3, i); });
    const Moments b = moments([&](uint64_t i) { return draw(*bernoulli, 7, 3, i); });
    EXPECT_NEAR(u.mean, 0.5, 0.01);
    EXPECT_LT(u.largest, 1);
    EXPECT_NEAR(n.mean, 0, 0.03);
    EXPECT_NEAR(n.deviation, 1, 0.03);
    EXPECT_NEAR(b.mean, 0.25, 0.01);
}

TEST(InitialValues, FollowTheirDeclaration) {
    const Init normal{Init::Kind::Normal, 1, 0.5};
    const Moments n = moments([&](uint64_t i) { return initial_value(normal, "w", i, 1); });
    EXPECT_NEAR(n.mean, 1, 0.02);
    EXPECT_NEAR(n.deviation, 0.5, 0.02);
    const Init truncated{Init::Kind::TruncatedNormal, 0, 1};
    const Moments t = moments([&](uint64_t i) { return initial_value(truncated, "w", i, 1); });
    EXPECT_LE(t.largest, 2);
    EXPECT_NEAR(t.deviation, 0.88, 0.02);
    EXPECT_EQ(initial_value({Init::Kind::Ones}, "w", 0, 1), 1);
    EXPECT_EQ(initial_value({Init::Kind::Constant, 0.5}, "w", 0, 1), 0.5);
}

} // namespace
} // namespace sspc
