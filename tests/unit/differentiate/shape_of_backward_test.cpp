// Which statements differentiation makes, and in which order.
#include "tests/unit/differentiate/central_differences.h"

namespace sspc {
namespace {

using test::GradientCase;
using test::GraphBuilder;
using test::number;
using test::real;

std::vector<std::string> backward_lines(const Graph& graph) {
    std::vector<std::string> lines;
    for (const Statement& statement : graph.statements) {
        if (statement.phase == Phase::Backward) {
            lines.push_back(print_statement(graph, statement));
        }
    }
    return lines;
}

using Lines = std::vector<std::string>;

TEST(Backward, OfAnMlpIsContractionsAndOneSharedFactor) {
    GraphBuilder g;
    const AxisId batch = g.axis("batch", 8);
    const AxisId in = g.axis("in", 4);
    const AxisId hidden = g.axis("hidden", 5);
    const TensorId x = g.input("x", {batch, in});
    const TensorId w1 = g.param("w1", {hidden, in});
    const TensorId b1 = g.param("b1", {hidden});
    const TensorId w2 = g.param("w2", {hidden});
    ExprPtr body = g.at(x) * g.at(w1);
    const TensorId a = g.make_value("h.sum", {batch, hidden}, body, Reduce::Sum, {in});
    body = make(ExprOp::Tanh, {g.at(a) + g.at(b1)});
    const TensorId h = g.make_value("h", {batch, hidden}, body);
    body = g.at(h) * g.at(w2);
    const TensorId y = g.make_value("y", {batch}, body, Reduce::Sum, {hidden});
    body = g.at(y) * g.at(y) / number(8);
    g.graph.loss = g.make_value("loss", {}, body, Reduce::Sum, {batch});
    Sink sink;
    const auto training = differentiate(g.graph, sink);
    ASSERT_TRUE(training);
    EXPECT_EQ(backward_lines(*training),
              (Lines{"grad y[batch] = y * 0.25",
                     "grad h[batch, hidden] = grad y * w2",
                     "grad w2[hidden] = sum[batch] grad y * h",
                     "grad h.sum[batch, hidden] = grad h * (1 - h * h)",
                     "grad b1[hidden] = sum[batch] grad h.sum",
                     "grad w1[hidden, in] = sum[batch] grad h.sum * x"}));
    for (const Statement& statement : training->statements) {
        if (statement.phase == Phase::Backward) {
            EXPECT_TRUE(statement.backward_of.valid());
        }
    }
    EXPECT_EQ(training->tensors[g.gradient_of(w1)].parameter, w1);
}

TEST(Backward, SharesTheGradientOfAResidualStream) {
    GraphBuilder g;
    const AxisId i = g.axis("i", 4);
    const TensorId w = g.param("w", {i});
    const TensorId v = g.param("v", {i});
    const TensorId c = g.input("c", {i});
    ExprPtr body = g.at(w) * g.at(c);
    const TensorId x = g.make_value("x", {i}, body);
    body = make(ExprOp::Sin, {g.at(x) * g.at(v)});
    const TensorId y = g.make_value("y", {i}, body);
    body = g.at(x) + g.at(y);
    const TensorId x2 = g.make_value("x#2", {i}, body);
    body = g.at(x2) * g.at(c);
    g.graph.loss = g.make_value("loss", {}, body, Reduce::Sum, {i});
    Sink sink;
    const auto training = differentiate(g.graph, sink);
    ASSERT_TRUE(training);
    EXPECT_EQ(backward_lines(*training),
              (Lines{"grad x#2[i] = c",
                     "grad x.term2[i] = grad x#2 * cos(x * v) * v",
                     "grad v[i] = grad x#2 * cos(x * v) * x",
                     "grad x[i] = grad x#2 + grad x.term2",
                     "grad w[i] = grad x * c"}));
    const auto made_by = producers(*training);
    for (const Statement& statement : training->statements) {
        EXPECT_EQ(statement.sums_gradients, training->tensors[statement.out].path == "grad x");
        if (statement.sums_gradients) {
            EXPECT_EQ(statement.backward_of, made_by[x]);
        }
    }
}

TEST(Backward, OfAParameterUsedTwiceIsAddedUnderItsOwnPath) {
    GraphBuilder g;
    const AxisId i = g.axis("i", 4);
    const TensorId w = g.param("tied.w", {i});
    const TensorId c = g.input("c", {i});
    ExprPtr body = g.at(w) * g.at(c);
    const TensorId x = g.make_value("x", {i}, body);
    body = g.at(x) * g.at(w);
    g.graph.loss = g.make_value("loss", {}, body, Reduce::Sum, {i});
    Sink sink;
    const auto training = differentiate(g.graph, sink);
    ASSERT_TRUE(training);
    EXPECT_EQ(backward_lines(*training),
              (Lines{"grad x[i] = tied.w", "grad tied.w.term1[i] = x",
                     "grad tied.w.term2[i] = grad x * c",
                     "grad tied.w[i] = grad tied.w.term1 + grad tied.w.term2"}));
    const Statement& last = training->statements.back();
    EXPECT_TRUE(last.sums_gradients);
    EXPECT_FALSE(last.backward_of.valid());
    EXPECT_EQ(last.path, "tied.w");
}

TEST(Backward, StandsBetweenForwardAndUpdate) {
    GraphBuilder g;
    const AxisId i = g.axis("i", 4);
    const TensorId w = g.param("w", {i});
    ExprPtr body = g.at(w) * g.at(g.gradient_of(w));
    g.make_value("update", {i}, body, Reduce::None, {}, Phase::Update);
    body = g.at(w) * g.at(w);
    g.graph.loss = g.make_value("loss", {}, body, Reduce::Sum, {i});
    Sink sink;
    const auto training = differentiate(g.graph, sink);
    ASSERT_TRUE(training);
    std::vector<Phase> phases;
    for (const Statement& statement : training->statements) {
        phases.push_back(statement.phase);
    }
    EXPECT_EQ(phases, (std::vector{Phase::Forward, Phase::Backward, Phase::Update}));
}

TEST(Backward, WarnsOfAParameterThatTheLossDoesNotReach) {
    GraphBuilder g;
    const AxisId i = g.axis("i", 4);
    const TensorId w = g.param("w", {i});
    g.param("idle", {i});
    const ExprPtr body = g.at(w);
    g.graph.loss = g.make_value("loss", {}, body, Reduce::Sum, {i});
    Sink sink;
    const auto training = differentiate(g.graph, sink);
    ASSERT_TRUE(training);
    EXPECT_EQ(backward_lines(*training), (Lines{"grad w[i] = 1", "grad idle[i] = 0"}));
    ASSERT_EQ(sink.diagnostics().size(), 1U);
    EXPECT_EQ(sink.diagnostics()[0].code, "SSP0290");
    EXPECT_NE(sink.diagnostics()[0].message.find("`idle`"), std::string::npos);
}

TEST(Backward, ComputesNothingForValuesThatNoParameterMade) {
    GraphBuilder g;
    const AxisId i = g.axis("i", 4);
    const TensorId w = g.param("w", {i});
    const TensorId x = g.input("x", {i});
    ExprPtr body = make(ExprOp::Exp, {g.at(x)});
    const TensorId e = g.make_value("e", {i}, body);
    body = g.at(w) * g.at(e);
    g.graph.loss = g.make_value("loss", {}, body, Reduce::Sum, {i});
    Sink sink;
    const auto training = differentiate(g.graph, sink);
    ASSERT_TRUE(training);
    EXPECT_EQ(backward_lines(*training), (Lines{"grad w[i] = e"}));
}

TEST(Backward, ComputesAHeavyFactorOnceForTwoBroadcastOperands) {
    GradientCase g;
    const AxisId i = g.axis("i", 3);
    const AxisId j = g.axis("j", 5);
    const TensorId a = g.random_param("a", {i});
    const TensorId b = g.random_param("b", {j});
    const TensorId c = g.random_input("c", {i, j});
    const ExprPtr body = make(ExprOp::Sin, {make(ExprOp::Exp, {g.at(a) + g.at(b)}) * g.at(c)});
    g.finish(g.make_value("z", {i, j}, body));
    g.check();
    const Lines lines = backward_lines(g.derived);
    ASSERT_EQ(lines.size(), 4U);
    EXPECT_EQ(lines[1].substr(0, 21), "grad z.inner[i, j] = ");
    EXPECT_EQ(lines[2], "grad a[i] = sum[j] grad z.inner");
    EXPECT_EQ(lines[3], "grad b[j] = sum[i] grad z.inner");
}

TEST(Backward, OfASoftmaxReadsWhatForwardComputed) {
    GraphBuilder g;
    const AxisId i = g.axis("i", 3);
    const AxisId j = g.axis("j", 5);
    const TensorId x = g.param("x", {i, j});
    const TensorId c = g.input("c", {i, j});
    ExprPtr body = make(ExprOp::Exp, {g.at(x)});
    const TensorId e = g.make_value("e", {i, j}, body);
    body = g.at(e);
    const TensorId z = g.make_value("z", {i}, body, Reduce::Sum, {j});
    body = g.at(e) / g.at(z);
    const TensorId p = g.make_value("p", {i, j}, body);
    body = g.at(p) * g.at(c);
    g.graph.loss = g.make_value("loss", {}, body, Reduce::Sum, {i, j});
    Sink sink;
    const auto training = differentiate(g.graph, sink);
    ASSERT_TRUE(training);
    EXPECT_EQ(backward_lines(*training),
              (Lines{"grad p[i, j] = c", "grad e.term1[i, j] = grad p / z",
                     "grad z[i] = sum[j] -(grad e.term1 * p)",
                     "grad e.term2[i, j] = grad z",
                     "grad e[i, j] = grad e.term1 + grad e.term2",
                     "grad x[i, j] = grad e * e"}));
}

} // namespace
} // namespace sspc
