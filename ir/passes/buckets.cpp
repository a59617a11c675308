// Joins collectives of one kind into buckets (`bucket grads by 25 MB`).
#include "ir/passes/buckets.h"

#include <set>

namespace sspc {
namespace {

struct Bucket {
    Communicate message;
    int64_t bytes = 0;
};

} // namespace

std::vector<Instruction> bucketed(std::vector<Instruction> code, size_t begin, const Class& device_class,
                                  const IdVector<AxisId, Axis>& axes, const Mesh& mesh, int64_t bytes) {
    std::vector<Instruction> result(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(begin));
    std::vector<Bucket> buckets;
    std::vector<Instruction> after; // what reads a bucket's results
    std::set<BufferId> pending;
    for (size_t i = begin; i < code.size(); ++i) {
        auto* message = std::get_if<Communicate>(&code[i]);
        const bool waits = message && pending.contains(message->parts[0].from);
        if (!message || message->chunk || waits) {
            if (waits)
                for (const Communicate::Part& part : message->parts)
                    pending.insert(part.to);
            (waits ? after : result).push_back(std::move(code[i]));
            continue;
        }
        const Buffer& from = device_class.buffers[message->parts[0].from];
        const int64_t size = largest_volume(axes, from.axes, mesh, message->parts[0].from_layout) * size_of(from.dtype);
        Bucket* fits = nullptr;
        for (Bucket& bucket : buckets)
            if (bucket.message.kind == message->kind && bucket.message.mesh_axes == message->mesh_axes &&
                bucket.message.accumulate == message->accumulate && bucket.bytes + size <= bytes &&
                device_class.buffers[bucket.message.parts[0].from].dtype == from.dtype)
                fits = &bucket; // the last one: buckets fill in order
        for (const Communicate::Part& part : message->parts)
            pending.insert(part.to);
        if (!fits) {
            buckets.push_back({std::move(*message), size});
            continue;
        }
        fits->message.parts.insert(fits->message.parts.end(), message->parts.begin(), message->parts.end());
        fits->message.bytes += message->bytes;
        fits->bytes += size;
    }
    for (Bucket& bucket : buckets)
        result.push_back(std::move(bucket.message));
    for (Instruction& instruction : after)
        result.push_back(std::move(instruction));
    return result;
}

} // namespace sspc
