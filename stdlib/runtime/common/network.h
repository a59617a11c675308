// Messages between the devices of a mesh: moves of tensors from one layout to another, over NCCL.
//
// What a device holds of a tensor follows from its layout (for each of the tensor's axes the mesh axes that cut it) and the device's
// coordinates, so packing, unpacking and who sends what to whom are computed here and need no tables.
#pragma once

#include "common/kernel.h"
#include "common/types.h"

#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdint>
#include <map>
#include <vector>

namespace ssp {

/// One axis of a tensor: its whole size, and the mesh axes that cut it before and after the message.
struct MovedAxis {
    int64_t size = 0;
    std::vector<int> from;
    std::vector<int> to;
};

/// One tensor of a message.
struct Moved {
    const void* from = nullptr;
    void* to = nullptr;
    DType type = DType::F32;
    std::vector<MovedAxis> axes;
};

/// A part of the work: part `index` of `count` of the local interval of the tensor's axis number `axis`.
struct MovedChunk {
    int axis = -1;
    int index = 0;
    int count = 1;
};

class Network {
public:
    /// `mesh`: the sizes of its axes, the first that of micro-batches. `at`: this device's coordinates.
    Network(std::vector<int> mesh, std::vector<int> at) : mesh_(std::move(mesh)), at_(std::move(at)) {}
    ~Network();
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    /// The communicator of the devices that differ along `axes` only; ranks are row-major over them.
    void add(const std::vector<int>& axes, ncclComm_t communicator) { communicators_[axes] = communicator; }

    struct Message {
        std::vector<int> axes; ///< along which the message moves
        int micro = 0;
        bool accumulate = false; ///< adds to `to`
        Reduction reduction = Reduction::Sum;
        MovedChunk chunk;
    };
    void all_reduce(cudaStream_t stream, const Message& message, const std::vector<Moved>& tensors);
    void reduce_scatter(cudaStream_t stream, const Message& message, const std::vector<Moved>& tensors);
    void all_gather(cudaStream_t stream, const Message& message, const std::vector<Moved>& tensors);
    /// Any layout without partial terms to any other; all-to-all is a case of it.
    void exchange(cudaStream_t stream, const Message& message, const std::vector<Moved>& tensors);
    /// The part of a whole that this device keeps.
    void slice(cudaStream_t stream, const Message& message, const std::vector<Moved>& tensors);
    /// The first member keeps the value, the others take the reduction's identity.
    void to_partial(cudaStream_t stream, const Message& message, const std::vector<Moved>& tensors);

    /// To and from the device at `peer` along mesh axis `axis`, equal in its other coordinates.
    void send(cudaStream_t stream, int axis, int peer, const void* from, int64_t count, DType type);
    void receive(cudaStream_t stream, int axis, int peer, void* to, int64_t count, DType type);

    using Box = std::vector<Interval>;

private:
    struct Group;
    Group group_of(const std::vector<int>& axes) const;
    ncclComm_t communicator(const std::vector<int>& axes) const;
    Box box(const Moved& tensor, bool to, const std::vector<int>& at, const MovedChunk& chunk) const;
    char* staging(cudaStream_t stream, int which, int64_t bytes);
    void finish(cudaStream_t stream, const Message& message, const Moved& tensor, const void* packed, const Box& box,
                const Box& held);

    std::vector<int> mesh_;
    std::vector<int> at_;
    std::map<std::vector<int>, ncclComm_t> communicators_;
    char* staging_[3] = {nullptr, nullptr, nullptr};
    int64_t staging_bytes_[3] = {0, 0, 0};
};

/// Copies (or adds) the elements of `box`, which lies within the regions that the two buffers hold.
void copy_box(cudaStream_t stream, DType type, const void* from, const Network::Box& from_held, void* to,
              const Network::Box& to_held, const Network::Box& box, bool add = false);
/// Sets `count` elements.
void fill(cudaStream_t stream, DType type, void* to, int64_t count, double value);

} // namespace ssp
