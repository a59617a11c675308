// Numbers as the element types hold them.
#pragma once

#include "ir/graph/dtype.h"

namespace sspc {

/// F64: every float type is carried in f64 and never rounded (the mathematical value, nearly). F32: each result is rounded to its type;
/// types narrower than f32 are rounded where they are stored or cast to, and computed with in f32.
enum class Precision { F64, F32 };

/// The nearest value of the type (to even). Past the largest: infinity, but the largest for the 8-bit floats, as hardware converts.
/// Integers are truncated and wrap.
double round_to(double value, DType type);

/// A value that is stored in a tensor of this type, or cast to it.
double stored(double value, DType type, Precision precision);
/// The result of one operation of this type.
double computed(double value, DType type, Precision precision);

} // namespace sspc
