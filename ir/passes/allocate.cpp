// Gives every buffer its place in memory: lifetimes over the unrolled order, then first fit, largest first.
#include "ir/passes/allocate.h"

#include "ir/passes/instruction_uses.h"

#include <algorithm>
#include <map>
#include <set>

namespace sspc {
namespace {

constexpr int64_t alignment = 256;
constexpr int64_t forever = INT64_MAX;

int64_t round_up(int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// [begin, end) in positions of the unrolled order (or of one block).
struct Lifetime {
    int64_t begin = forever;
    int64_t end = 0;
    void touch(int64_t at) {
        begin = std::min(begin, at);
        end = std::max(end, at + 1);
    }
    bool overlaps(const Lifetime& other) const { return begin < other.end && other.begin < end; }
};

/// What is known of one buffer: in which blocks it is used, and its lifetime for each micro-batch (index 0 for those of a step).
struct BufferLife {
    std::map<int, Lifetime> instances;
    std::set<int> blocks;     ///< that use it
    bool outside = false;     ///< posts or the order's own allocations use it
    bool freed = false;
};

using Lives = IdVector<BufferId, BufferLife>;

Lives lifetimes(const Program& program, const Class& device_class) {
    Lives lives(device_class.buffers.size());
    int64_t position = 0;
    const auto touch = [&](BufferId buffer, int micro, int block) {
        const int instance = device_class.buffers[buffer].life == Life::Micro ? std::max(micro, 0) : 0;
        BufferLife& life = lives[buffer];
        life.instances[instance].touch(position);
        if (block >= 0) {
            life.blocks.insert(block);
        } else {
            life.outside = true;
        }
    };
    for (const OrderStep& step : device_class.order) {
        if (const auto* run = std::get_if<RunBlock>(&step)) {
            int kernel = -1;
            for (const Instruction& instruction :
                 device_class.blocks[static_cast<size_t>(run->block)].instructions) {
                // The computes of one kernel run at once, whatever is noted between them.
                const auto* compute = std::get_if<Compute>(&instruction);
                const bool note = std::holds_alternative<Allocate>(instruction) ||
                                  std::holds_alternative<Free>(instruction);
                if (!note || kernel < 0) {
                    const int next = compute ? compute->kernel : -1;
                    position += next >= 0 && next == kernel ? 0 : 1;
                    kernel = next;
                }
                const Uses uses = uses_of(instruction);
                for (const BufferId buffer : uses.reads) {
                    touch(buffer, run->micro, run->block);
                }
                for (const BufferId buffer : uses.writes) {
                    touch(buffer, run->micro, run->block);
                }
                if (const auto* made = std::get_if<Allocate>(&instruction)) {
                    touch(made->buffer, run->micro, run->block);
                } else if (const auto* gone = std::get_if<Free>(&instruction)) {
                    touch(gone->buffer, run->micro, run->block);
                    lives[gone->buffer].freed = true;
                }
            }
        } else if (const auto* posts = std::get_if<Posts>(&step)) {
            ++position;
            for (const Post& post : posts->posts) {
                touch(post.buffer, post.micro, -1);
            }
        } else if (const auto* made = std::get_if<AllocateInstance>(&step)) {
            ++position;
            touch(made->buffer, made->micro, -1);
        } else if (const auto* gone = std::get_if<FreeInstance>(&step)) {
            ++position;
            touch(gone->buffer, gone->micro, -1);
            lives[gone->buffer].freed = true;
        }
    }
    for (const Program::Result& result : program.results) {
        if (result.stage == device_class.stage) {
            lives[result.buffer].freed = false;
        }
    }
    return lives;
}

/// First fit, largest first; returns the size of the arena. `conflicts(a, b)`: the two are alive together.
template <typename Conflicts>
int64_t place(Class& device_class, std::vector<BufferId> ids, Space space, const Conflicts& conflicts) {
    std::stable_sort(ids.begin(), ids.end(), [&](BufferId a, BufferId b) {
        return device_class.buffers[a].bytes > device_class.buffers[b].bytes;
    });
    int64_t size = 0;
    std::vector<BufferId> placed;
    for (const BufferId id : ids) {
        Buffer& buffer = device_class.buffers[id];
        buffer.space = space;
        const int64_t bytes = round_up(buffer.bytes);
        std::vector<std::pair<int64_t, int64_t>> taken;
        for (const BufferId other : placed) {
            const Buffer& there = device_class.buffers[other];
            if (there.bytes > 0 && conflicts(id, other)) {
                taken.emplace_back(there.offset, there.offset + round_up(there.bytes));
            }
        }
        std::sort(taken.begin(), taken.end());
        int64_t offset = 0;
        for (const auto& [begin, end] : taken) {
            if (offset + bytes <= begin) {
                break;
            }
            offset = std::max(offset, end);
        }
        buffer.offset = offset;
        size = std::max(size, offset + bytes);
        placed.push_back(id);
    }
    return size;
}

/// The frame of each micro-batch: those that are never alive together share one.
void assign_frames(Class& device_class, const std::vector<Lifetime>& micros) {
    device_class.slots.assign(micros.size(), 0);
    std::vector<int64_t> free_from;
    std::vector<size_t> by_begin(micros.size());
    for (size_t i = 0; i < by_begin.size(); ++i) {
        by_begin[i] = i;
    }
    std::stable_sort(by_begin.begin(), by_begin.end(),
                     [&](size_t a, size_t b) { return micros[a].begin < micros[b].begin; });
    for (const size_t micro : by_begin) {
        if (micros[micro].begin == forever) {
            continue; // nothing of it outlives a block
        }
        size_t frame = 0;
        while (frame < free_from.size() && free_from[frame] > micros[micro].begin) {
            ++frame;
        }
        if (frame == free_from.size()) {
            free_from.push_back(0);
        }
        free_from[frame] = micros[micro].end;
        device_class.slots[micro] = static_cast<int>(frame);
    }
    device_class.frames = static_cast<int>(free_from.size());
}

void allocate_class(const Program& program, Class& device_class) {
    Lives lives = lifetimes(program, device_class);
    std::vector<BufferId> fixed, framed, scratch;
    for (const BufferId id : device_class.buffers.ids()) {
        Buffer& buffer = device_class.buffers[id];
        if (buffer.space == Space::Register) {
            buffer.bytes = 0;
            continue;
        }
        buffer.bytes = largest_volume(program.axes, buffer.axes, program.mesh, buffer.layout) *
                       size_of(buffer.dtype);
        const BufferLife& life = lives[id];
        if (life.instances.empty() && buffer.life == Life::Micro) {
            buffer.bytes = 0; // no block that runs uses it
            continue;
        }
        const bool local = !life.outside && life.blocks.size() == 1 && life.freed && !life.instances.empty();
        if (buffer.life == Life::Persistent) {
            fixed.push_back(id);
        } else if (local) {
            scratch.push_back(id);
        } else {
            (buffer.life == Life::Micro ? framed : fixed).push_back(id);
        }
    }

    // Static: persistent ones live forever, those of a step from first to last use; what is never freed keeps its place.
    std::map<BufferId, Lifetime> spans;
    for (const BufferId id : fixed) {
        const bool persistent = device_class.buffers[id].life == Life::Persistent;
        Lifetime span{0, forever};
        if (!persistent && lives[id].freed && !lives[id].instances.empty()) {
            span = lives[id].instances.begin()->second;
        }
        spans[id] = span;
    }
    device_class.static_bytes = place(device_class, fixed, Space::Static, [&](BufferId a, BufferId b) {
        return spans.at(a).overlaps(spans.at(b));
    });

    std::vector<Lifetime> micros(static_cast<size_t>(micro_count(program)));
    for (const BufferId id : framed) {
        for (const auto& [micro, lifetime] : lives[id].instances) {
            auto& whole = micros[static_cast<size_t>(micro)];
            whole.touch(lifetime.begin);
            whole.touch(lives[id].freed ? lifetime.end - 1 : forever - 2);
        }
    }
    assign_frames(device_class, micros);
    device_class.frame_bytes = place(device_class, framed, Space::Frame, [&](BufferId a, BufferId b) {
        if (!lives[a].freed || !lives[b].freed) {
            return true;
        }
        for (const auto& [micro, lifetime] : lives[a].instances) {
            const auto other = lives[b].instances.find(micro);
            if (other != lives[b].instances.end() && lifetime.overlaps(other->second)) {
                return true;
            }
        }
        return false;
    });

    device_class.scratch_bytes = place(device_class, scratch, Space::Scratch, [&](BufferId a, BufferId b) {
        if (lives[a].blocks != lives[b].blocks) {
            return false; // one block runs at a time
        }
        const auto& one = lives[a].instances.begin()->second;
        const auto& two = lives[b].instances.begin()->second;
        return lives[a].instances.size() != lives[b].instances.size() || one.overlaps(two);
    });
}

} // namespace

Program allocate(Program program) {
    for (Class& device_class : program.classes) {
        allocate_class(program, device_class);
    }
    return program;
}

} // namespace sspc
