// Element types: their sizes and names.
#include "ir/graph/dtype.h"

#include "ir/support/check.h"

#include <array>

namespace sspc {
namespace {

struct Row {
    DType type;
    std::string_view name;
    int64_t size;
};
constexpr std::array<Row, 11> rows{{{DType::F64, "f64", 8},
                                    {DType::F32, "f32", 4},
                                    {DType::BF16, "bf16", 2},
                                    {DType::F16, "f16", 2},
                                    {DType::F8E4M3, "f8e4m3", 1},
                                    {DType::F8E5M2, "f8e5m2", 1},
                                    {DType::I64, "i64", 8},
                                    {DType::I32, "i32", 4},
                                    {DType::I8, "i8", 1},
                                    {DType::U8, "u8", 1},
                                    {DType::Bool, "bool", 1}}};

const Row& row_of(DType type) {
    for (const Row& row : rows) {
        if (row.type == type) {
            return row;
        }
    }
    SSPC_UNREACHABLE("an element type without a row");
}

} // namespace

int64_t size_of(DType type) {
    return row_of(type).size;
}

bool is_float(DType type) {
    return type <= DType::F8E5M2;
}

bool is_integer(DType type) {
    return type >= DType::I64 && type <= DType::U8;
}

std::string_view name_of(DType type) {
    return row_of(type).name;
}

std::optional<DType> find_dtype(std::string_view name) {
    for (const Row& row : rows) {
        if (row.name == name) {
            return row.type;
        }
    }
    return std::nullopt;
}

} // namespace sspc
