// The interpreter of moves notices what is wrong with a move, and knows micro-batches and partial terms.
#include "brute_force.h"

#include "ir/interpret/moves.h"

#include <gtest/gtest.h>

#include <iostream>
#include <numeric>

namespace sspc {
namespace {

using test::Case;
using test::make_case;

std::vector<double> counted(size_t count) {
    std::vector<double> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 1);
    return numbers;
}

TEST(MovesOnNumbers, AWrongGroupLeavesElementsMissing) {
    const Case c = make_case({8}, {2, 2});
    const Placement cut = Placement::sharded(c.shape.axes[0]);
    const Layout from{cut, cut}, to{Placement::replicated(), cut};
    const auto locals = scatter_whole(c.axes, c.shape, c.mesh, counted(8), from, 0);
    std::string error;
    EXPECT_TRUE(carry_out(c.axes, c.shape, c.mesh, {MoveKind::AllGather, {0}, from, to, 0}, locals, 0, error).empty());
    EXPECT_EQ(error, "device 0 needs element [2], which its group in the all_gather does not hold");
    EXPECT_FALSE(carry_out(c.axes, c.shape, c.mesh, {MoveKind::Exchange, {0, 1}, from, to, 0}, locals, 0, error).empty());
    EXPECT_EQ(error, "");
}

TEST(MovesOnNumbers, AStepThatIsNotTheKindsIsRefused) {
    const Case c = make_case({8}, {2, 2});
    const Placement whole = Placement::replicated(), sum = Placement::partial(Reduce::Sum);
    const auto locals = scatter_whole(c.axes, c.shape, c.mesh, counted(8), {sum, sum}, 0);
    std::string error;
    carry_out(c.axes, c.shape, c.mesh, {MoveKind::AllReduce, {0}, {sum, sum}, {whole, whole}, 0}, locals, 0, error);
    EXPECT_EQ(error, "all_reduce changes the placement along `y`, which it does not act on");
    carry_out(c.axes, c.shape, c.mesh, {MoveKind::AllGather, {0}, {sum, sum}, {whole, sum}, 0}, locals, 0, error);
    EXPECT_EQ(error, "all_gather does not make this step along `x`");
}

TEST(MovesOnNumbers, ReplicasThatDifferAreNoticed) {
    const Case c = make_case({4}, {2});
    const Layout whole{Placement::replicated()};
    auto locals = scatter_whole(c.axes, c.shape, c.mesh, counted(4), whole, 0);
    std::string error;
    EXPECT_EQ(gather_whole(c.axes, c.shape, c.mesh, locals, whole, 0, error)->data, counted(4));
    locals[1].data[2] = 3.5;
    EXPECT_FALSE(gather_whole(c.axes, c.shape, c.mesh, locals, whole, 0, error).has_value());
    EXPECT_EQ(error, "devices 0 and 1 differ in element [2]: 3 and 3.5");
    EXPECT_TRUE(gather_whole(c.axes, c.shape, c.mesh, locals, whole, 0, error, 0.2).has_value());
}

TEST(MovesOnNumbers, TermsOnTheFirstMemberMakeTheWhole) {
    const Case c = make_case({3}, {2, 2});
    for (Reduce reduction : {Reduce::Sum, Reduce::Max, Reduce::Min, Reduce::Prod}) {
        const Placement partial = Placement::partial(reduction);
        const auto locals = scatter_whole(c.axes, c.shape, c.mesh, counted(3), {partial, partial}, 0);
        EXPECT_EQ(locals[0].data, counted(3));
        EXPECT_EQ(locals[3].data, std::vector<double>(3, identity_of(reduction)));
        std::string error;
        EXPECT_EQ(gather_whole(c.axes, c.shape, c.mesh, locals, {partial, partial}, 0, error)->data, counted(3));
    }
}

TEST(MovesOnNumbers, AMicroBatchIsItsPartOfTheWhole) {
    Case c = make_case({5, 2}, {2, 2});
    c.mesh.axes[0].role = AxisRole::Micro;
    const Placement rows = Placement::sharded(c.shape.axes[0]);
    const Layout from{rows, rows}, to{rows, Placement::replicated()};
    for (int micro : {0, 1}) {
        const auto locals = scatter_whole(c.axes, c.shape, c.mesh, counted(10), from, micro);
        ASSERT_EQ(locals.size(), 2u);
        std::string error;
        const auto moves = cheapest_moves(c.axes, c.shape, c.mesh, from, to);
        ASSERT_EQ(moves->size(), 1u);
        const auto after = carry_out(c.axes, c.shape, c.mesh, moves->front(), locals, micro, error);
        ASSERT_EQ(error, "");
        const auto part = gather_whole(c.axes, c.shape, c.mesh, after, to, micro, error);
        EXPECT_EQ(part->box, micro == 0 ? (Box{{0, 3}, {0, 2}}) : (Box{{3, 5}, {0, 2}}));
        EXPECT_EQ(part->data, micro == 0 ? (std::vector<double>{1, 2, 3, 4, 5, 6}) : (std::vector<double>{7, 8, 9, 10}));
    }
}

TEST(MovesOnNumbers, EveryPairHoldsInEveryMicroBatch) {
    int64_t pairs = 0;
    for (int parts : {2, 3, 4}) {
        for (const auto& sizes : {std::vector<int64_t>{1, 3}, {5, 4}, {7, 6}, {12, 2}}) {
            Case c = make_case(sizes, {2, 3});
            const auto without = test::all_layouts(c, Reduce::Sum);
            c.mesh.axes.insert(c.mesh.axes.begin(), {"micro", parts, AxisRole::Micro, {}});
            const auto with_micro = [&](Layout layout) {
                layout.insert(layout.begin(), Placement::sharded(c.shape.axes[0]));
                return layout;
            };
            const std::vector<double> whole = counted(sizes[0] * sizes[1]);
            for (const Layout& from : without) {
                for (const Layout& to : without) {
                    const auto moves = cheapest_moves(c.axes, c.shape, c.mesh, with_micro(from), with_micro(to));
                    ASSERT_TRUE(moves.has_value());
                    ++pairs;
                    for (int micro = 0; micro < parts; ++micro) {
                        std::string error;
                        auto locals = scatter_whole(c.axes, c.shape, c.mesh, whole, with_micro(from), micro);
                        const auto part = gather_whole(c.axes, c.shape, c.mesh, locals, with_micro(from), micro, error);
                        for (const Move& move : *moves) {
                            locals = carry_out(c.axes, c.shape, c.mesh, move, locals, micro, error);
                            ASSERT_EQ(error, "");
                        }
                        ASSERT_EQ(gather_whole(c.axes, c.shape, c.mesh, locals, with_micro(to), micro, error), part);
                    }
                }
            }
        }
    }
    std::cout << "in micro-batches: " << pairs << " pairs of layouts\n";
}

} // namespace
} // namespace sspc
