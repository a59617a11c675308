// What `make` makes of operations, and their text.
#include "ir/graph/expr.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sspc {
namespace {

const ExprPtr x = access(0, DType::F32, std::vector<AxisId>{AxisId(0)});
const ExprPtr y = access(1, DType::F32, std::vector<AxisId>{AxisId(1)});

ExprPtr c(double value) {
    return constant(value, DType::F32);
}

std::string text(const ExprPtr& expr) {
    return to_text(
        expr, [](AxisId axis) { return std::string(axis.value == 0 ? "i" : "j"); },
        [](int slot) { return std::string(slot == 0 ? "x" : "y"); });
}

TEST(Make, FoldsConstants) {
    EXPECT_EQ(text(c(2) * c(3) + c(1)), "7");
    EXPECT_EQ(text(make(ExprOp::Lt, {c(1), c(2)})), "true");
    EXPECT_EQ(text(make(ExprOp::Sqrt, {c(16)})), "4");
    EXPECT_EQ(text(make(ExprOp::Mod, {constant(-1, DType::I64), constant(4, DType::I64)})), "3");
    EXPECT_EQ(text(make(ExprOp::FloorDiv, {constant(-1, DType::I64), constant(4, DType::I64)})),
              "-1");
    EXPECT_EQ(text(make(ExprOp::And, {make(ExprOp::Lt, {x, y}), constant(1, DType::Bool)})),
              "x[i] < y[j]");
    EXPECT_EQ(text(cast(c(2.7), DType::I32)), "2");
}

TEST(Make, DropsNeutralElements) {
    EXPECT_EQ(text(x + c(0)), "x[i]");
    EXPECT_EQ(text(c(0) + x), "x[i]");
    EXPECT_EQ(text(x - c(0)), "x[i]");
    EXPECT_EQ(text(c(0) - x), "-x[i]");
    EXPECT_EQ(text(x * c(1)), "x[i]");
    EXPECT_EQ(text(x * c(-1)), "-x[i]");
    EXPECT_EQ(text(x / c(1)), "x[i]");
    EXPECT_EQ(text(make(ExprOp::Pow, {x, c(1)})), "x[i]");
    EXPECT_EQ(text(make(ExprOp::Pow, {x, c(0)})), "1");
}

TEST(Make, TakesAConstantZeroFactorForZero) {
    EXPECT_TRUE(is_constant(x * c(0), 0));
    EXPECT_TRUE(is_constant(c(0) / x, 0));
    EXPECT_EQ((x * c(0))->type, DType::F32);
}

TEST(Make, MovesSignsOutAndConstantsToTheEnd) {
    const ExprPtr minus = make(ExprOp::Neg, {x});
    EXPECT_EQ(text(make(ExprOp::Neg, {minus})), "x[i]");
    EXPECT_EQ(text(minus * y), "-(x[i] * y[j])");
    EXPECT_EQ(text(minus * make(ExprOp::Neg, {y})), "x[i] * y[j]");
    EXPECT_EQ(text(y + minus), "y[j] - x[i]");
    EXPECT_EQ(text(y - minus), "y[j] + x[i]");
    EXPECT_EQ(text(make(ExprOp::Neg, {x - y})), "y[j] - x[i]");
    EXPECT_EQ(text((c(2) * x) * c(3)), "x[i] * 6");
    EXPECT_EQ(text((x * c(2)) * y), "x[i] * y[j] * 2");
    EXPECT_EQ(text(x * (y * c(2)) * c(0.5)), "x[i] * y[j]");
    EXPECT_EQ(text(x * c(8) / c(2)), "x[i] * 4");
    EXPECT_EQ(text((x + c(2)) - c(3)), "x[i] - 1");
    EXPECT_EQ(text((x / c(4)) * y), "x[i] * y[j] / 4");
    EXPECT_EQ(text(x * (y / c(4)) * c(2)), "x[i] * y[j] * 0.5");
    EXPECT_EQ(text(x + x), "x[i] * 2");
}

TEST(Make, DecidesWhere) {
    const ExprPtr less = make(ExprOp::Lt, {x, y});
    EXPECT_EQ(text(make(ExprOp::Where, {constant(1, DType::Bool), x, y})), "x[i]");
    EXPECT_EQ(text(make(ExprOp::Where, {less, x, x})), "x[i]");
    EXPECT_EQ(text(make(ExprOp::Where, {make(ExprOp::Not, {less}), x, y})),
              "where(x[i] < y[j], y[j], x[i])");
    const ExprPtr inner = make(ExprOp::Where, {less, x, c(0)});
    EXPECT_EQ(text(make(ExprOp::Where, {less, inner, c(0)})), "where(x[i] < y[j], x[i], 0)");
}

TEST(Make, GivesLiteralsAndCoordinatesTheTypeBesideThem) {
    EXPECT_EQ((x + constant(1, DType::I64))->type, DType::F32);
    EXPECT_EQ((iota(AxisId(0)) + constant(1, DType::F32))->type, DType::I64);
    EXPECT_EQ((iota(AxisId(0)) * constant(0.5, DType::F32))->type, DType::F32);
    EXPECT_EQ(text(iota(AxisId(0)) * x), "f32(iota(i)) * x[i]");
    EXPECT_EQ((iota(AxisId(0)) / constant(2, DType::I64))->type, DType::F32);
    EXPECT_EQ(make(ExprOp::Eq, {x, y})->type, DType::Bool);
    const ExprPtr half = access(0, DType::BF16, std::vector<AxisId>{});
    EXPECT_EQ((half * c(0.5))->type, DType::BF16);
}

TEST(ToText, ParenthesisesWherePrecedenceAsks) {
    EXPECT_EQ(text((x + y) * x), "(x[i] + y[j]) * x[i]");
    EXPECT_EQ(text(x - (y - x)), "x[i] - (y[j] - x[i])");
    EXPECT_EQ(text(x - y - x), "x[i] - y[j] - x[i]");
    EXPECT_EQ(text(x / (y * x)), "x[i] / (y[j] * x[i])");
    EXPECT_EQ(text(make(ExprOp::Pow, {make(ExprOp::Neg, {x}), c(2)})), "(-x[i]) ^ 2");
    EXPECT_EQ(text(make(ExprOp::Neg, {make(ExprOp::Pow, {x, c(2)})})), "-x[i] ^ 2");
    EXPECT_EQ(text(make(ExprOp::Pow, {x, make(ExprOp::Pow, {y, c(2)})})), "x[i] ^ y[j] ^ 2");
    EXPECT_EQ(text(make(ExprOp::Min, {x, c(-INFINITY)})), "min(x[i], -inf)");
    EXPECT_EQ(text(c(0.1)), "0.1");
    EXPECT_EQ(text(c(1e-5)), "1e-05");
    EXPECT_EQ(text(make(ExprOp::Not, {make(ExprOp::Lt, {x, y})})), "not (x[i] < y[j])");
}

TEST(Trees, AreComparedRewrittenAndSearched) {
    const ExprPtr a = make(ExprOp::Exp, {x * y});
    const ExprPtr b = make(ExprOp::Exp, {x * y});
    EXPECT_TRUE(equal(a, b));
    EXPECT_FALSE(equal(a, make(ExprOp::Exp, {y * x})));
    EXPECT_EQ(axes_of(a), (std::vector{AxisId(0), AxisId(1)}));
    const ExprPtr swapped =
        substitute_axes(a, {{AxisId(0), iota(AxisId(1))}, {AxisId(1), iota(AxisId(0))}});
    EXPECT_EQ(text(swapped), "exp(x[j] * y[i])");
    const ExprPtr zeroed = rewrite(
        a, [](const ExprPtr& e) { return e->slot == 1 ? constant(0, DType::F32) : nullptr; });
    EXPECT_EQ(text(zeroed), "1");
}

} // namespace
} // namespace sspc
