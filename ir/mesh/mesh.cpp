// Coordinates of devices and the groups along mesh axes.
#include "ir/mesh/mesh.h"

#include "ir/support/check.h"

#include <algorithm>

namespace sspc {

std::optional<int> find_axis(const Mesh& mesh, std::string_view name) {
    for (size_t i = 0; i < mesh.axes.size(); ++i) {
        if (mesh.axes[i].name == name) {
            return static_cast<int>(i);
        }
    }
    return std::nullopt;
}

std::optional<int> find_role(const Mesh& mesh, AxisRole role) {
    for (size_t i = 0; i < mesh.axes.size(); ++i) {
        if (mesh.axes[i].role == role) {
            return static_cast<int>(i);
        }
    }
    return std::nullopt;
}

int device_count(const Mesh& mesh) {
    int count = 1;
    for (const MeshAxis& axis : mesh.axes) {
        count *= axis.role == AxisRole::Micro ? 1 : axis.size;
    }
    return count;
}

std::vector<int> coordinates(const Mesh& mesh, int device) {
    SSPC_CHECK(device >= 0 && device < device_count(mesh), "a device outside the mesh");
    std::vector<int> result(mesh.axes.size(), 0);
    for (size_t i = mesh.axes.size(); i-- > 0;) {
        const MeshAxis& axis = mesh.axes[i];
        if (axis.role != AxisRole::Micro) {
            result[i] = device % axis.size;
            device /= axis.size;
        }
    }
    return result;
}

int device_at(const Mesh& mesh, const std::vector<int>& coordinates) {
    SSPC_CHECK(coordinates.size() == mesh.axes.size(), "a coordinate for each mesh axis");
    int device = 0;
    for (size_t i = 0; i < mesh.axes.size(); ++i) {
        const MeshAxis& axis = mesh.axes[i];
        if (axis.role != AxisRole::Micro) {
            SSPC_CHECK(coordinates[i] >= 0 && coordinates[i] < axis.size, "a coordinate outside the mesh");
            device = device * axis.size + coordinates[i];
        }
    }
    return device;
}

std::vector<int> group_of(const Mesh& mesh, int device, const std::vector<int>& axes) {
    std::vector<std::vector<int>> members{coordinates(mesh, device)};
    std::vector<int> ascending = axes;
    std::sort(ascending.begin(), ascending.end());
    for (int axis : ascending) {
        if (mesh.axes.at(axis).role == AxisRole::Micro) {
            continue;
        }
        std::vector<std::vector<int>> more;
        for (const std::vector<int>& member : members) {
            for (int k = 0; k < mesh.axes[axis].size; ++k) {
                more.push_back(member);
                more.back()[axis] = k;
            }
        }
        members = std::move(more);
    }
    std::vector<int> devices;
    devices.reserve(members.size());
    for (const std::vector<int>& member : members) {
        devices.push_back(device_at(mesh, member));
    }
    return devices;
}

} // namespace sspc
