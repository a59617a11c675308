// Random draws that depend on what is drawn and never on who draws it: Philox 4x32-10 (Salmon et al., 2011), counter-based.
//
// Definition. A draw belongs to a seed (64 bit), a step (1, 2, …; 0 for initial values), a path (of the statement or the tensor), a purpose
// and an index: the row-major linear index of the element's global coordinates over the logical shape.
//
//     h       = 64-bit FNV-1a of the path's bytes (offset basis 14695981039346656037, prime 1099511628211)
//     counter = (index mod 2^32, index div 2^32, step mod 2^32, purpose + 256 * attempt)
//     key     = ((seed mod 2^32) xor (seed div 2^32) xor (h div 2^32), h mod 2^32)
//     w0..w3  = Philox4x32-10(counter, key)
//
// purpose: 0 a statement's draw, 1 an initial value, 2 a feed's window, 3 a feed's shuffle. attempt is 0 but for truncated normals.
//
//     uniform    u = (w0 div 256) * 2^-24, in [0, 1), exact in f32
//     bernoulli  1 if u < p (compared in double), else 0
//     normal     sqrt(-2 ln(((w0 div 256) + 1) * 2^-24)) * cos(2 pi (w1 div 256) * 2^-24)
//     truncated  the first normal of attempts 0, 1, … whose magnitude is at most 2 (of 64 attempts; then 0)
//     integer    of [0, n): ((w0 + 2^32 w1) * n) div 2^64
//
// Initial values are computed in double and rounded to the tensor's type: normal is mean + std * z, uniform is low + (high - low) * u.
#pragma once

#include "common/math.h"
#include "common/types.h"

#include <cstdint>

namespace ssp {

struct Philox {
    uint32_t w[4];
};

SSP_INLINE Philox philox(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint32_t k0, uint32_t k1) {
#ifdef __CUDACC__
#pragma unroll
#else
#pragma GCC unroll 10
#endif
    for (int round = 0; round < 10; ++round) {
        const uint64_t a = uint64_t(0xD2511F53u) * c0;
        const uint64_t b = uint64_t(0xCD9E8D57u) * c2;
        c0 = static_cast<uint32_t>(b >> 32) ^ c1 ^ k0;
        c1 = static_cast<uint32_t>(b);
        c2 = static_cast<uint32_t>(a >> 32) ^ c3 ^ k1;
        c3 = static_cast<uint32_t>(a);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return {{c0, c1, c2, c3}};
}

SSP_INLINE constexpr uint64_t path_hash(const char* path) {
    uint64_t h = 14695981039346656037ull;
    for (; *path != 0; ++path) {
        h = (h ^ static_cast<unsigned char>(*path)) * 1099511628211ull;
    }
    return h;
}

enum class Purpose : uint32_t { Statement = 0, Initial = 1, Window = 2, Shuffle = 3 };

SSP_INLINE Philox draw(uint64_t seed, int64_t step, uint64_t hash, int64_t index, Purpose purpose = Purpose::Statement,
                       uint32_t attempt = 0) {
    const auto at = static_cast<uint64_t>(index);
    return philox(static_cast<uint32_t>(at), static_cast<uint32_t>(at >> 32), static_cast<uint32_t>(step),
                  static_cast<uint32_t>(purpose) + 256u * attempt,
                  static_cast<uint32_t>(seed) ^ static_cast<uint32_t>(seed >> 32) ^ static_cast<uint32_t>(hash >> 32),
                  static_cast<uint32_t>(hash));
}

/// In [0, 1).
SSP_INLINE float uniform01(uint64_t seed, int64_t step, uint64_t hash, int64_t index) {
    return static_cast<float>(draw(seed, step, hash, index).w[0] >> 8) * 0x1p-24f;
}
SSP_INLINE float normal01(uint64_t seed, int64_t step, uint64_t hash, int64_t index) {
    const Philox p = draw(seed, step, hash, index);
    const float u = (static_cast<float>(p.w[0] >> 8) + 1.0f) * 0x1p-24f;
    const float angle = static_cast<float>(p.w[1] >> 8) * (0x1p-24f * 6.283185307179586f);
    return sqrt(-2.0f * log(u)) * cos(angle);
}
SSP_INLINE bool bernoulli(double probability, uint64_t seed, int64_t step, uint64_t hash, int64_t index) {
    return static_cast<double>(uniform01(seed, step, hash, index)) < probability;
}

} // namespace ssp
