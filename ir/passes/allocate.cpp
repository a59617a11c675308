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
    std::vector<Lifetime> instances;
    std::set<int> blocks; ///< that use it
    bool outside = false; ///< posts or the order's own allocations use it
    bool freed = false;
    Lifetime in_block; ///< positions within the last block that uses it
    bool local() const { return !outside && blocks.size() == 1 && freed; }
};

using Lives = IdVector<BufferId, BufferLife>;

/// The buffers that a block uses, each with its range of positions.
std::map<BufferId, Lifetime> uses_in(const Block& block, Lives& lives) {
    std::map<BufferId, Lifetime> ranges;
    int64_t position = 0;
    for (const Instruction& instruction : block.instructions) {
        const Uses uses = uses_of(instruction);
        for (const BufferId buffer : uses.reads) {
            ranges[buffer].touch(position);
        }
        for (const BufferId buffer : uses.writes) {
            ranges[buffer].touch(position);
        }
        if (const auto* made = std::get_if<Allocate>(&instruction)) {
            ranges[made->buffer].touch(position);
        } else if (const auto* gone = std::get_if<Free>(&instruction)) {
            ranges[gone->buffer].touch(position);
            lives[gone->buffer].freed = true;
        }
        ++position;
    }
    return ranges;
}

Lives lifetimes(const Program& program, const Class& device_class) {
    Lives lives(device_class.buffers.size());
    const size_t micros = static_cast<size_t>(micro_count(program));
    for (const BufferId id : device_class.buffers.ids()) {
        lives[id].instances.resize(device_class.buffers[id].life == Life::Micro ? micros : 1);
    }
    const auto instance = [&](BufferId id, int micro) -> Lifetime& {
        std::vector<Lifetime>& all = lives[id].instances;
        return all[std::min(all.size() - 1, static_cast<size_t>(std::max(micro, 0)))];
    };
    std::set<int> run;
    for (const OrderStep& step : device_class.order) {
        if (const auto* block = std::get_if<RunBlock>(&step)) {
            run.insert(block->block);
        } else if (const auto* posts = std::get_if<Posts>(&step)) {
            for (const Post& post : posts->posts) {
                lives[post.buffer].outside = true;
            }
        } else if (const auto* made = std::get_if<AllocateInstance>(&step)) {
            lives[made->buffer].outside = true;
        } else if (const auto* gone = std::get_if<FreeInstance>(&step)) {
            lives[gone->buffer].outside = true;
            lives[gone->buffer].freed = true;
        }
    }
    std::vector<std::map<BufferId, Lifetime>> uses(device_class.blocks.size());
    for (const int block : run) {
        uses[static_cast<size_t>(block)] = uses_in(device_class.blocks[static_cast<size_t>(block)], lives);
        for (const auto& [buffer, range] : uses[static_cast<size_t>(block)]) {
            lives[buffer].blocks.insert(block);
            lives[buffer].in_block = range;
        }
    }
    for (auto& block : uses) { // what lives in one block is placed by its range there
        std::erase_if(block, [&](const auto& use) { return lives[use.first].local(); });
    }
    int64_t position = 0;
    for (const OrderStep& step : device_class.order) {
        if (const auto* block = std::get_if<RunBlock>(&step)) {
            for (const auto& [buffer, range] : uses[static_cast<size_t>(block->block)]) {
                Lifetime& life = instance(buffer, block->micro);
                life.touch(position + range.begin);
                life.touch(position + range.end - 1);
            }
            position += static_cast<int64_t>(
                device_class.blocks[static_cast<size_t>(block->block)].instructions.size());
        } else if (const auto* posts = std::get_if<Posts>(&step)) {
            for (const Post& post : posts->posts) {
                instance(post.buffer, post.micro).touch(position);
            }
        } else if (const auto* made = std::get_if<AllocateInstance>(&step)) {
            instance(made->buffer, made->micro).touch(position);
        } else if (const auto* gone = std::get_if<FreeInstance>(&step)) {
            instance(gone->buffer, gone->micro).touch(position);
        }
        ++position;
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
        if (life.blocks.empty() && !life.outside && buffer.life == Life::Micro) {
            buffer.bytes = 0; // no block that runs uses it
            continue;
        }
        if (buffer.life == Life::Persistent) {
            fixed.push_back(id);
        } else if (life.local()) {
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
        if (!persistent && lives[id].freed) {
            span = lives[id].instances.front();
        }
        spans[id] = span;
    }
    device_class.static_bytes = place(device_class, fixed, Space::Static, [&](BufferId a, BufferId b) {
        return spans.at(a).overlaps(spans.at(b));
    });

    std::vector<Lifetime> micros(static_cast<size_t>(micro_count(program)));
    for (const BufferId id : framed) {
        for (size_t micro = 0; micro < micros.size(); ++micro) {
            const Lifetime& lifetime = lives[id].instances[micro];
            if (lifetime.end == 0) {
                continue; // this micro-batch does not use it
            }
            auto& whole = micros[micro];
            whole.touch(lifetime.begin);
            whole.touch(lives[id].freed ? lifetime.end - 1 : forever - 2);
        }
    }
    assign_frames(device_class, micros);
    device_class.frame_bytes = place(device_class, framed, Space::Frame, [&](BufferId a, BufferId b) {
        if (!lives[a].freed || !lives[b].freed) {
            return true;
        }
        for (size_t micro = 0; micro < micros.size(); ++micro) {
            if (lives[a].instances[micro].overlaps(lives[b].instances[micro])) {
                return true;
            }
        }
        return false;
    });

    device_class.scratch_bytes = place(device_class, scratch, Space::Scratch, [&](BufferId a, BufferId b) {
        if (lives[a].blocks != lives[b].blocks) {
            return false; // one block runs at a time
        }
        return lives[a].in_block.overlaps(lives[b].in_block);
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
