// Remembered chains equal fresh ones; finding them is quick.
#include "brute_force.h"

#include "ir/collective/move_cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>

namespace sspc {
namespace {

using test::Case;
using test::make_case;

bool equal(const std::vector<Move>& a, const std::vector<Move>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Move& x, const Move& y) {
        return x.kind == y.kind && x.mesh_axes == y.mesh_axes && x.from == y.from && x.to == y.to && x.bytes == y.bytes;
    });
}

TEST(MoveCache, GivesTheSameChainsForAxesOfOtherNames) {
    MoveCache cache;
    for (int round = 0; round < 2; ++round) {
        Case c = make_case({6, 6, 4}, {2, 2});
        c.shape.axes = round == 0 ? std::vector<AxisId>{c.shape.axes[0], c.shape.axes[2]}
                                  : std::vector<AxisId>{c.shape.axes[1], c.shape.axes[2]};
        const auto layouts = test::all_layouts(c, Reduce::Sum);
        for (const Layout& from : layouts) {
            for (const Layout& to : layouts) {
                const auto fresh = cheapest_moves(c.axes, c.shape, c.mesh, from, to);
                const auto kept = cache.cheapest(c.axes, c.shape, c.mesh, from, to);
                ASSERT_EQ(fresh.has_value(), kept.has_value());
                ASSERT_TRUE(equal(*fresh, *kept));
            }
        }
    }
}

double seconds_of(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(MoveCache, TenThousandChainsOfATransformerTakeNoTime) {
    // batch, seq, heads, hd on micro × stages × dp × tp: tensor parallelism, sequence parallelism, gradients.
    Case c = make_case({16, 64, 8, 16}, {4, 2, 2, 2});
    c.mesh.axes[0].role = AxisRole::Micro;
    c.mesh.axes[1].role = AxisRole::Stage;
    const auto& axis = c.shape.axes;
    const auto s = [&](int k) { return Placement::sharded(axis[k]); };
    const Placement r = Placement::replicated();
    const Placement p = Placement::partial(Reduce::Sum);
    const std::vector<std::pair<Layout, Layout>> typical = {
        {{s(0), r, s(0), p}, {s(0), r, s(0), r}},    {{s(0), r, s(0), p}, {s(0), r, s(0), s(1)}},
        {{s(0), r, s(0), s(1)}, {s(0), r, s(0), r}}, {{s(0), r, s(0), s(1)}, {s(0), r, s(0), s(2)}},
        {{r, r, p, s(2)}, {r, r, s(3), s(2)}},       {{r, r, p, r}, {r, r, r, r}},
        {{r, r, p, p}, {r, r, r, r}},                {{r, r, s(3), s(2)}, {r, r, r, s(2)}},
    };
    const double fresh = seconds_of([&] {
        for (int k = 0; k < 10000; ++k) {
            const auto& [from, to] = typical[k % typical.size()];
            ASSERT_TRUE(cheapest_moves(c.axes, c.shape, c.mesh, from, to).has_value());
        }
    });
    MoveCache cache;
    const double kept = seconds_of([&] {
        for (int k = 0; k < 10000; ++k) {
            const auto& [from, to] = typical[k % typical.size()];
            ASSERT_TRUE(cache.cheapest(c.axes, c.shape, c.mesh, from, to).has_value());
        }
    });
    std::cout << "10,000 chains: " << fresh << " s fresh, " << kept << " s remembered\n";
    EXPECT_LT(kept, 1.0);
}

TEST(MoveCache, ThousandsOfDevicesCostNoMoreThanTheirCutsAsk) {
    Case c = make_case({51200, 12288}, {256, 16, 128, 8});
    c.mesh.axes[0].role = AxisRole::Micro;
    c.mesh.axes[1].role = AxisRole::Stage;
    const Placement r = Placement::replicated();
    const Placement p = Placement::partial(Reduce::Sum);
    const Placement rows = Placement::sharded(c.shape.axes[0]);
    const Placement columns = Placement::sharded(c.shape.axes[1]);
    const double once = seconds_of([&] {
        for (const auto& [from, to] : std::vector<std::pair<Layout, Layout>>{{{r, r, p, rows}, {r, r, columns, rows}},
                                                                             {{r, r, p, r}, {r, r, rows, r}},
                                                                             {{r, r, p, r}, {r, r, r, r}},
                                                                             {{r, r, p, p}, {r, r, rows, r}},
                                                                             {{r, r, rows, r}, {r, r, r, r}}}) {
            ASSERT_TRUE(cheapest_moves(c.axes, c.shape, c.mesh, from, to).has_value());
        }
    });
    std::cout << "five chains on 16,384 devices: " << once << " s\n";
    EXPECT_LT(once, 1.0);
}

} // namespace
} // namespace sspc
