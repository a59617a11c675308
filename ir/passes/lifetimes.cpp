// Inserts Allocate before a buffer's first write and Free after its last use.
#include "ir/passes/lifetimes.h"

#include "ir/passes/instruction_uses.h"

#include <algorithm>
#include <set>
#include <utility>

namespace sspc {
namespace {

constexpr int unused = -1;

/// Where a buffer is first written and last used. Positions in a block; blocks are numbered as in Class::blocks.
struct Range {
    int first_block = unused, first_at = 0;
    int last_block = unused, last_at = 0;
    int sent_after = unused; ///< the block after which a message reads it last
    bool received = false;
};

std::vector<Range> ranges_of(const Class& device_class) {
    std::vector<Range> ranges(device_class.buffers.size());
    for (size_t b = 0; b < device_class.blocks.size(); ++b) {
        const auto& code = device_class.blocks[b].instructions;
        for (size_t i = 0; i < code.size(); ++i) {
            const Uses uses = uses_of(code[i]);
            for (const auto* list : {&uses.reads, &uses.writes})
                for (BufferId buffer : *list) {
                    Range& range = ranges[buffer.value];
                    if (range.first_block == unused) {
                        range.first_block = static_cast<int>(b);
                        range.first_at = static_cast<int>(i);
                    }
                    range.last_block = static_cast<int>(b);
                    range.last_at = static_cast<int>(i);
                }
        }
    }
    // A message follows the block that produced its value (or, forwarded, the one after which it is posted).
    for (const OrderStep& step : device_class.order)
        if (const auto* posts = std::get_if<Posts>(&step))
            for (const Post& post : posts->posts) {
                Range& range = ranges[post.buffer.value];
                if (post.kind == Post::Kind::Receive)
                    range.received = true;
                else
                    range.sent_after = std::max(range.sent_after, range.first_block);
            }
    return ranges;
}

/// The first and last instruction of the kernel that instruction `at` belongs to: it runs at once, so its memory is taken before and given
/// back after all of it.
std::pair<int, int> kernel_ends(const Block& block, int at) {
    const auto kernel = [&](int i) {
        const auto* compute = i < 0 || i >= static_cast<int>(block.instructions.size()) ? nullptr : std::get_if<Compute>(&block.instructions[i]);
        return compute ? compute->kernel : -1;
    };
    int first = at, last = at;
    while (kernel(at) >= 0 && kernel(first - 1) == kernel(at))
        --first;
    while (kernel(at) >= 0 && kernel(last + 1) == kernel(at))
        ++last;
    return {first, last};
}

} // namespace

Program lifetimes(Program program, const std::vector<std::vector<BufferId>>& kept) {
    for (size_t c = 0; c < program.classes.size(); ++c) {
        Class& device_class = program.classes[c];
        const std::vector<Range> ranges = ranges_of(device_class);
        const std::set<BufferId> keep(kept[c].begin(), kept[c].end());
        std::vector<std::vector<std::vector<BufferId>>> allocate(device_class.blocks.size()), release(device_class.blocks.size());
        for (size_t b = 0; b < device_class.blocks.size(); ++b) {
            allocate[b].resize(device_class.blocks[b].instructions.size());
            release[b].resize(device_class.blocks[b].instructions.size());
        }
        std::set<BufferId> freed_after_send, freed_at_arrival;
        for (BufferId id : device_class.buffers.ids()) {
            const Buffer& buffer = device_class.buffers[id];
            const Range& range = ranges[id.value];
            const bool in_message = range.received || range.sent_after != unused;
            if (buffer.life == Life::Persistent || buffer.space == Space::Register ||
                (buffer.life == Life::Step && (keep.contains(id) || in_message || range.first_block != range.last_block)))
                continue;
            if (!range.received && range.first_block != unused)
                allocate[range.first_block][kernel_ends(device_class.blocks[range.first_block], range.first_at).first].push_back(id);
            if (range.sent_after != unused && range.sent_after >= range.last_block)
                freed_after_send.insert(id);
            else if (range.last_block != unused)
                release[range.last_block][kernel_ends(device_class.blocks[range.last_block], range.last_at).second].push_back(id);
            else if (range.received)
                freed_at_arrival.insert(id);
        }
        for (size_t b = 0; b < device_class.blocks.size(); ++b) {
            std::vector<Instruction> code;
            auto& old = device_class.blocks[b].instructions;
            for (size_t i = 0; i < old.size(); ++i) {
                for (BufferId id : allocate[b][i])
                    code.push_back(Allocate{id});
                code.push_back(std::move(old[i]));
                for (BufferId id : release[b][i])
                    code.push_back(Free{id});
            }
            old = std::move(code);
        }
        std::vector<OrderStep> order;
        for (OrderStep& step : device_class.order) {
            const auto* posts = std::get_if<Posts>(&step);
            if (!posts) {
                order.push_back(std::move(step));
                continue;
            }
            const std::vector<Post> list = posts->posts;
            const auto micro_buffer = [&](const Post& post) { return device_class.buffers[post.buffer].life == Life::Micro; };
            for (const Post& post : list)
                if (post.kind == Post::Kind::Receive && micro_buffer(post))
                    order.push_back(AllocateInstance{post.buffer, post.micro});
            order.push_back(std::move(step));
            std::set<BufferId> freed;
            for (const Post& post : list)
                if ((post.kind == Post::Kind::Send && freed_after_send.contains(post.buffer) && freed.insert(post.buffer).second) ||
                    (post.kind == Post::Kind::Receive && freed_at_arrival.contains(post.buffer)))
                    order.push_back(FreeInstance{post.buffer, post.micro});
        }
        device_class.order = std::move(order);
    }
    return program;
}

} // namespace sspc
