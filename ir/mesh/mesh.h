// The grid of devices that a plan declares.
#pragma once

#include "ir/support/span.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sspc {

/// What a mesh axis stands for.
enum class AxisRole {
    Device, ///< its coordinates are devices that work side by side
    Stage,  ///< its coordinates are the pipeline's stages: each holds other tasks
    Micro,  ///< no devices: the parts of a `split`, one after another in time; always the first axis
};

struct MeshAxis {
    std::string name;
    int size = 1;
    AxisRole role = AxisRole::Device;
    Span span;
};

/// Axes from the outermost to the innermost; the last one's neighbours are closest.
struct Mesh {
    std::string name;
    std::vector<MeshAxis> axes;
    Span span;
};

/// Position of the axis called `name`.
std::optional<int> find_axis(const Mesh& mesh, std::string_view name);
/// The axis with this role, if there is one.
std::optional<int> find_role(const Mesh& mesh, AxisRole role);
/// Number of devices: the product of the sizes of all axes but Micro.
int device_count(const Mesh& mesh);
/// Coordinates of a device (row-major over the axes, Micro left out and reported as 0), one for each axis.
std::vector<int> coordinates(const Mesh& mesh, int device);
/// The inverse; the Micro coordinate is ignored.
int device_at(const Mesh& mesh, const std::vector<int>& coordinates);
/// The devices that differ from `device` only along `axes` (Micro ignored), in row-major order over `axes`.
std::vector<int> group_of(const Mesh& mesh, int device, const std::vector<int>& axes);

} // namespace sspc
