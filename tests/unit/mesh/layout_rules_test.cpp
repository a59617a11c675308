// How cuts of statements act, row by row of the table in docs/language.md.
#include "ir/mesh/layout_rules.h"

#include <gtest/gtest.h>

namespace sspc {
namespace {

/// Axes and tensors of an attention layer, a gather and a convolution on a mesh of one axis.
class LayoutRules : public ::testing::Test {
protected:
    AxisId axis(const std::string& name, int64_t size) { return graph.axes.push_back({name, size, {}}); }
    TensorId tensor(const std::string& path, std::vector<AxisId> axes, DType type = DType::F32) {
        Tensor made;
        made.path = path;
        made.axes = std::move(axes);
        made.dtype = type;
        return graph.tensors.push_back(made);
    }
    static ExprPtr at(int slot, std::vector<ExprPtr> index) { return access(slot, DType::F32, std::move(index)); }

    /// `operands -> out` under a cut of `cut`, as text.
    std::string under(const Statement& statement, AxisId cut) {
        const StatementLayouts layouts = layouts_of(graph, statement, mesh, {cut});
        std::string text;
        for (const Layout& layout : layouts.operands) {
            text += to_text(layout[0], graph.axes) + " ";
        }
        return text + "-> " + to_text(layouts.out[0], graph.axes);
    }
    std::string cuttable(const Statement& statement) {
        std::string text;
        for (AxisId id : cuttable_axes(graph, statement)) {
            text += (text.empty() ? "" : " ") + graph.axes[id].name;
        }
        return text;
    }

    Graph graph;
    Mesh mesh{"g", {{"x", 2, AxisRole::Device, {}}}, {}};
    AxisId batch = axis("batch", 4), seq = axis("seq", 8), kv = axis("kv", 8), hidden = axis("hidden", 6);
    AxisId heads = axis("heads", 2), vocab = axis("vocab", 10), few = axis("few", 3);
    AxisId merged = axis("merged", 12);
};

TEST_F(LayoutRules, AContractionIsCutOnOutputAndReducedAxes) {
    Statement statement;
    statement.operands = {tensor("n", {batch, seq, hidden}), tensor("w", {heads, hidden})};
    statement.out = tensor("q", {batch, seq, heads});
    statement.reduce = Reduce::Sum;
    statement.reduced = {hidden};
    statement.body = access(0, DType::F32, {batch, seq, hidden}) * access(1, DType::F32, {heads, hidden});
    EXPECT_EQ(under(statement, batch), "S(batch) R -> S(batch)");
    EXPECT_EQ(under(statement, heads), "R S(heads) -> S(heads)");
    EXPECT_EQ(under(statement, hidden), "S(hidden) S(hidden) -> P(sum)");
    EXPECT_EQ(under(statement, vocab), "R R -> R");
    EXPECT_EQ(under(statement, AxisId()), "R R -> R");
    EXPECT_EQ(cuttable(statement), "batch seq heads hidden");
}

TEST_F(LayoutRules, AMaximumIsPartialUnderMax) {
    Statement statement;
    statement.operands = {tensor("s", {batch, kv})};
    statement.out = tensor("m", {batch});
    statement.reduce = Reduce::Max;
    statement.reduced = {kv};
    statement.body = access(0, DType::F32, {batch, kv});
    EXPECT_EQ(under(statement, kv), "S(kv) -> P(max)");
}

TEST_F(LayoutRules, ARenameCutsTheOperandOnItsOwnAxis) {
    Statement statement;
    statement.operands = {tensor("k", {batch, seq})};
    statement.out = tensor("k2", {batch, kv});
    statement.body = access(0, DType::F32, {batch, kv});
    EXPECT_EQ(under(statement, kv), "S(seq) -> S(kv)");
    EXPECT_EQ(under(statement, seq), "R -> R");
    EXPECT_EQ(cuttable(statement), "batch kv");
}

TEST_F(LayoutRules, AGatherCutOnTheGatheredAxisGivesATermOfASum) {
    Statement statement;
    statement.operands = {tensor("wte", {vocab, hidden}), tensor("tokens", {batch, seq}, DType::I64)};
    statement.out = tensor("e", {batch, seq, hidden});
    statement.body = at(0, {access(1, DType::I64, {batch, seq}), iota(hidden)});
    EXPECT_EQ(under(statement, vocab), "S(vocab) R -> P(sum)");
    EXPECT_EQ(under(statement, batch), "R S(batch) -> S(batch)");
    EXPECT_EQ(under(statement, hidden), "S(hidden) R -> S(hidden)");
    EXPECT_EQ(cuttable(statement), "batch seq hidden vocab");
}

TEST_F(LayoutRules, AScatterIsCutOnTheAxisItScattersTo) {
    Statement statement;
    statement.operands = {tensor("grad e", {batch, seq, hidden}), tensor("tokens", {batch, seq}, DType::I64)};
    statement.out = tensor("grad wte", {vocab, hidden});
    statement.reduce = Reduce::Sum;
    statement.reduced = {batch, seq};
    statement.body = access(0, DType::F32, {batch, seq, hidden});
    statement.scatter = {access(1, DType::I64, {batch, seq}), iota(hidden)};
    EXPECT_EQ(under(statement, vocab), "R R -> S(vocab)");
    EXPECT_EQ(under(statement, batch), "S(batch) S(batch) -> P(sum)");
    EXPECT_EQ(under(statement, hidden), "S(hidden) R -> S(hidden)");
    EXPECT_EQ(cuttable(statement), "hidden batch seq vocab");
}

TEST_F(LayoutRules, AnIndexInsideAComputedIndexAsksForTheWholeAxis) {
    Statement merge; // out[batch, merged] = t[batch, heads = merged / 6, hidden = merged % 6]
    merge.operands = {tensor("t", {batch, heads, hidden})};
    merge.out = tensor("m", {batch, merged});
    merge.body = at(0, {iota(batch), make(ExprOp::FloorDiv, {iota(merged), constant(6, DType::I64)}),
                        make(ExprOp::Mod, {iota(merged), constant(6, DType::I64)})});
    EXPECT_EQ(under(merge, merged), "R -> S(merged)");
    EXPECT_EQ(under(merge, batch), "S(batch) -> S(batch)");
    EXPECT_EQ(under(merge, heads), "S(heads) -> P(sum)");
}

TEST_F(LayoutRules, ASliceFromZeroIsNotARename) {
    Statement slice; // out[few] = t[seq = few]
    slice.operands = {tensor("t", {seq})};
    slice.out = tensor("s", {few});
    slice.body = at(0, {iota(few)});
    EXPECT_EQ(under(slice, few), "R -> S(few)");
    EXPECT_EQ(under(slice, seq), "R -> R"); // a part of `seq` is no part of `few`
}

TEST_F(LayoutRules, AnOperandReadInTwoWaysIsWhole) {
    Statement statement; // out[seq, kv] = t[seq] * t[kv]
    statement.operands = {tensor("t", {seq})};
    statement.out = tensor("o", {seq, kv});
    statement.body = access(0, DType::F32, {seq}) * access(0, DType::F32, {kv});
    EXPECT_EQ(under(statement, seq), "R -> S(seq)");
    EXPECT_EQ(under(statement, kv), "R -> S(kv)");
}

TEST_F(LayoutRules, MeshAxesOfSizeOneCutNothing) {
    Statement statement;
    statement.operands = {tensor("t", {seq})};
    statement.out = tensor("o", {seq});
    statement.body = access(0, DType::F32, {seq});
    mesh.axes[0].size = 1;
    EXPECT_EQ(under(statement, seq), "R -> R");
}

} // namespace
} // namespace sspc
