// Accuracy of the functions in units of the last place, and their values at the ends.
#include "common/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace ssp {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// How far `got` is from `want`, in units of the last place of a float of that size.
double ulps(float got, double want) {
    if (std::isnan(want) || std::isnan(got)) {
        return std::isnan(want) && std::isnan(got) ? 0 : 1e9;
    }
    if (std::isinf(got) || std::isinf(static_cast<float>(want))) {
        return static_cast<float>(want) == got || std::fabs(want) > 3.4028e38 ? 0 : 1e9;
    }
    int exponent = 0;
    std::frexp(want, &exponent);
    return std::fabs(got - want) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

template <typename F, typename Reference>
double worst(F f, Reference reference, float low, float high) {
    std::mt19937 random(1);
    double most = 0;
    for (int i = 0; i < 400000; ++i) {
        float x = low + (high - low) * static_cast<float>(random() * 0x1p-32);
        if (i % 2 == 0) { // floats of all sizes
            const float any = detail::bits<float>(static_cast<uint32_t>(random()));
            x = any >= low && any <= high ? any : x;
        }
        most = std::max(most, ulps(f(x), reference(static_cast<double>(x))));
    }
    return most;
}

#define EXPECT_ULPS(name, low, high, bound)                                                                            \
    EXPECT_LE(worst([](float x) { return ssp::name(x); }, [](double x) { return std::name(x); }, low, high), bound)

TEST(RuntimeMath, IsWithinTwoUnitsOfTheLastPlace) {
    EXPECT_ULPS(exp, -110.0f, 95.0f, 1.1);
    EXPECT_ULPS(log, 0.0f, 3e38f, 1.0);
    EXPECT_ULPS(log, 0.5f, 2.0f, 1.0);
    EXPECT_ULPS(tanh, -12.0f, 12.0f, 2.0);
    EXPECT_ULPS(erf, -5.0f, 5.0f, 1.2);
    EXPECT_ULPS(sin, -1000.0f, 1000.0f, 1.8);
    EXPECT_ULPS(cos, -1e8f, 1e8f, 1.8);
    EXPECT_LE(worst([](float x) { return ssp::sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); }, -80, 80), 3);
    EXPECT_LE(worst([](float x) { return ssp::rsqrt(x); }, [](double x) { return 1 / std::sqrt(x); }, 0, 3e38f), 2);
}

TEST(RuntimeMath, IsRightAtTheEnds) {
    EXPECT_EQ(ssp::exp(-inf), 0.0f);
    EXPECT_EQ(ssp::exp(inf), inf);
    EXPECT_EQ(ssp::exp(1000.0f), inf);
    EXPECT_EQ(ssp::exp(-1000.0f), 0.0f);
    EXPECT_EQ(ssp::exp(0.0f), 1.0f);
    EXPECT_TRUE(std::isnan(ssp::exp(nan)));
    EXPECT_EQ(ssp::log(0.0f), -inf);
    EXPECT_EQ(ssp::log(inf), inf);
    EXPECT_EQ(ssp::log(1.0f), 0.0f);
    EXPECT_TRUE(std::isnan(ssp::log(-1.0f)));
    EXPECT_TRUE(std::isnan(ssp::log(nan)));
    EXPECT_EQ(ssp::tanh(inf), 1.0f);
    EXPECT_EQ(ssp::tanh(-100.0f), -1.0f);
    EXPECT_TRUE(std::isnan(ssp::tanh(nan)));
    EXPECT_EQ(ssp::erf(-inf), -1.0f);
    EXPECT_TRUE(std::isnan(ssp::erf(nan)));
    EXPECT_EQ(ssp::sigmoid(-inf), 0.0f);
    EXPECT_EQ(ssp::sigmoid(inf), 1.0f);
    EXPECT_TRUE(std::isnan(ssp::sin(inf)));
    EXPECT_TRUE(std::isnan(ssp::max(nan, 1.0f)) && std::isnan(ssp::max(1.0f, nan)));
    EXPECT_TRUE(std::isnan(ssp::min(nan, 1.0f)) && std::isnan(ssp::min(1.0f, nan)));
    EXPECT_EQ(ssp::max(-inf, -3.0f), -3.0f);
    EXPECT_EQ(ssp::sign(-2.5f), -1.0f);
    EXPECT_EQ(ssp::sign(0.0f), 0.0f);
}

TEST(RuntimeMath, RaisesToPowersAsTheLibraryDoes) {
    const float values[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, -0.5f, 2.0f, -2.0f, 3.0f, 7.25f, 1e-40f, 3e38f, inf, -inf, nan};
    for (const float x : values) {
        for (const float y : {0.0f, 1.0f, -1.0f, 2.0f, -2.0f, 3.0f, -3.0f, 0.5f, -0.5f, 100.0f, 1e10f, inf, -inf, nan}) {
            EXPECT_LE(ulps(ssp::pow(x, y), std::pow(static_cast<double>(x), static_cast<double>(y))), 1.0) << x << " ^ " << y;
        }
    }
    std::mt19937 random(2);
    double most = 0;
    for (int i = 0; i < 200000; ++i) {
        const float x = static_cast<float>(random() % 4000) / 100.0f;
        const float y = static_cast<float>(static_cast<int>(random() % 4000) - 2000) / 100.0f;
        most = std::max(most, ulps(ssp::pow(x, y), std::pow(static_cast<double>(x), static_cast<double>(y))));
    }
    EXPECT_LE(most, 1.0);
}

TEST(RuntimeMath, DividesIntegersDownwards) {
    EXPECT_EQ(ssp::floor_div(int64_t(7), int64_t(2)), 3);
    EXPECT_EQ(ssp::floor_div(int64_t(-7), int64_t(2)), -4);
    EXPECT_EQ(ssp::floor_div(int64_t(-8), int64_t(2)), -4);
    EXPECT_EQ(ssp::mod(int64_t(-7), int64_t(3)), 2);
    EXPECT_EQ(ssp::mod(int64_t(7), int64_t(-3)), -2);
    EXPECT_FLOAT_EQ(ssp::mod(-1.5f, 1.0f), 0.5f);
    EXPECT_EQ(ssp::pow(int64_t(3), int64_t(4)), 81);
    EXPECT_EQ(ssp::round(2.5f), 2.0f);
}

} // namespace
} // namespace ssp
