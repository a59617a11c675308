// Statements on numbers: whole, in parts, in both precisions, and with indices outside.
#include "ir/interpret/evaluate_statement.h"
#include "ir/interpret/graph_interpreter.h"
#include "tests/support/graph_builder.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sspc {
namespace {

using test::GraphBuilder;
using test::number;
using test::whole;
using Numbers = std::vector<double>;

std::optional<std::string> run_step(const Graph& graph, Environment& environment,
                                    Precision precision = Precision::F64) {
    EXPECT_EQ(verify(graph), std::nullopt);
    return run(graph, environment, 1, 0, precision);
}

Environment with(const Graph& graph, std::vector<std::pair<TensorId, Numbers>> values) {
    Environment environment;
    environment.values.resize(graph.tensors.size());
    for (auto& [id, data] : values) {
        environment.values[id].data = std::move(data);
    }
    return environment;
}

TEST(Interpreter, ContractsBroadcastsAndReduces) {
    GraphBuilder b;
    const AxisId i = b.axis("i", 2);
    const AxisId k = b.axis("k", 3);
    const AxisId j = b.axis("j", 2);
    const TensorId x = b.input("x", {i, k});
    const TensorId w = b.input("w", {j, k});
    ExprPtr body = b.at(x) * b.at(w);
    const TensorId y = b.make_value("y", {i, j}, body, Reduce::Sum, {k});
    body = b.at(y) + cast(iota(j), DType::F32);
    const TensorId z = b.make_value("z", {j, i}, body);
    body = b.at(z);
    const TensorId m = b.make_value("m", {i}, body, Reduce::Max, {j});
    Environment e = with(b.graph, {{x, {1, 2, 3, 4, 5, 6}}, {w, {1, 0, 1, 0, 1, -1}}});
    ASSERT_EQ(run_step(b.graph, e), std::nullopt);
    EXPECT_EQ(e.values[y].data, (Numbers{4, -1, 10, -1}));
    EXPECT_EQ(e.values[z].data, (Numbers{4, 10, 0, 0}));
    EXPECT_EQ(e.values[m].data, (Numbers{4, 10}));
}

TEST(Interpreter, GathersAndNamesTheStatementOfAnIndexOutside) {
    GraphBuilder b;
    const AxisId v = b.axis("v", 3);
    const AxisId s = b.axis("s", 2);
    const TensorId t = b.input("t", {s}, DType::I64);
    const TensorId x = b.input("x", {v});
    const ExprPtr body = b.at(x, {b.at(t)});
    const TensorId y = b.make_value("y", {s}, body);
    Environment e = with(b.graph, {{t, {2, 0}}, {x, {5, 6, 7}}});
    ASSERT_EQ(run_step(b.graph, e), std::nullopt);
    EXPECT_EQ(e.values[y].data, (Numbers{7, 5}));
    e.values[t].data = {2, 3};
    EXPECT_EQ(run_step(b.graph, e), "`y`: index 3 lies outside `v`, whose size is 3");
}

TEST(Interpreter, PadsWithTheValueAfterElse) {
    GraphBuilder b;
    const AxisId v = b.axis("v", 2);
    const AxisId s = b.axis("s", 4);
    const TensorId x = b.input("x", {v});
    const ExprPtr body = b.at(x, {iota(s) - whole(1)}, number(9));
    const TensorId y = b.make_value("y", {s}, body);
    Environment e = with(b.graph, {{x, {5, 6}}});
    ASSERT_EQ(run_step(b.graph, e), std::nullopt);
    EXPECT_EQ(e.values[y].data, (Numbers{9, 5, 6, 9}));
}

TEST(Interpreter, SaysWhichInputIsMissing) {
    GraphBuilder b;
    const AxisId i = b.axis("i", 2);
    const TensorId x = b.input("x", {i});
    b.make_value("y", {i}, b.at(x));
    Environment e;
    EXPECT_EQ(run_step(b.graph, e), "`x` has 0 elements instead of 2");
}

TEST(Interpreter, UpdatesParametersTogether) {
    GraphBuilder b;
    const AxisId i = b.axis("i", 1);
    const TensorId p = b.leaf(TensorKind::Parameter, "p", {i});
    const TensorId q = b.leaf(TensorKind::Parameter, "q", {i});
    b.graph.updates = {{p, q}, {q, p}};
    Environment e = with(b.graph, {{p, {1}}, {q, {2}}});
    apply_updates(b.graph, e);
    EXPECT_EQ(e.values[p].data, Numbers{2});
    EXPECT_EQ(e.values[q].data, Numbers{1});
}

TEST(Precision, RoundsEachResultToItsType) {
    GraphBuilder b;
    const AxisId i = b.axis("i", 1);
    const TensorId x = b.input("x", {i});
    const TensorId y = b.make_value("y", {i}, b.at(x) / number(3) + number(1));
    Environment e = with(b.graph, {{x, {1}}});
    ASSERT_EQ(run_step(b.graph, e, Precision::F32), std::nullopt);
    EXPECT_EQ(e.values[y].data[0], 1.0F / 3.0F + 1.0F);
    ASSERT_EQ(run_step(b.graph, e, Precision::F64), std::nullopt);
    EXPECT_EQ(e.values[y].data[0], 1.0 / 3 + 1);
}

TEST(Precision, KnowsTheNarrowTypes) {
    EXPECT_EQ(round_to(1.0 + 1.0 / 256, DType::BF16), 1);
    EXPECT_EQ(round_to(1.0 + 3.0 / 256, DType::BF16), 1.0 + 4.0 / 256);
    EXPECT_EQ(round_to(65519, DType::F16), 65504);
    EXPECT_EQ(round_to(65520, DType::F16), INFINITY);
    EXPECT_EQ(round_to(std::ldexp(1, -24), DType::F16), std::ldexp(1, -24));
    EXPECT_EQ(round_to(1000, DType::F8E4M3), 448);
    EXPECT_EQ(round_to(0.0185, DType::F8E4M3), 0.017578125);
    EXPECT_EQ(round_to(300, DType::U8), 44);
    EXPECT_EQ(round_to(-129, DType::I8), 127);
    EXPECT_EQ(round_to(-2.7, DType::I32), -2);
}

/// Cuts the reduced axis and the output over pieces and compares with the whole.
TEST(EvaluateStatement, SumsOverPartsToTheWhole) {
    GraphBuilder b;
    const AxisId i = b.axis("i", 5);
    const AxisId k = b.axis("k", 7);
    const TensorId x = b.input("x", {i, k});
    const ExprPtr body = make(ExprOp::Exp, {b.at(x)});
    b.make_value("y", {i}, body, Reduce::Sum, {k});
    Numbers data;
    for (int n = 0; n < 35; ++n) {
        data.push_back(std::sin(n));
    }
    Environment e = with(b.graph, {{x, data}});
    ASSERT_EQ(run_step(b.graph, e), std::nullopt);
    const Numbers expected = e.values.back().data;

    Numbers found(5, 0.0);
    for (const Interval rows : {Interval{0, 2}, Interval{2, 5}}) {
        for (const Interval columns : {Interval{0, 3}, Interval{3, 7}}) {
            Numbers piece;
            for (int64_t r = rows.begin; r < rows.end; ++r) {
                for (int64_t c = columns.begin; c < columns.end; ++c) {
                    piece.push_back(data[static_cast<size_t>(r * 7 + c)]);
                }
            }
            Evaluation part;
            part.axes = &b.graph.axes;
            part.body = body;
            part.reduce = Reduce::Sum;
            part.space = {i, k};
            part.ranges = {rows, columns};
            part.operands = {{piece.data(), {i, k}, {rows, columns}}};
            part.out = {found.data() + rows.begin, {i}, {rows}, DType::F32};
            part.accumulate = true;
            ASSERT_EQ(evaluate_statement(part), std::nullopt);
        }
    }
    for (size_t n = 0; n < expected.size(); ++n) {
        EXPECT_NEAR(found[n], expected[n], 1e-12);
    }
}

TEST(EvaluateStatement, GathersZeroFromRowsHeldElsewhere) {
    GraphBuilder b;
    const AxisId v = b.axis("v", 4);
    const AxisId s = b.axis("s", 3);
    const TensorId t = b.input("t", {s}, DType::I64);
    const TensorId x = b.input("x", {v});
    const ExprPtr body = b.at(x, {b.at(t)});
    const Numbers rows{7, 8}; // of v = 2, 3
    const Numbers tokens{3, 0, 2};
    Numbers out(3);
    Evaluation part;
    part.axes = &b.graph.axes;
    part.body = body;
    part.space = {s};
    part.ranges = {{0, 3}};
    part.operands = {{rows.data(), {v}, {{2, 4}}}, {tokens.data(), {s}, {{0, 3}}}};
    if (body->slot == 1) {
        std::swap(part.operands[0], part.operands[1]);
    }
    part.out = {out.data(), {s}, {{0, 3}}, DType::F32};
    ASSERT_EQ(evaluate_statement(part), std::nullopt);
    EXPECT_EQ(out, (Numbers{8, 0, 7}));
}

} // namespace
} // namespace sspc
