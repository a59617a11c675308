// What binds tighter than what.
#include "parse_helpers.h"

#include <gtest/gtest.h>

namespace sspc {
namespace {

std::string shape(const std::string& expr) {
    const Parsed parsed("data d = " + expr + ";");
    return parsed.module ? syntax::print_ast(*parsed.module->datas.at(0).source) : parsed.messages();
}

TEST(Precedence, AReductionExtendsOverProductsAndEndsBeforeASum) {
    EXPECT_EQ(shape("2 * sum[k] x * w + b"), "((2 * (sum[k] (x * w))) + b)");
    EXPECT_EQ(shape("sum[hd] q * k / sqrt(hd)"), "(sum[hd] ((q * k) / sqrt(hd)))");
    EXPECT_EQ(shape("a - mean[c] x - b"), "((a - (mean[c] x)) - b)");
    EXPECT_EQ(shape("sum[a] max[b] x * y < 3"), "((sum[a] (max[b] (x * y))) < 3)");
    EXPECT_EQ(shape("mean[batch, r] (p - t) ^ 2"), "(mean[batch, r] ((p - t) ^ 2))");
    EXPECT_EQ(shape("-sum[k] x * w"), "(-(sum[k] (x * w)))");
    EXPECT_EQ(shape("sum[*] -x"), "(sum[*] (-x))");
    EXPECT_EQ(shape("a ^ sum[k] x * w"), "(a ^ (sum[k] (x * w)))");
}

TEST(Precedence, PowerIsRightAssociativeAndTighterThanMinus) {
    EXPECT_EQ(shape("-x ^ 2"), "(-(x ^ 2))");
    EXPECT_EQ(shape("a ^ b ^ c"), "(a ^ (b ^ c))");
    EXPECT_EQ(shape("2 ^ -1 * 3"), "((2 ^ (-1)) * 3)");
    EXPECT_EQ(shape("-x * y"), "((-x) * y)");
    EXPECT_EQ(shape("x[seq as kv] ^ 2"), "(x[seq as kv] ^ 2)");
}

TEST(Precedence, SumsShiftsComparisonsAndOr) {
    EXPECT_EQ(shape("1 + 2 * 3 - 4 % 5"), "((1 + (2 * 3)) - (4 % 5))");
    EXPECT_EQ(shape("1 << 20 + 1"), "(1 << (20 + 1))");
    EXPECT_EQ(shape("a << 1 < b >> 1"), "((a << 1) < (b >> 1))");
    EXPECT_EQ(shape("not a == b and c or d"), "((((not a) == b) and c) or d)");
    EXPECT_EQ(shape("a or b and c <= d + 1"), "(a or (b and (c <= (d + 1))))");
}

TEST(Precedence, AsFollowsTheCallItNames) {
    EXPECT_EQ(shape("x + f(x) as a + g(x) as b[l]"), "((x + f(x) as a) + g(x) as b[l])");
    EXPECT_EQ(shape("f(x).mask[a = 1]"), "f(x).mask[a = 1]");
}

TEST(Precedence, ExtremesAreReductionsWithBracketsAndFunctionsWithParentheses) {
    EXPECT_EQ(shape("max(a, b) * max[k] c"), "(max(a, b) * (max[k] c))");
    EXPECT_EQ(shape("min (a, 1)"), "min(a, 1)");
}

TEST(Literals, HaveTheirValues) {
    EXPECT_EQ(shape("(1_000, 1e-3, 2.5e1, 25 MB, 40 GiB, 1.5KiB, \"a\\\"\\n\", inf, true)"),
              "(1000, 0.001, 25, 25000000 bytes, 42949672960 bytes, 1536 bytes, \"a\\\"\\n\", inf, true)");
    EXPECT_EQ(Parsed("data d = 99999999999999999999;").errors(), std::vector<std::string>{"SSP0108@1:10"});
    EXPECT_EQ(Parsed("data d = 1e999;").errors(), std::vector<std::string>{"SSP0108@1:10"});
    EXPECT_EQ(Parsed("data d = \"a\\q\";").errors(), std::vector<std::string>{"SSP0109@1:12"});
}

} // namespace
} // namespace sspc
