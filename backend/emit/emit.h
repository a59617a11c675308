// Turns a device program into the sources of a program that runs it.
#pragma once

#include "ir/graph/graph.h"
#include "ir/program/program.h"
#include "ir/support/source_map.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sspc::backend {

enum class Target { Cpu, Mpi, Cuda };

/// Where inputs' values come from unless the launcher's `--data` says otherwise.
struct Feed {
    enum class Kind {
        NextToken, ///< of a text file, bytes are tokens: the first input has positions p..p+n-1, the second p+1..p+n
        Columns,   ///< tensors of a safetensors file, one an input; their first axis is the axis of rows
    };
    Kind kind = Kind::NextToken;
    std::string file;                 ///< as the program opens it
    std::vector<std::string> inputs;  ///< the model's inputs, in order
    std::vector<std::string> columns; ///< Columns: the tensors' names, one for each input
    uint64_t seed = 0;                ///< the order of the rows
    AxisId rows;                      ///< the axis that a step consumes; invalid if not written
};

struct EmitOptions {
    Target target = Target::Cpu;
    std::vector<Feed> feeds;
    /// The model's graph: types and axes of its inputs.
    const Graph* graph = nullptr;
    /// Turns spans into `file:line` for comments; null leaves the places out. Only file names are written, never folders.
    const SourceMap* sources = nullptr;
};

/// Sorted relative path → text: CMakeLists.txt, program.h, main.cpp, class_<stage>.cu, kernels_<n>.{h,cu}. The same program gives the same bytes.
/// Run `fuse`, `allocate` and `streams` on the program before (compile() does).
std::map<std::string, std::string> emit(const Program& program, const EmitOptions& options);

} // namespace sspc::backend
