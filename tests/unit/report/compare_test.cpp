// Numbers of two runs, held against each other.
#include "backend/report/compare.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sspc::backend {
namespace {

using Tensors = std::map<std::string, StoredTensor>;

StoredTensor tensor(std::vector<double> values) {
    const auto size = static_cast<int64_t>(values.size());
    return {"F32", {size}, std::move(values)};
}

TEST(Compare, DifferencesAreRelativeToTheLargestValue) {
    const auto all = compare(Tensors{{"w", tensor({100, 1})}}, Tensors{{"w", tensor({100, 1.001})}},
                             {1e-4, 0}, "grad ");
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].path, "grad w");
    EXPECT_TRUE(all[0].ok);
    EXPECT_NEAR(all[0].max_rel, 1e-5, 1e-12);
}

TEST(Compare, ATensorOfRoundingErrorsIsMeasuredByTheOthers) {
    const Tensors a{{"noise", tensor({1e-12})}, {"w", tensor({1})}};
    const Tensors b{{"noise", tensor({-1e-12})}, {"w", tensor({1})}};
    EXPECT_FALSE(all_ok(compare(a, b, {1e-5, 0}, "")));
    EXPECT_TRUE(all_ok(compare(a, b, {1e-5, 1e-5}, "")));
}

TEST(Compare, AbsentTensorsShapesAndNansDiffer) {
    const Tensors a{{"gone", tensor({1})}, {"shape", tensor({1, 2})}, {"nan", tensor({1})}};
    const Tensors b{{"new", tensor({1})}, {"shape", tensor({1})}, {"nan", tensor({std::nan("")})}};
    const auto all = compare(a, b, {1, 1}, "");
    ASSERT_EQ(all.size(), 4u);
    for (const Comparison& c : all) {
        EXPECT_FALSE(c.ok) << c.path;
    }
}

TEST(Compare, EqualInfinitiesAndNansAgree) {
    const Tensors a{{"w", tensor({INFINITY, std::nan(""), 0})}};
    EXPECT_TRUE(all_ok(compare(a, a, {0, 0}, "")));
}

TEST(Compare, TheWorstComesFirst) {
    auto all = compare(Tensors{{"a", tensor({1})}, {"b", tensor({1})}},
                       Tensors{{"a", tensor({1})}, {"b", tensor({2})}}, {0.1, 0}, "");
    worst_first(all);
    EXPECT_EQ(all[0].path, "b");
    EXPECT_NE(comparison_json(all, 0.1).find("\"ok\": false"), std::string::npos);
}

} // namespace
} // namespace sspc::backend
