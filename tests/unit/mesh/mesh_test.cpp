// Devices, coordinates and groups of a mesh.
#include "ir/mesh/mesh.h"

#include <gtest/gtest.h>

namespace sspc {
namespace {

Mesh example() {
    return {"g",
            {{"micro", 4, AxisRole::Micro, {}},
             {"pp", 2, AxisRole::Stage, {}},
             {"dp", 3, AxisRole::Device, {}},
             {"tp", 2, AxisRole::Device, {}}},
            {}};
}

TEST(Mesh, NumbersDevicesRowMajorWithoutTheMicroAxis) {
    const Mesh mesh = example();
    EXPECT_EQ(device_count(mesh), 12);
    EXPECT_EQ(coordinates(mesh, 0), (std::vector<int>{0, 0, 0, 0}));
    EXPECT_EQ(coordinates(mesh, 7), (std::vector<int>{0, 1, 0, 1}));
    for (int device = 0; device < 12; ++device) {
        EXPECT_EQ(device_at(mesh, coordinates(mesh, device)), device);
    }
    EXPECT_EQ(device_at(mesh, {3, 1, 2, 1}), 11);
}

TEST(Mesh, AGroupDiffersAlongItsAxesOnly) {
    const Mesh mesh = example();
    EXPECT_EQ(group_of(mesh, 7, {2}), (std::vector<int>{7, 9, 11}));
    EXPECT_EQ(group_of(mesh, 7, {3, 1}), (std::vector<int>{0, 1, 6, 7}));
    EXPECT_EQ(group_of(mesh, 7, {0}), (std::vector<int>{7}));
}

TEST(Mesh, FindsAxesByNameAndRole) {
    const Mesh mesh = example();
    EXPECT_EQ(find_axis(mesh, "tp"), 3);
    EXPECT_EQ(find_axis(mesh, "cp"), std::nullopt);
    EXPECT_EQ(find_role(mesh, AxisRole::Stage), 1);
}

} // namespace
} // namespace sspc
