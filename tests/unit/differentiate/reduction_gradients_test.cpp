// Gradients of reductions, contractions, normalisations and renamed axes.
#include "tests/unit/differentiate/central_differences.h"

namespace sspc {
namespace {

using test::GradientCase;
using test::real;

class EachReduction : public testing::TestWithParam<Reduce> {};

TEST_P(EachReduction, OfAPlainOperand) {
    for (uint32_t seed = 0; seed < 5; ++seed) {
        GradientCase g(seed);
        const AxisId i = g.axis("i", g.random_size());
        const AxisId j = g.axis("j", g.random_size());
        const AxisId k = g.axis("k", g.random_size());
        const TensorId x = g.random_param("x", {i, j, k});
        const ExprPtr body = g.at(x);
        g.finish(g.make_value("z", {j}, body, GetParam(), {i, k}));
        g.check();
    }
}

TEST_P(EachReduction, OfAnExpression) {
    for (uint32_t seed = 0; seed < 5; ++seed) {
        GradientCase g(seed + 20);
        const AxisId i = g.axis("i", g.random_size());
        const AxisId j = g.axis("j", g.random_size());
        const TensorId x = g.random_param("x", {i, j});
        const TensorId y = g.random_param("y", {i});
        const ExprPtr body = make(ExprOp::Sin, {g.at(x) * g.at(y)}) - g.at(y);
        g.finish(g.make_value("z", {j}, body, GetParam(), {i}));
        g.check();
    }
}

std::string reduction_name(const testing::TestParamInfo<Reduce>& info) {
    switch (info.param) {
    case Reduce::Sum: return "Sum";
    case Reduce::Max: return "Max";
    case Reduce::Min: return "Min";
    default: return "Prod";
    }
}

INSTANTIATE_TEST_SUITE_P(All, EachReduction,
                         testing::Values(Reduce::Sum, Reduce::Max, Reduce::Min, Reduce::Prod),
                         reduction_name);

std::vector<double> gradient_of_reduction(Reduce reduce, std::vector<double> x) {
    GradientCase g;
    const AxisId i = g.axis("i", static_cast<int64_t>(x.size()));
    const TensorId p = g.random_param("x", {i});
    const ExprPtr body = g.at(p);
    g.graph.loss = g.make_value("loss", {}, body, reduce, {i});
    Sink sink;
    const auto training = differentiate(g.graph, sink);
    Environment environment;
    environment.values.resize(training->tensors.size());
    environment.values[p].data = std::move(x);
    EXPECT_EQ(run(*training, environment, 1, 0, Precision::F64), std::nullopt);
    return environment.values[g.gradient_of(p)].data;
}

TEST(Reductions, ShareAmongTies) {
    EXPECT_EQ(gradient_of_reduction(Reduce::Max, {1, 3, 3, 2}),
              (std::vector<double>{0, 0.5, 0.5, 0}));
    EXPECT_EQ(gradient_of_reduction(Reduce::Min, {1, 1, 1, 1}),
              (std::vector<double>{0.25, 0.25, 0.25, 0.25}));
}

TEST(Reductions, OfProductsAreExactWithZeros) {
    EXPECT_EQ(gradient_of_reduction(Reduce::Prod, {2, 3, 4}), (std::vector<double>{12, 8, 6}));
    EXPECT_EQ(gradient_of_reduction(Reduce::Prod, {2, 0, 4}), (std::vector<double>{0, 8, 0}));
    EXPECT_EQ(gradient_of_reduction(Reduce::Prod, {2, 0, 0}), (std::vector<double>{0, 0, 0}));
}

TEST(Contractions, OverSeveralAxes) {
    for (uint32_t seed = 0; seed < 6; ++seed) {
        GradientCase g(seed);
        const AxisId b = g.axis("b", g.random_size());
        const AxisId h = g.axis("h", g.random_size());
        const AxisId d = g.axis("d", g.random_size());
        const AxisId c = g.axis("c", g.random_size());
        const TensorId x = g.random_param("x", {b, h, d});
        const TensorId w = g.random_param("w", {h, d, c});
        const ExprPtr body = g.at(x) * g.at(w) / real(3);
        g.finish(g.make_value("z", {c, b}, body, Reduce::Sum, {h, d}));
        g.check();
    }
}

TEST(Contractions, OfATensorWithItselfUnderAnotherName) {
    for (uint32_t seed = 0; seed < 6; ++seed) {
        GradientCase g(seed);
        const int64_t length = g.random_size();
        const AxisId seq = g.axis("seq", length);
        const AxisId kv = g.axis("kv", length);
        const AxisId d = g.axis("d", g.random_size());
        const TensorId x = g.random_param("x", {seq, d});
        const ExprPtr body = g.at(x) * g.at(x, {kv, d});
        const TensorId s = g.make_value("s", {seq, kv}, body, Reduce::Sum, {d});
        g.finish(s);
        g.check();
    }
}

TEST(Renames, SwapTwoAxesOfOneSize) {
    GradientCase g;
    const AxisId i = g.axis("i", 4);
    const AxisId j = g.axis("j", 4);
    const TensorId x = g.random_param("x", {i, j});
    const ExprPtr body = g.at(x) * g.at(x, {j, i});
    g.finish(g.make_value("z", {i, j}, body));
    g.check();
}

TEST(Networks, AttentionWithResidualAndLayerNorm) {
    for (uint32_t seed = 0; seed < 3; ++seed) {
        GradientCase g(seed);
        const int64_t length = 1 + g.random_size();
        const AxisId seq = g.axis("seq", length);
        const AxisId kv = g.axis("kv", length);
        const AxisId c = g.axis("c", g.random_size() + 1);
        const AxisId d = g.axis("d", g.random_size());
        const TensorId x = g.random_param("x", {seq, c});
        const TensorId gain = g.random_param("g", {c});
        const TensorId shift = g.random_param("b", {c});
        const TensorId wq = g.random_param("wq", {d, c});
        const TensorId wk = g.random_param("wk", {d, c});
        const TensorId wo = g.random_param("wo", {d, c});
        const auto count = static_cast<double>(g.graph.axes[c].size);
        ExprPtr body = g.at(x);
        const TensorId sum = g.make_value("mu.sum", {seq}, body, Reduce::Sum, {c});
        body = g.at(sum) / real(count);
        const TensorId mu = g.make_value("mu", {seq}, body);
        body = make(ExprOp::Pow, {g.at(x) - g.at(mu), real(2)});
        const TensorId square = g.make_value("var.sum", {seq}, body, Reduce::Sum, {c});
        body = make(ExprOp::Rsqrt, {g.at(square) / real(count) + real(1e-2)});
        const TensorId r = g.make_value("r", {seq}, body);
        body = (g.at(x) - g.at(mu)) * g.at(r) * g.at(gain) + g.at(shift);
        const TensorId n = g.make_value("n", {seq, c}, body);
        body = g.at(n) * g.at(wq);
        const TensorId q = g.make_value("q", {seq, d}, body, Reduce::Sum, {c});
        body = g.at(n) * g.at(wk);
        const TensorId k0 = g.make_value("k.sum", {seq, d}, body, Reduce::Sum, {c});
        body = g.at(k0, {kv, d});
        const TensorId k = g.make_value("k", {kv, d}, body);
        body = g.at(q) * g.at(k);
        const TensorId s = g.make_value("s", {seq, kv}, body, Reduce::Sum, {d});
        body = make(ExprOp::Where, {make(ExprOp::Le, {iota(kv), iota(seq)}), g.at(s),
                                    real(-INFINITY)});
        const TensorId masked = g.make_value("masked", {seq, kv}, body);
        body = g.at(masked);
        const TensorId m = g.make_value("m", {seq}, body, Reduce::Max, {kv});
        body = make(ExprOp::Exp, {g.at(masked) - g.at(m)});
        const TensorId e = g.make_value("e", {seq, kv}, body);
        body = g.at(e);
        const TensorId z = g.make_value("z", {seq}, body, Reduce::Sum, {kv});
        body = g.at(e) / g.at(z);
        const TensorId p = g.make_value("p", {seq, kv}, body);
        body = g.at(p) * g.at(k);
        const TensorId o = g.make_value("o", {seq, d}, body, Reduce::Sum, {kv});
        body = g.at(o) * g.at(wo);
        const TensorId y = g.make_value("y", {seq, c}, body, Reduce::Sum, {d});
        body = g.at(x) + g.at(y) + g.at(shift);
        g.finish(g.make_value("x#2", {seq, c}, body));
        g.check(1e-5);
    }
}

} // namespace
} // namespace sspc
