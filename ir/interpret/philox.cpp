// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw 2011) and the distributions made of its words.
#include "ir/interpret/philox.h"

#include "ir/support/check.h"

#include <cmath>
#include <numbers>

namespace sspc {
namespace {

constexpr uint64_t multiplier_0 = 0xD2511F53;
constexpr uint64_t multiplier_1 = 0xCD9E8D57;
constexpr uint32_t key_step_0 = 0x9E3779B9;
constexpr uint32_t key_step_1 = 0xBB67AE85;

uint32_t high(uint64_t x) {
    return static_cast<uint32_t>(x >> 32);
}

uint32_t low(uint64_t x) {
    return static_cast<uint32_t>(x);
}

uint64_t fnv1a(std::string_view text) {
    uint64_t hash = 14695981039346656037ULL;
    for (const char c : text) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 1099511628211ULL;
    }
    return hash;
}

/// The upper 24 bits as a fraction: exact in f32.
double fraction(uint32_t word) {
    return std::ldexp(word >> 8, -24);
}

double normal(const std::array<uint32_t, 4>& words) {
    const double u = fraction(words[0]) + std::ldexp(1, -24); // in (0, 1]
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * fraction(words[1]));
}

double truncated_normal(std::string_view path, uint64_t index, uint64_t seed) {
    for (uint32_t attempt = 0; attempt < 64; ++attempt) {
        const double z = normal(draw_words(seed, 0, path, index, DrawPurpose::Initial, attempt));
        if (std::fabs(z) <= 2) {
            return z;
        }
    }
    return 0;
}

} // namespace

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
    for (int round = 0; round < 10; ++round) {
        const uint64_t p0 = multiplier_0 * counter[0];
        const uint64_t p1 = multiplier_1 * counter[2];
        counter = {high(p1) ^ counter[1] ^ key[0], low(p1), high(p0) ^ counter[3] ^ key[1],
                   low(p0)};
        key = {key[0] + key_step_0, key[1] + key_step_1};
    }
    return counter;
}

std::array<uint32_t, 4> draw_words(uint64_t seed, int64_t step, std::string_view path,
                                   uint64_t index, DrawPurpose purpose, uint32_t attempt) {
    const uint64_t hash = fnv1a(path);
    return philox({low(index), high(index), low(static_cast<uint64_t>(step)),
                   static_cast<uint32_t>(purpose) + 256 * attempt},
                  {low(seed) ^ high(seed) ^ high(hash), low(hash)});
}

double draw(const Expr& random, uint64_t seed, int64_t step, uint64_t index) {
    SSPC_CHECK(random.op == ExprOp::Random, "a draw from what is not random");
    const auto words = draw_words(seed, step, random.path, index, DrawPurpose::Statement);
    switch (random.draw) {
    case DrawKind::Uniform: return fraction(words[0]);
    case DrawKind::Normal: return normal(words);
    case DrawKind::Bernoulli: return fraction(words[0]) < random.number ? 1 : 0;
    }
    SSPC_UNREACHABLE("no kind of draw");
}

double initial_value(const Init& init, std::string_view path, uint64_t index, uint64_t seed) {
    const auto words = [&] { return draw_words(seed, 0, path, index, DrawPurpose::Initial); };
    switch (init.kind) {
    case Init::Kind::Zeros: return 0;
    case Init::Kind::Ones: return 1;
    case Init::Kind::Constant: return init.a;
    case Init::Kind::Normal: return init.a + init.b * normal(words());
    case Init::Kind::Uniform: return init.a + (init.b - init.a) * fraction(words()[0]);
    case Init::Kind::TruncatedNormal:
        return init.a + init.b * truncated_normal(path, index, seed);
    }
    SSPC_UNREACHABLE("no kind of initial value");
}

} // namespace sspc
