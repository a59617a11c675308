// What kind of kernel carries out a compute, and which computes can share one. `fuse` groups by it, the backend emits by it.
#pragma once

#include "ir/program/program.h"

#include <optional>
#include <vector>

namespace sspc {

enum class KernelForm {
    Elementwise, ///< one value for each point of `outer`
    Rows,        ///< for each point of `outer`: reductions over `inner`, then values over `outer` and `inner`
    Columns,     ///< for each point of `outer`: a reduction over `inner`, whose memory lies across (the last outer axis is the vector)
    Contraction, ///< a sum of products of two operands, for the GEMM of the vendor
    Scatter,     ///< adds the values of `outer` at computed places
};

struct KernelShape {
    KernelForm form = KernelForm::Elementwise;
    std::vector<AxisId> outer;
    std::vector<AxisId> inner;
};

/// The two factors of a contraction and the constant beside them.
struct Product {
    const Expr* left = nullptr;  ///< an Access
    const Expr* right = nullptr; ///< an Access
    double scale = 1;
};
/// If the body is a product of two plain accesses and constants (casts to a wider float type are looked through).
std::optional<Product> as_product(const Compute& compute);

/// The shape of one compute.
KernelShape shape_of(const Class& device_class, const Compute& compute);
/// The shape of computes that share a kernel; nullopt if they cannot.
std::optional<KernelShape> common_shape(const Program& program, const Class& device_class,
                                        const std::vector<const Compute*>& computes);

/// The mesh axes (of size over 1) by which `cut` cuts `axis`, ascending: together with the device's coordinates they give the part it works on.
std::vector<int> cutters(const Mesh& mesh, const Cut& cut, AxisId axis);
std::vector<int> cutters(const Mesh& mesh, const Layout& layout, AxisId axis);
/// The axes of a plain access in the order of the operand's axes.
std::vector<AxisId> access_axes(const Expr& access);

} // namespace sspc
