// The source of one device class: its blocks as functions, its order as a table.
#pragma once

#include "backend/emit/emit.h"
#include "backend/emit/kernel.h"
#include "backend/emit/parts.h"

#include <set>
#include <string>
#include <vector>

namespace sspc::backend {

/// What the classes of a program share while it is emitted.
struct Emission {
    const Program& program;
    const EmitOptions& options;
    Parts parts;
    KernelSet kernels;
    std::set<std::vector<int>> communicators; ///< sets of mesh axes that messages move along
    std::vector<std::string> checked;         ///< statements whose indices are checked

    Emission(const Program& p, const EmitOptions& o) : program(p), options(o), parts(p) {}
    /// `gpt.ssp:31`, or nothing.
    std::string place(const Span& span) const;
    int input_number(const std::string& name) const;
};

/// The text of class_<stage>.cu. Kernels it needs are added to the emission, so the kernel files come after all classes.
std::string stage_source(Emission& emission, const Class& device_class);

std::string dtype_text(DType type);
/// `{1, 2}`
std::string list_text(const std::vector<int>& numbers);
/// The axes of a buffer under a layout as `{{8, {0, 1}}, {64, {}}}`.
std::string held_text(const Program& program, const std::vector<AxisId>& axes, const Layout& layout);

} // namespace sspc::backend
