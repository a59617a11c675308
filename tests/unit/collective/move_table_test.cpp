// The table of moves in docs/language.md: kinds, bytes, and which chains are never made.
#include "brute_force.h"

#include <gtest/gtest.h>

namespace sspc {
namespace {

using test::Case;
using test::make_case;

const Placement whole = Placement::replicated();
const Placement sum = Placement::partial(Reduce::Sum);
Placement cut(const Case& c, size_t axis) { return Placement::sharded(c.shape.axes[axis]); }

std::vector<Move> chain(const Case& c, const Layout& from, const Layout& to, MoveScope scope = MoveScope::AllAxes) {
    auto moves = cheapest_moves(c.axes, c.shape, c.mesh, from, to, scope);
    EXPECT_TRUE(moves.has_value());
    return moves.value_or(std::vector<Move>());
}
void expect_one(const Case& c, const Placement& from, const Placement& to, MoveKind kind, int64_t bytes) {
    const auto moves = chain(c, {from}, {to});
    ASSERT_EQ(moves.size(), 1u);
    EXPECT_EQ(name_of(moves[0].kind), name_of(kind));
    EXPECT_EQ(moves[0].bytes, bytes);
    EXPECT_EQ(moves[0].mesh_axes, std::vector<int>{0});
}

TEST(MoveTable, EachRowHasItsBytes) {
    for (int n : {2, 3, 4, 8}) {
        const Case c = make_case({24, 48}, {n});
        const int64_t b = 24 * 48 * 4;
        expect_one(c, sum, whole, MoveKind::AllReduce, 2 * b * (n - 1) / n);
        expect_one(c, sum, cut(c, 0), MoveKind::ReduceScatter, b * (n - 1) / n);
        expect_one(c, cut(c, 1), whole, MoveKind::AllGather, b * (n - 1) / n);
        expect_one(c, cut(c, 0), cut(c, 1), MoveKind::AllToAll, b / n * (n - 1) / n);
        expect_one(c, whole, cut(c, 0), MoveKind::Slice, 0);
        expect_one(c, whole, sum, MoveKind::ToPartial, 0);
    }
}

TEST(MoveTable, UnevenPartsCountTheBusiestDevice) {
    const Case c = make_case({5}, {4}); // parts of 2, 1, 1, 1
    expect_one(c, sum, whole, MoveKind::AllReduce, 2 * 20 * 3 / 4);
    expect_one(c, sum, cut(c, 0), MoveKind::ReduceScatter, 3 * 2 * 4);
    expect_one(c, cut(c, 0), whole, MoveKind::AllGather, 4 * 4);
}

TEST(MoveTable, MovesActOnSeveralMeshAxesJointly) {
    const Case c = make_case({8, 8}, {2, 4});
    const auto reduced = chain(c, {sum, sum}, {whole, whole});
    ASSERT_EQ(reduced.size(), 1u);
    EXPECT_EQ(reduced[0].mesh_axes, (std::vector<int>{0, 1}));
    EXPECT_EQ(reduced[0].bytes, 2 * 256 * 7 / 8);
    const auto scattered = chain(c, {sum, sum}, {cut(c, 0), cut(c, 1)});
    ASSERT_EQ(scattered.size(), 1u);
    EXPECT_EQ(scattered[0].kind, MoveKind::ReduceScatter);
    EXPECT_EQ(scattered[0].bytes, 256 * 7 / 8);
}

TEST(MoveTable, GatheringTheOuterOfTwoNestedCutsIsAnExchange) {
    const Case c = make_case({8}, {2, 2});
    const auto inner = chain(c, {cut(c, 0), cut(c, 0)}, {cut(c, 0), whole});
    ASSERT_EQ(inner.size(), 1u);
    EXPECT_EQ(inner[0].kind, MoveKind::AllGather);
    EXPECT_EQ(inner[0].mesh_axes, std::vector<int>{1});
    const auto outer = chain(c, {cut(c, 0), cut(c, 0)}, {whole, cut(c, 0)});
    ASSERT_EQ(outer.size(), 1u);
    EXPECT_EQ(outer[0].kind, MoveKind::Exchange);
    EXPECT_EQ(outer[0].mesh_axes, (std::vector<int>{0, 1}));
}

TEST(MoveTable, ReplicasShareAReductionWhereThatSavesBytes) {
    const Case c = make_case({64}, {8, 2});
    const auto shared = chain(c, {sum, whole}, {whole, whole});
    ASSERT_EQ(shared.size(), 3u);
    EXPECT_EQ(shared[0].kind, MoveKind::Slice);
    EXPECT_EQ(shared[1].kind, MoveKind::AllReduce);
    EXPECT_EQ(shared[2].kind, MoveKind::AllGather);
    const auto alone = chain(c, {sum, whole}, {whole, whole}, MoveScope::ChangedAxes);
    ASSERT_EQ(alone.size(), 1u);
    EXPECT_EQ(alone[0].kind, MoveKind::AllReduce);
}

TEST(MoveTable, ChangedAxesAloneStillReachEveryLayout) {
    const Case c = make_case({6, 4}, {2, 3});
    const auto layouts = test::all_layouts(c, Reduce::Sum);
    for (const Layout& from : layouts) {
        for (const Layout& to : layouts) {
            Layout at = from;
            for (const Move& move : chain(c, from, to, MoveScope::ChangedAxes)) {
                for (size_t m = 0; m < at.size(); ++m) {
                    EXPECT_TRUE(from[m] != to[m] || move.to[m] == from[m]);
                }
                at = move.to;
            }
            EXPECT_EQ(at, to);
        }
    }
}

TEST(MoveTable, OtherStagesAreLeftOut) {
    Case c = make_case({64}, {8, 2});
    c.mesh.axes[1].role = AxisRole::Stage;
    const auto moves = chain(c, {sum, whole}, {whole, whole});
    ASSERT_EQ(moves.size(), 1u);
    EXPECT_EQ(moves[0].kind, MoveKind::AllReduce);
    const auto over_stages = chain(c, {whole, sum}, {whole, whole});
    EXPECT_EQ(over_stages.back().to, (Layout{whole, whole}));
}

TEST(MoveTable, ThePartsOfASplitMoveWithinTheirMicroBatch) {
    Case c = make_case({8, 6}, {2, 2});
    c.mesh.axes.insert(c.mesh.axes.begin(), {"micro", 4, AxisRole::Micro, {}});
    const Placement rows = cut(c, 0);
    const auto moves = chain(c, {rows, rows, cut(c, 1)}, {rows, rows, whole});
    ASSERT_EQ(moves.size(), 1u);
    EXPECT_EQ(moves[0].kind, MoveKind::AllGather);
    EXPECT_EQ(moves[0].mesh_axes, std::vector<int>{2});
    EXPECT_EQ(moves[0].bytes, 3 * 4); // one row of three lacking elements
}

TEST(MoveTable, NoChainLeadsToAnotherReduction) {
    const Case c = make_case({8}, {2, 2});
    const Placement max = Placement::partial(Reduce::Max);
    EXPECT_FALSE(cheapest_moves(c.axes, c.shape, c.mesh, {sum, whole}, {max, whole}).has_value());
    EXPECT_TRUE(cheapest_moves(c.axes, c.shape, c.mesh, {sum, whole}, {whole, max}).has_value());
    EXPECT_TRUE(cheapest_moves(c.axes, c.shape, c.mesh, {max, whole}, {whole, whole}).has_value());
}

TEST(MoveTable, EqualLayoutsNeedNoMove) {
    const Case c = make_case({8}, {2});
    EXPECT_TRUE(chain(c, {sum}, {sum}).empty());
}

} // namespace
} // namespace sspc
