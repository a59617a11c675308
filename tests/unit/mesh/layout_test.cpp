// Parts, boxes and the text of layouts.
#include "ir/mesh/layout.h"

#include <gtest/gtest.h>

namespace sspc {
namespace {

struct Example {
    IdVector<AxisId, Axis> axes;
    AxisId rows = axes.push_back({"rows", 7, {}});
    AxisId columns = axes.push_back({"columns", 4, {}});
    Mesh mesh{"g", {{"x", 2, AxisRole::Device, {}}, {"y", 3, AxisRole::Device, {}}}, {}};
};

TEST(Layout, TheFirstPartsHaveOneMore) {
    EXPECT_EQ(part_of({0, 7}, 3, 0), (Interval{0, 3}));
    EXPECT_EQ(part_of({0, 7}, 3, 1), (Interval{3, 5}));
    EXPECT_EQ(part_of({0, 7}, 3, 2), (Interval{5, 7}));
    EXPECT_EQ(part_of({10, 12}, 4, 3).size(), 0);
    for (int parts = 1; parts < 9; ++parts) {
        int64_t end = 5;
        for (int k = 0; k < parts; ++k) {
            EXPECT_EQ(part_of({5, 18}, parts, k).begin, end);
            end = part_of({5, 18}, parts, k).end;
        }
        EXPECT_EQ(end, 18);
    }
}

TEST(Layout, CutsOfOneAxisNestInMeshOrder) {
    const Example e;
    const Layout nested{Placement::sharded(e.rows), Placement::sharded(e.rows)};
    EXPECT_EQ(region(e.axes, {e.rows, e.columns}, e.mesh, nested, {0, 1}), (Box{{2, 3}, {0, 4}}));
    EXPECT_EQ(region(e.axes, {e.rows, e.columns}, e.mesh, nested, {1, 2}), (Box{{6, 7}, {0, 4}}));
    EXPECT_EQ(largest_volume(e.axes, {e.rows, e.columns}, e.mesh, nested), 8);
}

TEST(Layout, BoxesIntersectWhereAllAxesDo) {
    EXPECT_EQ(intersect({{0, 4}, {0, 4}}, {{2, 6}, {3, 4}}), (Box{{2, 4}, {3, 4}}));
    EXPECT_EQ(intersect({{0, 4}, {0, 4}}, {{4, 6}, {3, 4}}), std::nullopt);
    EXPECT_EQ(intersect({}, {}), Box());
    EXPECT_EQ(volume({}), 1);
}

TEST(Layout, IsWrittenByMeshAxis) {
    const Example e;
    const Layout layout{Placement::sharded(e.rows), Placement::replicated()};
    EXPECT_EQ(to_text(layout, e.mesh, e.axes), "{x: S(rows), y: R}");
    EXPECT_EQ(to_short_text(layout, e.mesh, e.axes), "{x: S(rows)}");
    EXPECT_EQ(to_short_text(replicated_layout(e.mesh), e.mesh, e.axes), "R");
    EXPECT_EQ(to_text(Placement::partial(Reduce::Max), e.axes), "P(max)");
}

TEST(Layout, MeshAxesOfSizeOneAreReplicated) {
    Example e;
    e.mesh.axes[0].size = 1;
    const Layout layout{Placement::partial(Reduce::Sum), Placement::sharded(e.rows)};
    EXPECT_EQ(normalized(e.mesh, layout), (Layout{Placement::replicated(), Placement::sharded(e.rows)}));
}

} // namespace
} // namespace sspc
