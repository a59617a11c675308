// Elementary functions of generated kernels. For float on the host they are polynomials without branches, so that loops that call
// them are vectorised; within about 2 ulp, infinities, overflow and NaN as in the C library. Elsewhere they are the library's.
#pragma once

#include "common/types.h"

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace ssp {

/// Largest, smallest: NaN if either is NaN, as in NumPy.
template <typename T>
SSP_INLINE T max(T a, T b) {
    return (a > b) | (a != a) ? a : b;
}
template <typename T>
SSP_INLINE T min(T a, T b) {
    return (a < b) | (a != a) ? a : b;
}
template <typename T>
SSP_INLINE T sign(T x) {
    return x > T(0) ? T(1) : x < T(0) ? T(-1) : x;
}
template <typename T>
SSP_INLINE bool isnan(T x) {
    return x != x;
}
/// Of integers, rounded down.
template <typename T>
SSP_INLINE T floor_div(T a, T b) {
    static_assert(std::is_integral_v<T>);
    const T quotient = a / b;
    return static_cast<T>(quotient - ((a % b != 0) & ((a < 0) != (b < 0)) ? 1 : 0));
}

#ifdef __CUDA_ARCH__
#define SSP_MATH(name)                                                                                                 \
    SSP_INLINE double name(double x) { return ::name(x); }                                                             \
    SSP_INLINE float name(float x) { return ::name##f(x); }
SSP_MATH(exp)
SSP_MATH(log)
SSP_MATH(tanh)
SSP_MATH(erf)
SSP_MATH(sin)
SSP_MATH(cos)
#undef SSP_MATH
SSP_INLINE float pow(float x, float y) { return ::powf(x, y); }
SSP_INLINE double pow(double x, double y) { return ::pow(x, y); }
#else

namespace detail {

SSP_INLINE float fma(float a, float b, float c) {
#ifdef __FMA__
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}
SSP_INLINE double fma(double a, double b, double c) {
#ifdef __FMA__
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}
SSP_INLINE float with_sign(float magnitude, float sign) {
    return bits<float>((bits<uint32_t>(magnitude) & 0x7fffffffu) | (bits<uint32_t>(sign) & 0x80000000u));
}
/// 2^n for -252 <= n <= 254 in two factors, so that numbers below the normal ones come out.
SSP_INLINE float scale(float x, int32_t n) {
    const int32_t half = n >> 1;
    return x * bits<float>(static_cast<uint32_t>(half + 127) << 23) *
           bits<float>(static_cast<uint32_t>(n - half + 127) << 23);
}

} // namespace detail

SSP_INLINE float exp(float x) {
    float c = x > 89.0f ? 89.0f : x; // NaN passes both
    c = c < -104.0f ? -104.0f : c;
    constexpr float magic = 12582912.0f; // adding it rounds to an integer
    const float shifted = detail::fma(c, 1.442695041f, magic);
    const float n = shifted - magic;
    float r = detail::fma(n, -0.693145752f, c);
    r = detail::fma(n, -1.42860677e-6f, r);
    float p = 1.98527617612853646e-4f;
    p = detail::fma(p, r, 1.39304355252534151e-3f);
    p = detail::fma(p, r, 8.33336077630519866e-3f);
    p = detail::fma(p, r, 4.16664853692054748e-2f);
    p = detail::fma(p, r, 1.66666671633720398e-1f);
    p = detail::fma(p, r, 0.5f);
    p = detail::fma(r * r, p, r) + 1.0f;
    return detail::scale(p, static_cast<int32_t>(detail::bits<uint32_t>(shifted) - detail::bits<uint32_t>(magic)));
}

SSP_INLINE float log(float x) {
    const bool tiny = x < 1.17549435e-38f;
    float m = tiny ? x * 8388608.0f : x;
    const uint32_t e = (detail::bits<uint32_t>(m) - 0x3f2aaaabu) & 0xff800000u;
    m = detail::bits<float>(detail::bits<uint32_t>(m) - e) - 1.0f; // in [-1/3, 1/3]
    const float exponent = detail::fma(static_cast<float>(static_cast<int32_t>(e)), 1.19209290e-7f, tiny ? -23.0f : 0.0f);
    const float s = m * m;
    float r = -0.130310059f;
    float t = 0.140869141f;
    r = detail::fma(r, s, -0.121483512f);
    t = detail::fma(t, s, 0.139814854f);
    r = detail::fma(r, s, -0.166846126f);
    t = detail::fma(t, s, 0.200120345f);
    r = detail::fma(r, s, -0.249996200f);
    r = detail::fma(t, m, r);
    r = detail::fma(r, m, 0.333331972f);
    r = detail::fma(r, m, -0.5f);
    r = detail::fma(r, s, m);
    r = detail::fma(exponent, 0.693147182f, r);
    r = x < __builtin_inff() ? r : x;     // infinity and NaN
    r = x > 0.0f ? r : (x == 0.0f ? -__builtin_inff() : x < 0.0f ? __builtin_nanf("") : r);
    return r;
}

SSP_INLINE float tanh(float x) {
    const float t = detail::bits<float>(detail::bits<uint32_t>(x) & 0x7fffffffu);
    const float large = detail::with_sign(1.0f - 2.0f / (exp(2.0f * t) + 1.0f), x);
    const float s = x * x;
    float small = 1.57394409e-2f;
    small = detail::fma(small, s, -5.23025580e-2f);
    small = detail::fma(small, s, 1.33152470e-1f);
    small = detail::fma(small, s, -3.33327681e-1f);
    small = detail::fma(small * s, x, x);
    return t >= 0.599609375f ? large : small;
}

SSP_INLINE float erf(float x) {
    const float t = detail::bits<float>(detail::bits<uint32_t>(x) & 0x7fffffffu);
    const float s = x * x;
    float p = detail::fma(-1.72853470e-5f, t, 3.83197126e-4f);
    p = detail::fma(p, s, detail::fma(-3.88396438e-3f, t, 2.42546219e-2f));
    p = detail::fma(p, t, -1.06777877e-1f);
    p = detail::fma(p, t, -6.34846687e-1f);
    p = detail::fma(p, t, -1.28717512e-1f);
    p = detail::fma(p, t, -t);
    const float large = detail::with_sign(1.0f - exp(p), x);
    float q = -5.96761703e-4f;
    q = detail::fma(q, s, 4.99119423e-3f);
    q = detail::fma(q, s, -2.67681349e-2f);
    q = detail::fma(q, s, 1.12819925e-1f);
    q = detail::fma(q, s, -3.76125336e-1f);
    q = detail::fma(q, s, 1.28379166e-1f);
    const float small = detail::fma(q, x, x);
    return t > 0.927734375f ? large : t <= 0.927734375f ? small : x;
}

namespace detail {

/// sin of x + quarter * pi / 2. The reduction is in double: exact enough up to 1e9.
SSP_INLINE float sine(float x, uint32_t quarter) {
    constexpr double magic = 6755399441055744.0;
    const double wide = x;
    const double shifted = wide * 0.63661977236758134 + magic;
    const double n = shifted - magic;
    double d = fma(n, -1.5707963267948966, wide);
    d = fma(n, -6.123233995736766e-17, d);
    float r = static_cast<float>(d);
    r = r > 1.0f ? 1.0f : r < -1.0f ? -1.0f : r;
    const auto turn = static_cast<uint32_t>(bits<uint64_t>(shifted) + quarter);
    const float s = r * r;
    float p = 2.86567956e-6f;
    p = fma(p, s, -1.98559923e-4f);
    p = fma(p, s, 8.33338592e-3f);
    p = fma(p, s, -1.66666672e-1f);
    p = fma(p * s, r, r);
    float q = 2.44677067e-5f;
    q = fma(q, s, -1.38877297e-3f);
    q = fma(q, s, 4.16666567e-2f);
    q = fma(q, s, -0.5f);
    q = fma(q, s, 1.0f);
    const float value = (turn & 1) != 0 ? q : p;
    return (turn & 2) != 0 ? -value : value;
}

} // namespace detail

SSP_INLINE float sin(float x) { return detail::sine(x, 0); }
SSP_INLINE float cos(float x) { return detail::sine(x, 1); }

/// Through double, so that one rounding remains.
SSP_INLINE float pow(float x, float y) {
    const uint64_t b = detail::bits<uint64_t>(__builtin_fabs(static_cast<double>(x)));
    const uint64_t e = (b - 0x3fe5555555555555ull) & ~0xfffffffffffffull;
    const double m = detail::bits<double>(b - e);
    // e is a multiple of 2^52; in its upper half it is a small integer, which converts in vectors.
    const double exponent = static_cast<double>(static_cast<int32_t>(static_cast<uint32_t>(e >> 32))) * 0x1p-20;
    const double f = (m - 1.0) / (m + 1.0);
    const double s = f * f;
    double l = 1.0 / 15.0;
    l = detail::fma(l, s, 1.0 / 13.0);
    l = detail::fma(l, s, 1.0 / 11.0);
    l = detail::fma(l, s, 1.0 / 9.0);
    l = detail::fma(l, s, 1.0 / 7.0);
    l = detail::fma(l, s, 1.0 / 5.0);
    l = detail::fma(l, s, 1.0 / 3.0);
    l = detail::fma(l, s, 1.0);
    double power = static_cast<double>(y) * detail::fma(l * f, 2.8853900817779268, exponent);
    power = power > 300.0 ? 300.0 : power < -300.0 ? -300.0 : power;
    constexpr double magic = 6755399441055744.0;
    const double shifted = power + magic;
    const double r = (power - (shifted - magic)) * 0.69314718055994531;
    double p = 1.0 / 362880.0;
    p = detail::fma(p, r, 1.0 / 40320.0);
    p = detail::fma(p, r, 1.0 / 5040.0);
    p = detail::fma(p, r, 1.0 / 720.0);
    p = detail::fma(p, r, 1.0 / 120.0);
    p = detail::fma(p, r, 1.0 / 24.0);
    p = detail::fma(p, r, 1.0 / 6.0);
    p = detail::fma(p, r, 0.5);
    p = detail::fma(p, r, 1.0);
    p = detail::fma(p, r, 1.0);
    const uint64_t n = detail::bits<uint64_t>(shifted) - detail::bits<uint64_t>(magic);
    float value = static_cast<float>(p * detail::bits<double>((n + 1023) << 52));

    const float size = x < 0 ? -x : x;
    const float inf = __builtin_inff();
    value = size == 0.0f ? (y > 0.0f ? 0.0f : inf) : value;
    value = size == inf ? (y > 0.0f ? inf : 0.0f) : value;
    const float absolute = y < 0 ? -y : y;
    value = absolute == inf ? (size == 1.0f ? 1.0f : (size > 1.0f) == (y > 0.0f) ? inf : 0.0f) : value;
    const float whole = __builtin_floorf(absolute);
    const bool odd = whole == absolute && absolute < 16777216.0f && __builtin_floorf(absolute * 0.5f) * 2.0f != absolute;
    const bool negative = (detail::bits<uint32_t>(x) >> 31) != 0;
    value = negative & odd ? -value : value;
    value = (x < 0.0f) & (whole != absolute) & (size != inf) & (absolute != inf) ? __builtin_nanf("") : value;
    value = x != x ? x : y != y ? y : value;
    return (y == 0.0f) | (x == 1.0f) ? 1.0f : value;
}

#define SSP_MATH(name)                                                                                                 \
    SSP_INLINE double name(double x) { return std::name(x); }
SSP_MATH(exp)
SSP_MATH(log)
SSP_MATH(tanh)
SSP_MATH(erf)
SSP_MATH(sin)
SSP_MATH(cos)
#undef SSP_MATH
SSP_INLINE double pow(double x, double y) { return std::pow(x, y); }

#endif

SSP_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
SSP_INLINE double sqrt(double x) { return __builtin_sqrt(x); }
SSP_INLINE float floor(float x) { return __builtin_floorf(x); }
SSP_INLINE double floor(double x) { return __builtin_floor(x); }
SSP_INLINE float ceil(float x) { return __builtin_ceilf(x); }
SSP_INLINE double ceil(double x) { return __builtin_ceil(x); }
/// To the nearest integer, halves to the even one, as in NumPy.
SSP_INLINE float round(float x) { return __builtin_rintf(x); }
SSP_INLINE double round(double x) { return __builtin_rint(x); }

template <typename T>
SSP_INLINE T abs(T x) {
    if constexpr (std::is_same_v<T, float>) {
        return __builtin_fabsf(x);
    } else if constexpr (std::is_same_v<T, double>) {
        return __builtin_fabs(x);
    } else {
        return x < T(0) ? static_cast<T>(-x) : x;
    }
}
template <typename T>
SSP_INLINE T rsqrt(T x) {
    return T(1) / sqrt(x);
}
template <typename T>
SSP_INLINE T sigmoid(T x) {
    return T(1) / (T(1) + exp(-x));
}
/// The remainder has the divisor's sign, as in Python.
template <typename T>
SSP_INLINE T mod(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        return a - floor(a / b) * b;
    } else {
        return static_cast<T>(a - floor_div(a, b) * b);
    }
}
/// Integers to a power that is not negative; powers below 0 give 0, but for 1 and -1.
SSP_INLINE int64_t pow(int64_t x, int64_t y) {
    int64_t result = 1;
    if (y < 0) {
        return x == 1 ? 1 : x == -1 ? (y % 2 != 0 ? -1 : 1) : 0;
    }
    for (; y > 0; y >>= 1, x *= x) {
        result *= (y & 1) != 0 ? x : 1;
    }
    return result;
}

} // namespace ssp
