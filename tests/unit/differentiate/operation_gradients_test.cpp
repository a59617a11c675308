// The derivative of every operation, alone and inside others.
#include "tests/unit/differentiate/central_differences.h"

namespace sspc {
namespace {

using test::GradientCase;
using test::real;

struct Domain {
    double low, high;
};

Domain domain_of(ExprOp op) {
    switch (op) {
    case ExprOp::Log:
    case ExprOp::Sqrt:
    case ExprOp::Rsqrt:
    case ExprOp::Pow:
    case ExprOp::Div:
    case ExprOp::Mod: return {0.3, 2};
    default: return {-2, 2};
    }
}

class EachOperation : public testing::TestWithParam<ExprOp> {};

ExprPtr apply(ExprOp op, const ExprPtr& x, const ExprPtr& y) {
    if (op == ExprOp::Where) {
        return make(op, {make(ExprOp::Lt, {x, y}), x * x, y});
    }
    if (op == ExprOp::IsNan || op == ExprOp::Not) {
        return make(ExprOp::Where, {make(ExprOp::IsNan, {x}), y, x});
    }
    if (op >= ExprOp::Eq && op <= ExprOp::Or) {
        const ExprPtr condition = op == ExprOp::And || op == ExprOp::Or
                                      ? make(op, {make(ExprOp::Lt, {x, y}),
                                                  make(ExprOp::Gt, {x, real(0)})})
                                      : make(op, {x, y});
        return make(ExprOp::Where, {condition, x, y * real(3)});
    }
    if (op == ExprOp::Cast) {
        return cast(cast(x * real(2), DType::F32), DType::F64) + cast(cast(y, DType::I32), DType::F64);
    }
    return make(op, op >= ExprOp::Add ? std::vector{x, y} : std::vector{x});
}

TEST_P(EachOperation, AtTheRootUsesItsOwnOutput) {
    for (uint32_t seed = 0; seed < 3; ++seed) {
        GradientCase g(seed);
        g.low = domain_of(GetParam()).low;
        g.high = domain_of(GetParam()).high;
        const AxisId i = g.axis("i", g.random_size());
        const AxisId j = g.axis("j", g.random_size());
        const TensorId x = g.random_param("x", {i, j});
        const TensorId y = g.random_param("y", {j});
        const ExprPtr body = apply(GetParam(), g.at(x), g.at(y));
        g.finish(g.make_value("z", {i, j}, body));
        g.check();
    }
}

TEST_P(EachOperation, InsideALargerExpression) {
    for (uint32_t seed = 0; seed < 3; ++seed) {
        GradientCase g(seed + 10);
        g.low = domain_of(GetParam()).low;
        g.high = domain_of(GetParam()).high;
        const AxisId i = g.axis("i", g.random_size());
        const AxisId j = g.axis("j", g.random_size());
        const TensorId x = g.random_param("x", {i, j});
        const TensorId y = g.random_param("y", {j});
        const TensorId v = g.random_param("v", {i});
        const ExprPtr inner = apply(GetParam(), g.at(x), g.at(y));
        const ExprPtr body = make(ExprOp::Tanh, {inner * g.at(v)}) + inner;
        g.finish(g.make_value("z", {j, i}, body));
        g.check();
    }
}

TEST_P(EachOperation, UnderASum) {
    GradientCase g(5);
    g.low = domain_of(GetParam()).low;
    g.high = domain_of(GetParam()).high;
    const AxisId i = g.axis("i", 3);
    const AxisId j = g.axis("j", 5);
    const TensorId x = g.random_param("x", {i, j});
    const TensorId y = g.random_param("y", {j});
    const ExprPtr body = apply(GetParam(), g.at(x), g.at(y));
    g.finish(g.make_value("z", {i}, body, Reduce::Sum, {j}));
    g.check();
}

std::vector<ExprOp> differentiable_operations() {
    std::vector<ExprOp> all;
    for (int op = static_cast<int>(ExprOp::Neg); op <= static_cast<int>(ExprOp::Where); ++op) {
        const auto each = static_cast<ExprOp>(op);
        if (each != ExprOp::FloorDiv && each != ExprOp::StopGradient) {
            all.push_back(each);
        }
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(All, EachOperation, testing::ValuesIn(differentiable_operations()),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(StopGradient, IsTheIdentityWithoutAGradient) {
    GradientCase g;
    const AxisId i = g.axis("i", 3);
    const TensorId x = g.random_param("x", {i});
    const ExprPtr body = g.at(x) * make(ExprOp::StopGradient, {g.at(x)});
    g.graph.loss = g.make_value("loss", {}, body, Reduce::Sum, {i});
    Sink sink;
    const auto training = differentiate(g.graph, sink);
    ASSERT_TRUE(training);
    EXPECT_EQ(print_statement(*training, training->statements.back()),
              "grad x[i] = stop_gradient(x)");
}

TEST(Extrema, PassHalfToEachSideOfATie) {
    GradientCase g;
    const AxisId i = g.axis("i", 3);
    const TensorId x = g.random_param("x", {i});
    const TensorId y = g.random_param("y", {i});
    const ExprPtr body = make(ExprOp::Max, {g.at(x), g.at(y)});
    g.graph.loss = g.make_value("loss", {}, body, Reduce::Sum, {i});
    Sink sink;
    const auto training = differentiate(g.graph, sink);
    ASSERT_TRUE(training);
    Environment environment;
    environment.values.resize(training->tensors.size());
    environment.values[x].data = {1, 2, 3};
    environment.values[y].data = {1, 3, 2};
    ASSERT_EQ(run(*training, environment, 1, 0, Precision::F64), std::nullopt);
    EXPECT_EQ(environment.values[g.gradient_of(x)].data, (std::vector<double>{0.5, 0, 1}));
    EXPECT_EQ(environment.values[g.gradient_of(y)].data, (std::vector<double>{0.5, 1, 0}));
}

} // namespace
} // namespace sspc
