// Messages between the devices of a mesh: packing, NCCL's calls, unpacking.
#include "common/network.h"

#include "common/error.h"
#include "common/trace.h"

#include <algorithm>

namespace ssp {
namespace {

using Box = Network::Box;

ncclDataType_t nccl_type(DType type) {
    switch (type) {
    case DType::F64: return ncclFloat64;
    case DType::F32: return ncclFloat32;
    case DType::BF16: return ncclBfloat16;
    case DType::F16: return ncclFloat16;
    case DType::I64: return ncclInt64;
    case DType::I32: return ncclInt32;
    case DType::I8: return ncclInt8;
    default: return ncclUint8;
    }
}
ncclRedOp_t nccl_op(Reduction reduction) {
    switch (reduction) {
    case Reduction::Sum: return ncclSum;
    case Reduction::Max: return ncclMax;
    case Reduction::Min: return ncclMin;
    case Reduction::Prod: return ncclProd;
    }
    return ncclSum;
}

bool same(const Interval& a, const Interval& b) { return a.begin == b.begin && a.end == b.end; }

/// Regions in the order of their places.
struct Before {
    bool operator()(const Box& a, const Box& b) const {
        return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                            [](const Interval& x, const Interval& y) {
                                                return x.begin != y.begin ? x.begin < y.begin : x.end < y.end;
                                            });
    }
};

int64_t volume(const Box& box) {
    int64_t count = 1;
    for (const Interval& side : box) {
        count *= side.size();
    }
    return count;
}

Box common(const Box& a, const Box& b) {
    Box box(a.size());
    for (size_t i = 0; i < a.size(); ++i) {
        box[i].begin = std::max(a[i].begin, b[i].begin);
        box[i].end = std::max(box[i].begin, std::min(a[i].end, b[i].end));
    }
    return box;
}

/// Where `box` begins in a buffer that holds `held`, if it is one run there; -1 if it is not.
int64_t run_offset(const Box& box, const Box& held) {
    int64_t offset = 0;
    bool whole = true; // all axes seen so far, from the last, are whole
    bool single = true;
    int64_t step = 1;
    for (size_t i = box.size(); i-- > 0;) {
        if (!whole && box[i].size() != 1) {
            single = false;
        }
        whole = whole && same(box[i], held[i]);
        offset += (box[i].begin - held[i].begin) * step;
        step *= held[i].size();
    }
    return single ? offset : -1;
}

template <typename T>
struct copy_elements {
    const T* from;
    T* to;
    int64_t from_step[3], to_step[3]; // of the three outer loops; the inner one is contiguous
    SSP_KERNEL void operator()(int64_t i, int64_t j, int64_t k, int64_t l) const {
        to[i * to_step[0] + j * to_step[1] + k * to_step[2] + l] =
            from[i * from_step[0] + j * from_step[1] + k * from_step[2] + l];
    }
};
template <typename T>
struct add_elements {
    const T* from;
    T* to;
    int64_t from_step[3], to_step[3];
    SSP_KERNEL void operator()(int64_t i, int64_t j, int64_t k, int64_t l) const {
        T& place = to[i * to_step[0] + j * to_step[1] + k * to_step[2] + l];
        place = T(place + from[i * from_step[0] + j * from_step[1] + k * from_step[2] + l]);
    }
};
template <typename T>
struct set_elements {
    T* to;
    T value;
    SSP_KERNEL void operator()(int64_t i) const { to[i] = value; }
};

/// The loops of a copy: sizes and steps in the two buffers, axes that are adjacent in both joined, from the outermost.
struct Loops {
    std::vector<int64_t> size, from, to;
};

Loops loops_of(const Box& from_held, const Box& to_held, const Box& box) {
    Loops loops;
    int64_t from_step = 1, to_step = 1;
    for (size_t i = box.size(); i-- > 0;) {
        const int64_t n = box[i].size();
        const bool joins = !loops.size.empty() && loops.from.back() * loops.size.back() == from_step &&
                           loops.to.back() * loops.size.back() == to_step;
        if (joins) {
            loops.size.back() *= n;
        } else {
            loops.size.push_back(n);
            loops.from.push_back(from_step);
            loops.to.push_back(to_step);
        }
        from_step *= from_held[i].size();
        to_step *= to_held[i].size();
    }
    if (loops.size.empty()) {
        loops.size = loops.from = loops.to = {1};
    }
    std::reverse(loops.size.begin(), loops.size.end());
    std::reverse(loops.from.begin(), loops.from.end());
    std::reverse(loops.to.begin(), loops.to.end());
    return loops;
}

template <template <typename> class Kernel, typename T>
void run_copy(cudaStream_t stream, const T* from, T* to, const Loops& loops, size_t depth) {
    const size_t left = loops.size.size() - depth;
    if (left > 4) {
        for (int64_t i = 0; i < loops.size[depth]; ++i) {
            run_copy<Kernel, T>(stream, from + i * loops.from[depth], to + i * loops.to[depth], loops, depth + 1);
        }
        return;
    }
    Kernel<T> kernel{from, to, {0, 0, 0}, {0, 0, 0}};
    int64_t n[4] = {1, 1, 1, loops.size.back()};
    for (size_t i = 0; i + 1 < left; ++i) {
        const size_t place = 4 - left + i;
        n[place] = loops.size[depth + i];
        kernel.from_step[place] = loops.from[depth + i];
        kernel.to_step[place] = loops.to[depth + i];
    }
    launch(stream, extent(n[0], n[1], n[2], n[3]), kernel);
}

int64_t offset_of(const Box& box, const Box& held) {
    int64_t offset = 0;
    for (size_t i = 0; i < box.size(); ++i) {
        offset = offset * held[i].size() + (box[i].begin - held[i].begin);
    }
    return offset;
}

template <template <typename> class Kernel, typename T>
void copy_typed(cudaStream_t stream, const void* from, const Box& from_held, void* to, const Box& to_held, const Box& box) {
    run_copy<Kernel, T>(stream, static_cast<const T*>(from) + offset_of(box, from_held),
                        static_cast<T*>(to) + offset_of(box, to_held), loops_of(from_held, to_held, box), 0);
}

} // namespace

void copy_box(cudaStream_t stream, DType type, const void* from, const Box& from_held, void* to, const Box& to_held,
              const Box& box, bool add) {
    if (volume(box) == 0) {
        return;
    }
    if (!add) {
        switch (size_of(type)) {
        case 1: return copy_typed<copy_elements, uint8_t>(stream, from, from_held, to, to_held, box);
        case 2: return copy_typed<copy_elements, uint16_t>(stream, from, from_held, to, to_held, box);
        case 4: return copy_typed<copy_elements, uint32_t>(stream, from, from_held, to, to_held, box);
        default: return copy_typed<copy_elements, uint64_t>(stream, from, from_held, to, to_held, box);
        }
    }
    switch (type) {
    case DType::F64: return copy_typed<add_elements, double>(stream, from, from_held, to, to_held, box);
    case DType::F32: return copy_typed<add_elements, float>(stream, from, from_held, to, to_held, box);
    case DType::BF16: return copy_typed<add_elements, bf16>(stream, from, from_held, to, to_held, box);
    case DType::F16: return copy_typed<add_elements, f16>(stream, from, from_held, to, to_held, box);
    case DType::I64: return copy_typed<add_elements, int64_t>(stream, from, from_held, to, to_held, box);
    case DType::I32: return copy_typed<add_elements, int32_t>(stream, from, from_held, to, to_held, box);
    default: fail("SSP0801", "a message adds elements of a type without sums");
    }
}

void fill(cudaStream_t stream, DType type, void* to, int64_t count, double value) {
    if (count == 0) {
        return;
    }
    if (value == 0) {
        SSP_CUDA(cudaMemsetAsync(to, 0, static_cast<size_t>(count * size_of(type)), stream));
        return;
    }
    const auto set = [&](auto sample) {
        using T = decltype(sample);
        launch(stream, extent(count), set_elements<T>{static_cast<T*>(to), T(value)});
    };
    switch (type) {
    case DType::F64: return set(double());
    case DType::F32: return set(float());
    case DType::BF16:
        return launch(stream, extent(count), set_elements<bf16>{static_cast<bf16*>(to), bf16(static_cast<float>(value))});
    case DType::F16:
        return launch(stream, extent(count), set_elements<f16>{static_cast<f16*>(to), f16(static_cast<float>(value))});
    case DType::I64: return set(int64_t());
    case DType::I32: return set(int32_t());
    case DType::I8: return set(int8_t());
    default: return set(uint8_t());
    }
}

/// The devices that take part in a message, by their coordinates, and which of them this one is.
struct Network::Group {
    std::vector<std::vector<int>> members;
    int self = 0;
};

Network::~Network() {
    for (char* memory : staging_) {
        if (memory) {
            cudaFree(memory);
        }
    }
}

Network::Group Network::group_of(const std::vector<int>& axes) const {
    Group group;
    group.members = {at_};
    for (const int axis : axes) {
        std::vector<std::vector<int>> more;
        for (const auto& member : group.members) {
            for (int i = 0; i < mesh_[static_cast<size_t>(axis)]; ++i) {
                more.push_back(member);
                more.back()[static_cast<size_t>(axis)] = i;
            }
        }
        group.members = std::move(more);
    }
    group.self = static_cast<int>(std::find(group.members.begin(), group.members.end(), at_) - group.members.begin());
    return group;
}

ncclComm_t Network::communicator(const std::vector<int>& axes) const {
    const auto found = communicators_.find(axes);
    if (found == communicators_.end()) {
        fail("SSP0801", "a message along mesh axes without a communicator");
    }
    return found->second;
}

Box Network::box(const Moved& tensor, bool to, const std::vector<int>& at, const MovedChunk& chunk) const {
    Box box;
    for (size_t i = 0; i < tensor.axes.size(); ++i) {
        Interval side{0, tensor.axes[i].size};
        for (const int cutter : to ? tensor.axes[i].to : tensor.axes[i].from) {
            side = part_of(side, mesh_[static_cast<size_t>(cutter)], at[static_cast<size_t>(cutter)]);
        }
        if (chunk.axis == static_cast<int>(i)) {
            side = part_of(side, chunk.count, chunk.index);
        }
        box.push_back(side);
    }
    return box;
}

char* Network::staging(cudaStream_t stream, int which, int64_t bytes) {
    if (bytes > staging_bytes_[which]) {
        SSP_CUDA(cudaStreamSynchronize(stream));
        if (staging_[which]) {
            SSP_CUDA(cudaFree(staging_[which]));
        }
        void* memory = nullptr;
        SSP_CUDA(cudaMalloc(&memory, static_cast<size_t>(bytes)));
        staging_[which] = static_cast<char*>(memory);
        staging_bytes_[which] = bytes;
    }
    return staging_[which];
}

namespace {

std::vector<int> with_micro(std::vector<int> at, int micro) {
    at[0] = micro;
    return at;
}

} // namespace

void Network::finish(cudaStream_t stream, const Message& message, const Moved& tensor, const void* packed, const Box& box,
                     const Box& held) {
    copy_box(stream, tensor.type, packed, box, tensor.to, held, box, message.accumulate);
}

void Network::all_reduce(cudaStream_t stream, const Message& message, const std::vector<Moved>& tensors) {
    const Span span(stream, "all_reduce");
    const auto at = with_micro(at_, message.micro);
    const MovedChunk whole;
    // Buffers that are one run are reduced where they are; the others, and sums that add, go through staging memory.
    struct Job {
        const void* from;
        void* to;
        int64_t count;
    };
    std::vector<Job> jobs;
    std::vector<char*> packed(tensors.size(), nullptr);
    int64_t bytes = 0;
    for (const Moved& tensor : tensors) {
        bytes += (volume(box(tensor, true, at, message.chunk)) * size_of(tensor.type) + 255) / 256 * 256;
    }
    int64_t used = 0;
    for (size_t i = 0; i < tensors.size(); ++i) {
        const Moved& tensor = tensors[i];
        const Box held = box(tensor, true, at, whole);
        const Box part = box(tensor, true, at, message.chunk);
        const int64_t count = volume(part);
        const int64_t offset = run_offset(part, held);
        if (count == 0) {
            continue; // the same on all members
        }
        const auto* from = static_cast<const char*>(tensor.from);
        if (offset >= 0 && !message.accumulate) {
            const int64_t skip = offset * size_of(tensor.type);
            jobs.push_back({from + skip, static_cast<char*>(tensor.to) + skip, count});
            continue;
        }
        packed[i] = staging(stream, 0, bytes) + used;
        used += (count * size_of(tensor.type) + 255) / 256 * 256;
        copy_box(stream, tensor.type, tensor.from, held, packed[i], part, part);
        jobs.push_back({packed[i], packed[i], count});
    }
    const ncclComm_t comm = communicator(message.axes);
    if (jobs.size() > 1) {
        SSP_NCCL(ncclGroupStart());
    }
    size_t job = 0;
    for (const Moved& tensor : tensors) {
        if (volume(box(tensor, true, at, message.chunk)) == 0) {
            continue;
        }
        SSP_NCCL(ncclAllReduce(jobs[job].from, jobs[job].to, static_cast<size_t>(jobs[job].count), nccl_type(tensor.type),
                            nccl_op(message.reduction), comm, stream));
        ++job;
    }
    if (jobs.size() > 1) {
        SSP_NCCL(ncclGroupEnd());
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
        if (packed[i]) {
            finish(stream, message, tensors[i], packed[i], box(tensors[i], true, at, message.chunk),
                   box(tensors[i], true, at, whole));
        }
    }
}

void Network::all_gather(cudaStream_t stream, const Message& message, const std::vector<Moved>& tensors) {
    const Span span(stream, "all_gather");
    const auto at = with_micro(at_, message.micro);
    const Group group = group_of(message.axes);
    const ncclComm_t comm = communicator(message.axes);
    const MovedChunk whole;
    for (const Moved& tensor : tensors) {
        std::vector<Box> parts;
        int64_t largest = 0;
        for (const auto& member : group.members) {
            parts.push_back(box(tensor, false, with_micro(member, message.micro), message.chunk));
            largest = std::max(largest, volume(parts.back()));
        }
        if (largest == 0) {
            continue;
        }
        const Box held = box(tensor, true, at, whole);
        const Box mine = box(tensor, false, at, whole);
        bool direct = !message.accumulate && message.chunk.axis < 0;
        for (size_t k = 0; k < parts.size(); ++k) {
            direct = direct && volume(parts[k]) == largest && run_offset(parts[k], held) == static_cast<int64_t>(k) * largest;
        }
        if (direct) {
            SSP_NCCL(ncclAllGather(tensor.from, tensor.to, static_cast<size_t>(largest), nccl_type(tensor.type), comm, stream));
            continue;
        }
        const int64_t bytes = largest * size_of(tensor.type);
        char* in = staging(stream, 0, bytes);
        char* out = staging(stream, 1, bytes * static_cast<int64_t>(parts.size()));
        const Box& own = parts[static_cast<size_t>(group.self)];
        copy_box(stream, tensor.type, tensor.from, mine, in, own, own);
        SSP_NCCL(ncclAllGather(in, out, static_cast<size_t>(largest), nccl_type(tensor.type), comm, stream));
        for (size_t k = 0; k < parts.size(); ++k) {
            finish(stream, message, tensor, out + static_cast<int64_t>(k) * bytes, parts[k], held);
        }
    }
}

void Network::reduce_scatter(cudaStream_t stream, const Message& message, const std::vector<Moved>& tensors) {
    const Span span(stream, "reduce_scatter");
    const auto at = with_micro(at_, message.micro);
    const Group group = group_of(message.axes);
    const ncclComm_t comm = communicator(message.axes);
    const MovedChunk whole;
    for (const Moved& tensor : tensors) {
        std::vector<Box> parts;
        int64_t largest = 0;
        for (const auto& member : group.members) {
            parts.push_back(box(tensor, true, with_micro(member, message.micro), message.chunk));
            largest = std::max(largest, volume(parts.back()));
        }
        if (largest == 0) {
            continue;
        }
        const Box held = box(tensor, false, at, whole);
        const Box mine = box(tensor, true, at, whole);
        bool direct = message.chunk.axis < 0;
        for (size_t k = 0; k < parts.size(); ++k) {
            direct = direct && volume(parts[k]) == largest && run_offset(parts[k], held) == static_cast<int64_t>(k) * largest;
        }
        const int64_t bytes = largest * size_of(tensor.type);
        const char* in = static_cast<const char*>(tensor.from);
        if (!direct) {
            char* packed = staging(stream, 0, bytes * static_cast<int64_t>(parts.size()));
            SSP_CUDA(cudaMemsetAsync(packed, 0, static_cast<size_t>(bytes * static_cast<int64_t>(parts.size())), stream)); // what pads uneven parts is reduced too
            for (size_t k = 0; k < parts.size(); ++k) {
                copy_box(stream, tensor.type, tensor.from, held, packed + static_cast<int64_t>(k) * bytes, parts[k], parts[k]);
            }
            in = packed;
        }
        const Box& own = parts[static_cast<size_t>(group.self)];
        const bool into_place = direct && !message.accumulate;
        void* out = into_place ? tensor.to : staging(stream, 1, bytes);
        SSP_NCCL(ncclReduceScatter(in, out, static_cast<size_t>(largest), nccl_type(tensor.type), nccl_op(message.reduction),
                                comm, stream));
        if (!into_place) {
            finish(stream, message, tensor, out, own, mine);
        }
    }
}

void Network::exchange(cudaStream_t stream, const Message& message, const std::vector<Moved>& tensors) {
    const Span span(stream, "exchange");
    const auto at = with_micro(at_, message.micro);
    const Group group = group_of(message.axes);
    const ncclComm_t comm = communicator(message.axes);
    const MovedChunk whole;
    const auto self = static_cast<size_t>(group.self);
    for (const Moved& tensor : tensors) {
        std::vector<Box> from, to;
        std::map<Box, std::vector<size_t>, Before> holders; // who holds each region before
        for (size_t k = 0; k < group.members.size(); ++k) {
            const auto member = with_micro(group.members[k], message.micro);
            from.push_back(box(tensor, false, member, message.chunk));
            to.push_back(box(tensor, true, member, message.chunk));
            if (volume(from.back()) > 0) {
                holders[from.back()].push_back(k);
            }
        }
        const auto holder = [&](const std::vector<size_t>& some, size_t reader) {
            return std::find(some.begin(), some.end(), reader) != some.end() ? reader : some[reader % some.size()];
        };
        struct Transfer {
            size_t peer;
            Box part;
        };
        std::vector<Transfer> sends, receives;
        const Box held_from = box(tensor, false, at, whole);
        const Box held_to = box(tensor, true, at, whole);
        int64_t send_count = 0, receive_count = 0;
        for (size_t reader = 0; reader < to.size(); ++reader) {
            for (const auto& [region, some] : holders) {
                const Box part = common(region, to[reader]);
                const size_t source = holder(some, reader);
                if (volume(part) == 0 || (reader != self && source != self)) {
                    continue;
                }
                if (reader == self && source == self) {
                    copy_box(stream, tensor.type, tensor.from, held_from, tensor.to, held_to, part, message.accumulate);
                } else if (reader == self) {
                    receives.push_back({source, part});
                    receive_count += volume(part);
                } else {
                    sends.push_back({reader, part});
                    send_count += volume(part);
                }
            }
        }
        const int64_t size = size_of(tensor.type);
        char* out = sends.empty() ? nullptr : staging(stream, 0, send_count * size);
        char* in = receives.empty() ? nullptr : staging(stream, 1, receive_count * size);
        int64_t offset = 0;
        for (const Transfer& send : sends) {
            copy_box(stream, tensor.type, tensor.from, held_from, out + offset, send.part, send.part);
            offset += volume(send.part) * size;
        }
        SSP_NCCL(ncclGroupStart());
        offset = 0;
        for (const Transfer& send : sends) {
            SSP_NCCL(ncclSend(out + offset, static_cast<size_t>(volume(send.part)), nccl_type(tensor.type),
                           static_cast<int>(send.peer), comm, stream));
            offset += volume(send.part) * size;
        }
        offset = 0;
        for (const Transfer& receive : receives) {
            SSP_NCCL(ncclRecv(in + offset, static_cast<size_t>(volume(receive.part)), nccl_type(tensor.type),
                           static_cast<int>(receive.peer), comm, stream));
            offset += volume(receive.part) * size;
        }
        SSP_NCCL(ncclGroupEnd());
        offset = 0;
        for (const Transfer& receive : receives) {
            finish(stream, message, tensor, in + offset, receive.part, held_to);
            offset += volume(receive.part) * size;
        }
    }
}

void Network::slice(cudaStream_t stream, const Message& message, const std::vector<Moved>& tensors) {
    const auto at = with_micro(at_, message.micro);
    const MovedChunk whole;
    for (const Moved& tensor : tensors) {
        copy_box(stream, tensor.type, tensor.from, box(tensor, false, at, whole), tensor.to, box(tensor, true, at, whole),
                 box(tensor, true, at, message.chunk), message.accumulate);
    }
}

void Network::to_partial(cudaStream_t stream, const Message& message, const std::vector<Moved>& tensors) {
    const auto at = with_micro(at_, message.micro);
    const MovedChunk whole;
    const bool first = std::all_of(message.axes.begin(), message.axes.end(),
                                   [&](int axis) { return at_[static_cast<size_t>(axis)] == 0; });
    for (const Moved& tensor : tensors) {
        const Box held = box(tensor, true, at, whole);
        if (first) {
            copy_box(stream, tensor.type, tensor.from, held, tensor.to, held, box(tensor, true, at, message.chunk),
                     message.accumulate);
        } else if (!message.accumulate) {
            const double infinity = __builtin_inf();
            const double value = message.reduction == Reduction::Sum    ? 0
                                 : message.reduction == Reduction::Prod ? 1
                                 : message.reduction == Reduction::Max  ? -infinity
                                                                        : infinity;
            fill(stream, tensor.type, tensor.to, volume(held), value);
        }
    }
}

void Network::send(cudaStream_t stream, int axis, int peer, const void* from, int64_t count, DType type) {
    if (count > 0) {
        SSP_NCCL(ncclSend(from, static_cast<size_t>(count), nccl_type(type), peer, communicator({axis}), stream));
    }
}

void Network::receive(cudaStream_t stream, int axis, int peer, void* to, int64_t count, DType type) {
    if (count > 0) {
        SSP_NCCL(ncclRecv(to, static_cast<size_t>(count), nccl_type(type), peer, communicator({axis}), stream));
    }
}

} // namespace ssp
