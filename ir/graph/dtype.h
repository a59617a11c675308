// Element types of tensors and expressions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sspc {

enum class DType { F64, F32, BF16, F16, F8E4M3, F8E5M2, I64, I32, I8, U8, Bool };

/// Bytes of one element.
int64_t size_of(DType type);
bool is_float(DType type);
bool is_integer(DType type);
/// `f32`, `i64`, `bool`, … as the language spells them.
std::string_view name_of(DType type);
std::optional<DType> find_dtype(std::string_view name);

} // namespace sspc
