// Random numbers that are the same everywhere: the engine is fixed by the standard, the distributions of the library are not.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace sspc::random {

class Numbers {
public:
    explicit Numbers(uint64_t seed) : engine_(seed * 0x9E3779B97F4A7C15ull + 1) {}
    /// 0 … n-1
    int below(int n) { return n <= 1 ? 0 : static_cast<int>(engine_() % static_cast<uint64_t>(n)); }
    int between(int low, int high) { return low + below(high - low + 1); }
    bool chance(double p) { return uniform() < p; }
    double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
    double normal() {
        return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform());
    }
    template <typename T> const T& pick(const std::vector<T>& from) { return from[static_cast<size_t>(below(static_cast<int>(from.size())))]; }
    template <typename T> void shuffle(std::vector<T>& items) {
        for (size_t i = items.size(); i > 1; --i) {
            std::swap(items[i - 1], items[static_cast<size_t>(below(static_cast<int>(i)))]);
        }
    }

private:
    std::mt19937_64 engine_;
};

} // namespace sspc::random
