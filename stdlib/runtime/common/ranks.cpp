// The ranks of a run: their devices, and tensors gathered from and spread to them.
#include "common/ranks.h"

#include "common/error.h"

#include <algorithm>
#include <cstring>

namespace ssp {
namespace {

constexpr int64_t spare_bytes = 256;

void allocate(char** arena, int64_t bytes, const char* what, int rank) {
    const auto size = static_cast<size_t>(bytes + spare_bytes);
    if (cudaMalloc(reinterpret_cast<void**>(arena), size) != cudaSuccess) {
        fail("SSP0810", "rank " + std::to_string(rank) + " has no room for " + std::to_string(size) + " bytes of " + what);
    }
}

/// A device that speaks for the part it holds: the first along every mesh axis that neither cuts the tensor nor holds terms of it.
bool speaks(const ProgramInfo& program, const Held& held, const Rank& rank) {
    if (rank.stage() != held.stage) {
        return false;
    }
    for (int axis = 1; axis < static_cast<int>(program.mesh.size()); ++axis) {
        const auto has = [&](const std::vector<int>& axes) {
            return std::find(axes.begin(), axes.end(), axis) != axes.end();
        };
        const bool cuts = std::any_of(held.axes.begin(), held.axes.end(), [&](const HeldAxis& a) { return has(a.cuts); });
        if (axis != program.stage_axis && !cuts && !has(held.sums) && rank.at()[static_cast<size_t>(axis)] != 0) {
            return false;
        }
    }
    return true;
}

template <typename T>
void add_as(const char* from, char* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        T term, sum;
        std::memcpy(&term, from + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
        std::memcpy(&sum, to + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
        sum = static_cast<T>(sum + term);
        std::memcpy(to + i * static_cast<int64_t>(sizeof(T)), &sum, sizeof(T));
    }
}
void add_elements(DType type, const char* from, char* to, int64_t count) {
    switch (type) {
    case DType::F64: return add_as<double>(from, to, count);
    case DType::F32: return add_as<float>(from, to, count);
    case DType::BF16: return add_as<bf16>(from, to, count);
    case DType::F16: return add_as<f16>(from, to, count);
    case DType::I64: return add_as<int64_t>(from, to, count);
    case DType::I32: return add_as<int32_t>(from, to, count);
    default: fail("SSP0801", "terms of a sum of type " + type_name(type));
    }
}

template <typename T>
double read_as(const char* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return static_cast<double>(value);
}

} // namespace

int rank_count(const ProgramInfo& program) {
    int count = 1;
    for (size_t i = 1; i < program.mesh.size(); ++i) {
        count *= program.mesh[i];
    }
    return count;
}

std::vector<int> coordinates_of(const ProgramInfo& program, int rank) {
    std::vector<int> at(program.mesh.size(), 0);
    for (size_t i = program.mesh.size(); i-- > 1;) {
        at[i] = rank % program.mesh[i];
        rank /= program.mesh[i];
    }
    return at;
}

Rank::Rank(const ProgramInfo& program, int number, const ncclUniqueId& id, uint64_t seed, Batches& batches)
    : program_(program), number_(number), batches_(batches) {
    SSP_CUDA(cudaSetDevice(number));
    device_.at = coordinates_of(program, number);
    device_.seed = seed;
    stage_number_ = program.stage_axis < 0 ? 0 : device_.at[static_cast<size_t>(program.stage_axis)];
    SSP_CUDA(cudaStreamCreateWithFlags(&device_.compute, cudaStreamNonBlocking));
    SSP_CUDA(cudaStreamCreateWithFlags(&device_.communication, cudaStreamNonBlocking));
    const ProgramInfo::Arenas& arenas = program.arenas[static_cast<size_t>(stage_number_)];
    allocate(&device_.fixed, arenas.fixed, "parameters, states and results", number);
    allocate(&device_.frames, arenas.frames, "activations", number);
    allocate(&device_.scratch, arenas.scratch, "intermediate values", number);
    SSP_CUDA(cudaMalloc(reinterpret_cast<void**>(&device_.error), sizeof(int64_t)));
    SSP_CUDA(cudaMemsetAsync(device_.error, 0, sizeof(int64_t), device_.compute));
    network_ = std::make_unique<Network>(program.mesh, device_.at);
    device_.network = network_.get();
    make_communicators(id);
    device_.load = [this](int input, void* to, const std::vector<HeldAxis>& axes, int micro) {
        load(input, to, axes, micro);
    };
    trace_ = std::make_unique<Trace>(device_.compute, device_.communication);
    stage_.reset(program.make(stage_number_, device_));
    SSP_CUDA(cudaStreamSynchronize(device_.compute));
}

Rank::~Rank() {
    cudaSetDevice(number_);
    stage_.reset();
    for (const cudaStream_t stream : {device_.compute, device_.communication}) {
        if (stream != nullptr) {
            cudaStreamDestroy(stream);
        }
    }
    trace_.reset();
    network_.reset();
    for (const ncclComm_t communicator : communicators_) {
        ncclCommDestroy(communicator);
    }
    for (char* arena : {device_.fixed, device_.frames, device_.scratch, reinterpret_cast<char*>(device_.error)}) {
        cudaFree(arena);
    }
}

void Rank::make_communicators(const ncclUniqueId& id) {
    ncclComm_t world = nullptr;
    SSP_NCCL(ncclCommInitRank(&world, rank_count(program_), id, number_));
    communicators_.push_back(world);
    for (const std::vector<int>& axes : program_.communicators) {
        // Equal coordinates on the other axes: one color. Row-major over the axes: the rank.
        int color = 0, key = 0;
        for (int axis = 1; axis < static_cast<int>(program_.mesh.size()); ++axis) {
            if (std::find(axes.begin(), axes.end(), axis) == axes.end()) {
                color = color * program_.mesh[static_cast<size_t>(axis)] + device_.at[static_cast<size_t>(axis)];
            }
        }
        for (const int axis : axes) {
            key = key * program_.mesh[static_cast<size_t>(axis)] + device_.at[static_cast<size_t>(axis)];
        }
        ncclComm_t part = nullptr;
        SSP_NCCL(ncclCommSplit(world, color, key, &part, nullptr));
        communicators_.push_back(part);
        network_->add(axes, part);
    }
}

void Rank::load(int input, void* to, const std::vector<HeldAxis>& axes, int micro) {
    std::vector<int> at = device_.at;
    at[0] = micro;
    const Box box = box_of(axes, program_.mesh, at);
    const int64_t bytes = volume(box) * size_of(program_.inputs[static_cast<size_t>(input)].type);
    std::vector<char>& values = staged_.emplace_back(static_cast<size_t>(bytes));
    batches_.fill(input, step_, box, values.data());
    SSP_CUDA(cudaMemcpyAsync(to, values.data(), values.size(), cudaMemcpyHostToDevice, device_.compute));
}

void Rank::fill_stored(const Beginning& beginning) {
    std::vector<char> values;
    for (const ProgramInfo::Stored& stored : program_.stored) {
        std::vector<const Held*> places = {&stored.home};
        for (const Held& copy : stored.copies) {
            places.push_back(&copy);
        }
        for (const Held* held : places) {
            if (held->stage != stage_number_) {
                continue;
            }
            const Box box = box_of(held->axes, program_.mesh, device_.at);
            values.resize(static_cast<size_t>(volume(box) * size_of(stored.type)));
            beginning.fill(stored, box, values.data());
            SSP_CUDA(cudaMemcpy(device_.fixed + held->offset, values.data(), values.size(), cudaMemcpyHostToDevice));
        }
    }
}

void Rank::step(int64_t number) {
    step_ = number;
    stage_->step(number);
    SSP_CUDA(cudaStreamSynchronize(device_.compute));
    SSP_CUDA(cudaStreamSynchronize(device_.communication));
    staged_.clear();
}

int64_t Rank::index_error() const {
    int64_t error = 0;
    SSP_CUDA(cudaMemcpy(&error, device_.error, sizeof error, cudaMemcpyDeviceToHost));
    return error;
}

std::vector<char> Ranks::gather(const Held& held, DType type) const {
    const std::vector<int64_t> sizes = sizes_of(held.axes);
    const int64_t element = size_of(type);
    std::vector<char> whole(static_cast<size_t>(volume(sizes) * element));
    std::vector<char> part;
    for (const std::unique_ptr<Rank>& rank : ranks_) {
        if (!speaks(program_, held, *rank)) {
            continue;
        }
        const Box box = box_of(held.axes, program_.mesh, rank->at());
        part.resize(static_cast<size_t>(volume(box) * element));
        SSP_CUDA(cudaMemcpy(part.data(), rank->fixed() + held.offset, part.size(), cudaMemcpyDeviceToHost));
        if (held.sums.empty()) {
            place_part(sizes, box, element, part.data(), whole.data());
        } else {
            each_run(sizes, box, [&](int64_t to, int64_t from, int64_t count) {
                add_elements(type, part.data() + from * element, whole.data() + to * element, count);
            });
        }
    }
    return whole;
}

double Ranks::scalar(const Held& held, DType type) const {
    const std::vector<char> value = gather(held, type);
    switch (type) {
    case DType::F64: return read_as<double>(value.data());
    case DType::F32: return read_as<float>(value.data());
    case DType::BF16: return static_cast<double>(read_as<bf16>(value.data()));
    case DType::F16: return static_cast<double>(read_as<f16>(value.data()));
    case DType::I64: return read_as<int64_t>(value.data());
    case DType::I32: return read_as<int32_t>(value.data());
    default: return static_cast<double>(value[0]);
    }
}

void Ranks::check_indices() const {
    for (const std::unique_ptr<Rank>& rank : ranks_) {
        const int64_t error = rank->index_error();
        if (error == 0) {
            continue;
        }
        const auto number = static_cast<size_t>(error - 1);
        const std::string where = number < program_.checked.size() ? program_.checked[number] : "a gather";
        fail("SSP0807", "an index of " + where + " lies outside its axis (rank " + std::to_string(rank->number()) + ")");
    }
}

std::vector<const Trace*> Ranks::traces() const {
    std::vector<const Trace*> traces;
    for (const std::unique_ptr<Rank>& rank : ranks_) {
        traces.push_back(&rank->trace());
    }
    return traces;
}

} // namespace ssp
