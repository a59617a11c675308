// Random draws by Philox 4x32-10, as docs/language.md defines them; written independently of the runtime's.
#pragma once

#include "ir/graph/graph.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace sspc {

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

enum class DrawPurpose : uint32_t { Statement = 0, Initial = 1, Window = 2, Shuffle = 3 };

/// The four words that belong to one element: `index` is the row-major index of its global coordinates.
std::array<uint32_t, 4> draw_words(uint64_t seed, int64_t step, std::string_view path,
                                   uint64_t index, DrawPurpose purpose, uint32_t attempt = 0);
/// The value of a Random expression at an element, in double.
double draw(const Expr& random, uint64_t seed, int64_t step, uint64_t index);
/// The initial value of an element of a parameter or state, before it is rounded to its type.
double initial_value(const Init& init, std::string_view path, uint64_t index, uint64_t seed);

} // namespace sspc
