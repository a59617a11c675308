// Orders the two streams of a device where they depend on one another.
#include "ir/passes/streams.h"

#include "ir/passes/instruction_uses.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <tuple>

namespace sspc {
namespace {

/// Bytes of a device's memory that some work reads or writes, as addresses in one space: static arena, scratch, frames.
struct Touch {
    int64_t begin = 0;
    int64_t end = 0;
    bool write = false;
};

bool conflict(const Touch& a, const Touch& b) {
    return (a.write || b.write) && a.begin < b.end && b.begin < a.end;
}

bool conflict(const std::vector<Touch>& a, const std::vector<Touch>& b) {
    for (const Touch& x : a) {
        for (const Touch& y : b) {
            if (conflict(x, y)) {
                return true;
            }
        }
    }
    return false;
}

/// Sorted, with touching ranges of one kind joined.
std::vector<Touch> merged(std::vector<Touch> touches) {
    std::sort(touches.begin(), touches.end(), [](const Touch& a, const Touch& b) {
        return std::tie(a.write, a.begin) < std::tie(b.write, b.begin);
    });
    std::vector<Touch> result;
    for (const Touch& touch : touches) {
        if (!result.empty() && result.back().write == touch.write && touch.begin <= result.back().end) {
            result.back().end = std::max(result.back().end, touch.end);
        } else {
            result.push_back(touch);
        }
    }
    return result;
}

void add_touch(const Class& device_class, BufferId id, int micro, bool write, std::vector<Touch>& out) {
    const Buffer& buffer = device_class.buffers[id];
    int64_t base = 0;
    switch (buffer.space) {
    case Space::Register:
        return;
    case Space::Static:
        break;
    case Space::Scratch:
        base = device_class.static_bytes;
        break;
    case Space::Frame: {
        const auto slot = static_cast<size_t>(std::max(micro, 0));
        base = device_class.static_bytes + device_class.scratch_bytes +
               (slot < device_class.slots.size() ? device_class.slots[slot] : 0) * device_class.frame_bytes;
        break;
    }
    }
    if (buffer.bytes > 0) {
        out.push_back({base + buffer.offset, base + buffer.offset + buffer.bytes, write});
    }
}

std::vector<Touch> touches_of(const Class& device_class, const Instruction& instruction, int micro) {
    std::vector<Touch> touches;
    const Uses uses = uses_of(instruction);
    for (const BufferId buffer : uses.reads) {
        add_touch(device_class, buffer, micro, false, touches);
    }
    for (const BufferId buffer : uses.writes) {
        add_touch(device_class, buffer, micro, true, touches);
    }
    return touches;
}

size_t index_of(Stream stream) { return static_cast<size_t>(stream); }

/// Work that is issued at once on one stream: an instruction, or the computes of one kernel.
struct Unit {
    size_t first = 0;
    size_t last = 0;
    Stream stream = Stream::Compute;
    std::vector<Touch> touches;
};

std::vector<Unit> units_of(const Class& device_class, const Block& block) {
    std::vector<Unit> units;
    int kernel = -1;
    for (size_t at = 0; at < block.instructions.size(); ++at) {
        const Instruction& instruction = block.instructions[at];
        if (std::holds_alternative<Allocate>(instruction) || std::holds_alternative<Free>(instruction)) {
            continue; // they may be noted between the computes of a kernel
        }
        std::vector<Touch> touches = touches_of(device_class, instruction, 0);
        const auto* compute = std::get_if<Compute>(&instruction);
        const int number = compute ? compute->kernel : -1;
        if (number >= 0 && number == kernel) {
            units.back().last = at;
            units.back().touches.insert(units.back().touches.end(), touches.begin(), touches.end());
        } else {
            units.push_back({at, at, stream_of(instruction), std::move(touches)});
        }
        kernel = number;
    }
    return units;
}

void order_block(Class& device_class, Block& block) {
    const std::vector<Unit> units = units_of(device_class, block);
    std::map<size_t, EventId> record_after;
    std::map<size_t, EventId> wait_before;
    // For each stream, the last unit of the other stream that it has waited for.
    std::array<int, 2> seen = {-1, -1};
    for (size_t at = 0; at < units.size(); ++at) {
        int needed = -1;
        for (int earlier = static_cast<int>(at) - 1; earlier > seen[index_of(units[at].stream)]; --earlier) {
            const Unit& unit = units[static_cast<size_t>(earlier)];
            if (unit.stream != units[at].stream && conflict(unit.touches, units[at].touches)) {
                needed = earlier;
                break;
            }
        }
        if (needed < 0) {
            continue;
        }
        seen[index_of(units[at].stream)] = needed;
        auto& event = record_after[static_cast<size_t>(needed)];
        if (!event.valid()) {
            event = EventId(static_cast<size_t>(device_class.events++));
        }
        wait_before[at] = event;
    }
    std::map<size_t, Instruction> after, before;
    for (const auto& [unit, event] : record_after) {
        after.emplace(units[unit].last, Record{event, units[unit].stream});
    }
    for (const auto& [unit, event] : wait_before) {
        before.emplace(units[unit].first, Wait{event, units[unit].stream});
    }
    std::vector<Instruction> result;
    for (size_t at = 0; at < block.instructions.size(); ++at) {
        if (const auto found = before.find(at); found != before.end()) {
            result.push_back(found->second);
        }
        result.push_back(block.instructions[at]);
        if (const auto found = after.find(at); found != after.end()) {
            result.push_back(found->second);
        }
    }
    block.instructions = std::move(result);
}

/// What one step of the order touches on each stream.
using StepTouches = std::array<std::vector<Touch>, 2>;

StepTouches touches_of(const Class& device_class, const OrderStep& step) {
    StepTouches touches;
    if (const auto* run = std::get_if<RunBlock>(&step)) {
        for (const Instruction& instruction :
             device_class.blocks[static_cast<size_t>(run->block)].instructions) {
            auto& mine = touches[index_of(stream_of(instruction))];
            const auto more = touches_of(device_class, instruction, run->micro);
            mine.insert(mine.end(), more.begin(), more.end());
        }
    } else if (const auto* posts = std::get_if<Posts>(&step)) {
        for (const Post& post : posts->posts) {
            add_touch(device_class, post.buffer, post.micro, post.kind == Post::Kind::Receive,
                      touches[index_of(Stream::Communication)]);
        }
    }
    for (auto& mine : touches) {
        mine = merged(std::move(mine));
    }
    return touches;
}

void order_steps(Class& device_class) {
    // Runs of one block in one frame touch the same memory.
    std::map<std::pair<int, int>, StepTouches> of_runs;
    std::vector<const StepTouches*> all;
    std::deque<StepTouches> of_posts;
    for (const OrderStep& step : device_class.order) {
        const auto* run = std::get_if<RunBlock>(&step);
        if (!run) {
            all.push_back(&of_posts.emplace_back(touches_of(device_class, step)));
            continue;
        }
        const auto micro = static_cast<size_t>(std::max(run->micro, 0));
        const int slot = micro < device_class.slots.size() ? device_class.slots[micro] : 0;
        auto found = of_runs.find({run->block, slot});
        if (found == of_runs.end()) {
            found = of_runs.emplace(std::pair(run->block, slot), touches_of(device_class, step)).first;
        }
        all.push_back(&found->second);
    }
    const auto touches = [&](size_t at, size_t stream) -> const std::vector<Touch>& { return (*all[at])[stream]; };
    // record[step][stream]: the event recorded after the step on that stream; waits[step]: before the step.
    std::map<std::pair<size_t, size_t>, EventId> record;
    std::map<size_t, std::vector<Wait>> waits;
    std::array<int, 2> seen = {-1, -1};
    for (size_t at = 0; at < all.size(); ++at) {
        for (const Stream stream : {Stream::Compute, Stream::Communication}) {
            const size_t mine = index_of(stream);
            const size_t other = 1 - mine;
            if (touches(at, mine).empty()) {
                continue;
            }
            for (int earlier = static_cast<int>(at) - 1; earlier > seen[mine]; --earlier) {
                const auto step = static_cast<size_t>(earlier);
                if (!conflict(touches(step, other), touches(at, mine))) {
                    continue;
                }
                auto& event = record[{step, other}];
                if (!event.valid()) {
                    event = EventId(static_cast<size_t>(device_class.events++));
                }
                waits[at].push_back({event, stream});
                seen[mine] = earlier;
                break;
            }
        }
    }
    std::vector<OrderStep> result;
    for (size_t at = 0; at < device_class.order.size(); ++at) {
        for (const Wait& wait : waits[at]) {
            result.push_back(wait);
        }
        result.push_back(device_class.order[at]);
        for (const Stream stream : {Stream::Compute, Stream::Communication}) {
            if (const auto found = record.find({at, index_of(stream)}); found != record.end()) {
                result.push_back(Record{found->second, stream});
            }
        }
    }
    device_class.order = std::move(result);
}

} // namespace

Program streams(Program program) {
    for (Class& device_class : program.classes) {
        for (Block& block : device_class.blocks) {
            order_block(device_class, block);
        }
        order_steps(device_class);
    }
    return program;
}

} // namespace sspc
