// Turns a device program into the sources of a program that runs it.
#pragma once

#include "ir/program/program.h"
#include "ir/support/source_map.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sspc::backend {

enum class Target { Cpu, Mpi, Cuda };

/// Where an input's values come from unless the launcher's `--data` says otherwise.
struct Feed {
    enum class Kind {
        NextTokenInputs, ///< windows of a byte text: the bytes before
        NextTokenLabels, ///< and the same windows one byte later
        Tensor,          ///< rows of one tensor of a safetensors file, in a shuffled or the stored order
    };
    std::string input; ///< the name of an input of the model
    Kind kind = Kind::Tensor;
    std::string file;   ///< as the program opens it
    std::string tensor; ///< Tensor: its name in the file
    uint64_t seed = 0;  ///< NextToken*: of the window positions. Tensor: of the shuffle
    bool shuffle = false;
    AxisId rows; ///< the axis that a step consumes
};

struct EmitOptions {
    Target target = Target::Cpu;
    std::vector<Feed> feeds;
    /// Turns spans into `file:line` for comments; null leaves the places out. Only file names are written, never folders.
    const SourceMap* sources = nullptr;
    /// Axis that `feed … rows` names; invalid if none.
    AxisId rows;
};

/// Sorted relative path → text: CMakeLists.txt, program.h, main.cpp, class_<stage>.cu, kernels_<n>.{h,cu}. The same program gives the same bytes.
/// Run `fuse`, `allocate` and `streams` on the program before (compile() does).
std::map<std::string, std::string> emit(const Program& program, const EmitOptions& options);

} // namespace sspc::backend
