// What a generated program's stages are given, and what they offer the launcher.
#pragma once

#include "common/network.h"
#include "common/types.h"

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ssp {

/// One axis of a tensor as a device holds it: the whole size and the mesh axes that cut it, outermost first.
struct HeldAxis {
    int64_t size = 0;
    std::vector<int> cuts;
};

/// One rank: its place on the mesh, its streams and its memory. The launcher makes it.
struct Device {
    std::vector<int> at; ///< coordinates on the mesh; that of micro-batches (the first) is 0
    cudaStream_t compute = nullptr;
    cudaStream_t communication = nullptr;
    /// Arenas of the sizes that the stage asks for. The launcher leaves 256 bytes more at the end of each.
    char* fixed = nullptr;
    char* frames = nullptr;
    char* scratch = nullptr;
    int64_t* error = nullptr; ///< in device memory; a kernel writes the number of a statement whose index is outside its axis
    uint64_t seed = 0;
    Network* network = nullptr;
    /// Fills `to` with this device's part of input number `input` of the present step (its micro-batch `micro`), in order on the compute stream.
    std::function<void(int input, void* to, const std::vector<HeldAxis>& axes, int micro)> load;
};

/// The stage that a rank runs.
class Stage {
public:
    virtual ~Stage() = default;
    /// Issues one training step, counted from 1. The launcher waits for both streams before and after.
    virtual void step(int64_t number) = 0;
};

/// A tensor that the launcher reads or writes whole: each device's part lies at `offset` of `Device::fixed` on the devices of `stage`.
struct Held {
    int stage = 0;
    int64_t offset = 0;
    std::vector<HeldAxis> axes;
    /// Mesh axes along which the parts are terms of a sum (never for stored tensors).
    std::vector<int> sums;
};

struct ProgramInfo {
    std::string model;
    std::string plan;
    std::vector<std::string> mesh_names; ///< of the axes; the first is that of micro-batches
    std::vector<int> mesh;               ///< their sizes
    int stage_axis = -1;                 ///< the axis whose coordinate is the stage; -1: one stage
    /// Sets of mesh axes; for each a communicator between the devices that differ along them only, made in this order on all ranks.
    std::vector<std::vector<int>> communicators;

    struct Arenas {
        int64_t fixed = 0, frames = 0, scratch = 0;
    };
    std::vector<Arenas> arenas; ///< by stage
    std::function<Stage*(int stage, Device&)> make;

    struct Input {
        std::string name;
        DType type = DType::F32;
        std::vector<int64_t> sizes;
    };
    std::vector<Input> inputs;

    enum class Init { Zeros, Ones, Constant, Normal, Uniform, TruncatedNormal };
    struct Stored {
        std::string path;
        bool is_state = false; ///< of the optimizer
        DType type = DType::F32;
        Init init = Init::Zeros;
        double a = 0, b = 0;
        Held home;
        std::vector<Held> copies; ///< on other stages
    };
    std::vector<Stored> stored;

    enum class What { Loss, GradNorm, Output, Gradient };
    struct Result {
        std::string path;
        What what = What::Output;
        DType type = DType::F32;
        Held held;
    };
    std::vector<Result> results;

    struct Feed {
        enum class Kind { NextToken, Columns };
        Kind kind = Kind::NextToken;
        std::string file;
        std::vector<int> inputs; ///< numbers of `inputs`
        std::vector<std::string> columns;
        uint64_t seed = 0;
        std::vector<int> row_axes; ///< for each input the number of its axis of rows, -1 if it has none
    };
    std::vector<Feed> feeds;

    /// Statements that `Device::error` can name, by number from 1: `layer[0].e (gpt.ssp:17)`.
    std::vector<std::string> checked;
};

} // namespace ssp
