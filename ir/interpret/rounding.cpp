// Rounds to each element type.
#include "ir/interpret/rounding.h"

#include <cmath>

namespace sspc {
namespace {

struct FloatFormat {
    int mantissa_bits; ///< without the hidden one
    int least_exponent;
    double largest;
    bool saturates;
};

double round_to_format(double x, const FloatFormat& format) {
    if (x == 0 || !std::isfinite(x)) {
        return x;
    }
    int exponent = 0;
    std::frexp(x, &exponent); // |x| in [2^(exponent-1), 2^exponent)
    const int unit = std::max(exponent - 1, format.least_exponent) - format.mantissa_bits;
    const double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -unit)), unit);
    if (std::fabs(rounded) <= format.largest) {
        return rounded;
    }
    return std::copysign(format.saturates ? format.largest : INFINITY, x);
}

double wrap(double x, int bits, bool is_signed) {
    if (!std::isfinite(x)) {
        return 0;
    }
    const double range = std::ldexp(1, bits);
    double r = std::fmod(std::trunc(x), range);
    const double lowest = is_signed ? -range / 2 : 0;
    if (r < lowest) {
        r += range;
    } else if (r >= lowest + range) {
        r -= range;
    }
    return r;
}

} // namespace

double round_to(double x, DType type) {
    switch (type) {
    case DType::F64: return x;
    case DType::F32: return static_cast<float>(x);
    case DType::BF16: return round_to_format(x, {7, -126, 3.3895313892515355e38, false});
    case DType::F16: return round_to_format(x, {10, -14, 65504, false});
    case DType::F8E4M3: return round_to_format(x, {3, -6, 448, true});
    case DType::F8E5M2: return round_to_format(x, {2, -14, 57344, true});
    case DType::I64: return std::trunc(x); // exact up to 2^53, which no index or label reaches
    case DType::I32: return wrap(x, 32, true);
    case DType::I8: return wrap(x, 8, true);
    case DType::U8: return wrap(x, 8, false);
    case DType::Bool: return x != 0 ? 1 : 0;
    }
    return x;
}

double stored(double x, DType type, Precision precision) {
    return precision == Precision::F64 && is_float(type) ? x : round_to(x, type);
}

double computed(double x, DType type, Precision precision) {
    if (!is_float(type)) {
        return type == DType::I64 || type == DType::Bool ? x : round_to(x, type);
    }
    return precision == Precision::F64 || type == DType::F64 ? x : static_cast<float>(x);
}

} // namespace sspc
