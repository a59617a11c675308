// Printing graphs and finding broken invariants.
#include "tests/support/graph_builder.h"

#include <gtest/gtest.h>

namespace sspc {
namespace {

using test::GraphBuilder;
using test::number;
using test::whole;

TEST(PrintGraph, HasOneStatementALine) {
    GraphBuilder b;
    const AxisId seq = b.axis("seq", 4);
    const AxisId kv = b.axis("kv", 4);
    const AxisId hidden = b.axis("hidden", 3);
    const AxisId vocab = b.axis("vocab", 7);
    const TensorId tokens = b.input("tokens", {seq}, DType::I64);
    const TensorId table = b.param("embed.wte", {vocab, hidden});
    b.graph.tensors[table].init = {Init::Kind::Normal, 0, 0.02};
    const TensorId e = b.make_value("e", {seq, hidden},
                                    b.at(table, {b.at(tokens), iota(hidden)}));
    const TensorId s = b.make_value("s.sum", {seq, kv}, b.at(e) * b.at(e, {kv, hidden}),
                                    Reduce::Sum, {hidden});
    const TensorId m =
        b.make_value("m", {seq}, b.at(s) + number(1), Reduce::Max, {kv});
    b.make_value("pad", {kv}, b.at(m, {iota(kv) - whole(1)}, number(0)));
    b.graph.outputs = {m};
    EXPECT_EQ(verify(b.graph), std::nullopt);
    EXPECT_EQ(print_graph(b.graph), R"(model test
dim seq = 4
dim kv = 4
dim hidden = 3
dim vocab = 7
input tokens: i64[seq]
param embed.wte: f32[vocab, hidden] = normal(0, 0.02)
forward
  e[seq, hidden] = embed.wte[vocab = tokens, hidden]
  s.sum[seq, kv] = sum[hidden] e * e[seq as kv, hidden]
  m[seq] = max[kv] (s.sum + 1)
  pad[kv] = m[seq = iota(kv) - 1 else 0]
output m
gradient grad embed.wte of embed.wte
)");
}

TEST(IsLinear, HoldsForSumsOfConstantMultiples) {
    GraphBuilder b;
    const AxisId i = b.axis("i", 2);
    const TensorId x = b.input("x", {i});
    const TensorId y = b.input("y", {i});
    b.make_value("a", {i}, b.at(x) * number(2) - b.at(y) / number(3));
    b.make_value("b", {i}, b.at(x) + number(1));
    b.make_value("c", {i}, b.at(x) * b.at(y));
    b.make_value("d", {}, b.at(x), Reduce::Sum, {i});
    b.make_value("e", {}, b.at(x), Reduce::Max, {i});
    const auto& s = b.graph.statements;
    EXPECT_TRUE(is_linear(s[StatementId(0)]));
    EXPECT_FALSE(is_linear(s[StatementId(1)]));
    EXPECT_FALSE(is_linear(s[StatementId(2)]));
    EXPECT_TRUE(is_linear(s[StatementId(3)]));
    EXPECT_FALSE(is_linear(s[StatementId(4)]));
}

TEST(Sizes, CountElementsAndBytes) {
    GraphBuilder b;
    const AxisId i = b.axis("i", 3);
    const AxisId j = b.axis("j", 5);
    const TensorId x = b.input("x", {i, j}, DType::BF16);
    EXPECT_EQ(element_count(b.graph, {i, j}), 15);
    EXPECT_EQ(byte_size(b.graph, b.graph.tensors[x]), 30);
    EXPECT_EQ(element_count(b.graph, {}), 1);
    EXPECT_EQ(find_dtype("f8e4m3"), DType::F8E4M3);
    EXPECT_EQ(find_dtype("f128"), std::nullopt);
}

struct Broken {
    GraphBuilder b;
    AxisId i = b.axis("i", 2);
    AxisId j = b.axis("j", 3);
    TensorId x = b.input("x", {i});
    TensorId w = b.input("w", {i, j});
};

TEST(Verify, FindsAnAxisOutsideTheIterationSpace) {
    Broken t;
    t.b.make_value("y", {t.i}, t.b.at(t.w));
    EXPECT_EQ(verify(t.b.graph), "statement `y`: axis `j` is not in the iteration space");
}

TEST(Verify, FindsAnOperandReadBeforeItIsProduced) {
    Broken t;
    const TensorId y = t.b.make_value("y", {t.i}, t.b.at(t.x));
    t.b.make_value("z", {t.i}, t.b.at(y));
    std::swap(t.b.graph.statements.raw()[0], t.b.graph.statements.raw()[1]);
    EXPECT_EQ(verify(t.b.graph), "statement `z`: `y` is read before it is produced");
}

TEST(Verify, FindsAGatherInsideALargerExpression) {
    Broken t;
    t.b.make_value("y", {t.j}, t.b.at(t.x, {whole(1)}) + number(1));
    EXPECT_EQ(verify(t.b.graph), "statement `y`: the access to `x` is not plain and not alone");
}

TEST(Verify, FindsAWrongNumberOfIndices) {
    Broken t;
    t.b.make_value("y", {t.i}, t.b.at(t.w, std::vector{t.i}));
    EXPECT_EQ(verify(t.b.graph), "statement `y`: `w` has 2 axes and 1 indices");
}

TEST(Verify, FindsTwoTensorsOfOneName) {
    Broken t;
    t.b.make_value("x", {t.i}, t.b.at(t.x));
    EXPECT_EQ(verify(t.b.graph), "two tensors are called `x`");
}

TEST(Verify, FindsAnAxisTwiceInTheIterationSpace) {
    Broken t;
    t.b.make_value("y", {t.i}, t.b.at(t.x), Reduce::Sum, {t.i});
    EXPECT_EQ(verify(t.b.graph), "statement `y`: axis `i` is twice in the iteration space");
}

} // namespace
} // namespace sspc
