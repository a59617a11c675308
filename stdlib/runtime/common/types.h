// Element types that C++ lacks, parts of axes, and the macros that let one source serve a GPU and a CPU.
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define SSP_INLINE __host__ __device__ __forceinline__
#else
#define SSP_INLINE inline __attribute__((always_inline))
#endif

namespace ssp {

/// The coordinates begin, …, end - 1 of an axis.
struct Interval {
    int64_t begin = 0;
    int64_t end = 0;
    SSP_INLINE constexpr int64_t size() const { return end - begin; }
};

/// Part k of n of N elements: the first N mod n parts have one more.
SSP_INLINE constexpr int64_t part_size(int64_t N, int64_t n, int64_t k) {
    return N / n + (k < N % n ? 1 : 0);
}
SSP_INLINE constexpr int64_t part_begin(int64_t N, int64_t n, int64_t k) {
    return N / n * k + (k < N % n ? k : N % n);
}
SSP_INLINE constexpr Interval part_of(Interval whole, int64_t n, int64_t k) {
    const int64_t begin = whole.begin + part_begin(whole.size(), n, k);
    return {begin, begin + part_size(whole.size(), n, k)};
}

namespace detail {

template <typename To, typename From>
SSP_INLINE To bits(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

/// A float of `E` exponent and `M` mantissa bits, rounded to nearest even. `Finite`: no infinities, all ones is NaN (f8e4m3).
template <int E, int M, bool Finite>
SSP_INLINE uint32_t narrow(float x) {
    constexpr int bias = (1 << (E - 1)) - 1;
    const uint32_t u = bits<uint32_t>(x);
    const uint32_t sign = (u >> 31) << (E + M);
    const uint32_t magnitude = u & 0x7fffffffu;
    constexpr uint32_t infinity = ((1u << E) - 1) << M;
    constexpr uint32_t nan = infinity | (Finite ? (1u << M) - 1 : 1u << (M - 1));
    constexpr uint32_t top = Finite ? nan - 1 : infinity - 1; // the largest finite number
    if (magnitude > 0x7f800000u) {
        return sign | nan;
    }
    // 2^(1 - bias): below it numbers are multiples of the smallest one.
    const int exponent = static_cast<int>(magnitude >> 23) - 127 + bias;
    uint32_t result;
    if (exponent > 0) {
        const uint32_t kept = magnitude + ((1u << (22 - M)) - 1) + ((magnitude >> (23 - M)) & 1);
        result = (kept >> (23 - M)) - (static_cast<uint32_t>(127 - bias) << M);
        if (exponent >= (1 << E) || result > top) {
            result = Finite ? nan : infinity;
        }
    } else {
        // Adding a number whose last bit is worth the smallest one rounds to it.
        const float unit = bits<float>(static_cast<uint32_t>(127 + 23 + 1 - bias - M) << 23);
        result = bits<uint32_t>(bits<float>(magnitude) + unit) - bits<uint32_t>(unit);
    }
    return sign | result;
}

template <int E, int M, bool Finite>
SSP_INLINE float widen(uint32_t v) {
    constexpr int bias = (1 << (E - 1)) - 1;
    const uint32_t sign = (v >> (E + M)) << 31;
    const uint32_t magnitude = v & ((1u << (E + M)) - 1);
    const uint32_t exponent = magnitude >> M;
    const bool special = Finite ? magnitude == (1u << (E + M)) - 1 : exponent == (1u << E) - 1;
    if (special) {
        const bool is_nan = Finite || (magnitude & ((1u << M) - 1)) != 0;
        return bits<float>(sign | (is_nan ? 0x7fc00000u : 0x7f800000u));
    }
    if (exponent == 0) {
        const float unit = bits<float>(static_cast<uint32_t>(127 + 1 - bias - M) << 23);
        return bits<float>(sign | bits<uint32_t>(static_cast<float>(magnitude) * unit));
    }
    return bits<float>(sign | ((magnitude << (23 - M)) + (static_cast<uint32_t>(127 - bias) << 23)));
}

} // namespace detail

/// A narrow float as stored; it is computed with as float.
template <typename Word, int E, int M, bool Finite>
struct NarrowFloat {
    Word word;

    NarrowFloat() = default;
    SSP_INLINE NarrowFloat(float x) : word(static_cast<Word>(detail::narrow<E, M, Finite>(x))) {}
    SSP_INLINE operator float() const { return detail::widen<E, M, Finite>(word); }

#ifdef __CUDACC__
    /// Exchanges the 32-bit word that holds the element until nobody came between.
    static __device__ void atomic_add(NarrowFloat* place, NarrowFloat value) {
        const uintptr_t address = reinterpret_cast<uintptr_t>(place);
        unsigned* whole = reinterpret_cast<unsigned*>(address & ~uintptr_t(3));
        const unsigned shift = static_cast<unsigned>(address & 3) * 8;
        const unsigned mask = ((1u << (8 * sizeof(Word) - 1)) * 2 - 1) << shift;
        unsigned seen = *whole;
        for (;;) {
            NarrowFloat old;
            old.word = static_cast<Word>((seen & mask) >> shift);
            const NarrowFloat sum(float(old) + float(value));
            const unsigned next = (seen & ~mask) | (static_cast<unsigned>(sum.word) << shift);
            const unsigned found = atomicCAS(whole, seen, next);
            if (found == seen) {
                return;
            }
            seen = found;
        }
    }
#endif
};

/// The upper half of a float.
struct bf16 {
    uint16_t word;

    bf16() = default;
    SSP_INLINE bf16(float x) {
        const uint32_t u = detail::bits<uint32_t>(x);
        const uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1)) >> 16;
        word = static_cast<uint16_t>(x != x ? 0x7fc0u : rounded);
    }
    SSP_INLINE operator float() const { return detail::bits<float>(static_cast<uint32_t>(word) << 16); }

#ifdef __CUDACC__
    static __device__ void atomic_add(bf16* place, bf16 value) {
        const uintptr_t address = reinterpret_cast<uintptr_t>(place);
        unsigned* whole = reinterpret_cast<unsigned*>(address & ~uintptr_t(3));
        const unsigned shift = static_cast<unsigned>(address & 2) * 8;
        unsigned seen = *whole;
        for (;;) {
            bf16 old;
            old.word = static_cast<uint16_t>(seen >> shift);
            const bf16 sum(float(old) + float(value));
            const unsigned next = (seen & ~(0xffffu << shift)) | (static_cast<unsigned>(sum.word) << shift);
            const unsigned found = atomicCAS(whole, seen, next);
            if (found == seen) {
                return;
            }
            seen = found;
        }
    }
#endif
};
using f16 = NarrowFloat<uint16_t, 5, 10, false>;
using f8e5m2 = NarrowFloat<uint8_t, 5, 2, false>;
using f8e4m3 = NarrowFloat<uint8_t, 4, 3, true>;

enum class DType { F64, F32, BF16, F16, F8E4M3, F8E5M2, I64, I32, I8, U8, Bool };

constexpr int64_t size_of(DType type) {
    switch (type) {
    case DType::F64:
    case DType::I64: return 8;
    case DType::F32:
    case DType::I32: return 4;
    case DType::BF16:
    case DType::F16: return 2;
    default: return 1;
    }
}

} // namespace ssp
