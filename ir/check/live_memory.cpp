// Which buffers are allocated, and that no two of them share memory.
#include "ir/check/live_memory.h"

#include <algorithm>

namespace sspc::check {

LiveMemory::LiveMemory(const Class& device_class)
    : class_(&device_class), managed_(device_class.buffers.size(), 0), live_(device_class.buffers.size(), 0) {
    for (const BufferId id : class_->buffers.ids()) {
        const Buffer& buffer = class_->buffers[id];
        managed_[id] = buffer.life == Life::Micro && buffer.space != Space::Register;
    }
    const auto manage = [&](BufferId id) {
        managed_[id] = managed_[id] || class_->buffers[id].life == Life::Step;
    };
    for (const Block& block : class_->blocks) {
        for (const Instruction& instruction : block.instructions) {
            if (const auto* made = std::get_if<Allocate>(&instruction)) {
                manage(made->buffer);
            } else if (const auto* gone = std::get_if<Free>(&instruction)) {
                manage(gone->buffer);
            }
        }
    }
    for (const OrderStep& step : class_->order) {
        if (const auto* made = std::get_if<AllocateInstance>(&step)) {
            manage(made->buffer);
        } else if (const auto* gone = std::get_if<FreeInstance>(&step)) {
            manage(gone->buffer);
        }
    }
    for (const BufferId id : class_->buffers.ids()) {
        BufferId other;
        if (!managed_[id] && class_->buffers[id].space != Space::Register && !insert(id, other) && !fixed_overlap_) {
            fixed_overlap_ = std::pair(id, other);
        }
    }
}

bool LiveMemory::insert(BufferId id, BufferId& other) {
    const Buffer& buffer = class_->buffers[id];
    if (buffer.bytes <= 0) {
        return true;
    }
    auto& arena = by_offset_[static_cast<size_t>(buffer.space)];
    const auto next = arena.lower_bound(buffer.offset);
    if (next != arena.end() && next->first < buffer.offset + buffer.bytes) {
        other = next->second;
        return false;
    }
    if (next != arena.begin()) {
        const auto before = std::prev(next);
        if (before->first + class_->buffers[before->second].bytes > buffer.offset) {
            other = before->second;
            return false;
        }
    }
    arena.emplace(buffer.offset, id);
    return true;
}

LiveMemory::Problem LiveMemory::allocate(BufferId id, BufferId& other) {
    if (!managed_[id]) {
        return Problem::NotManaged;
    }
    if (live_[id]) {
        return Problem::AlreadyThere;
    }
    live_[id] = 1;
    return insert(id, other) ? Problem::None : Problem::Overlaps;
}

bool LiveMemory::free(BufferId id) {
    if (!managed_[id] || !live_[id]) {
        return false;
    }
    live_[id] = 0;
    auto& arena = by_offset_[static_cast<size_t>(class_->buffers[id].space)];
    const auto found = arena.find(class_->buffers[id].offset);
    if (found != arena.end() && found->second == id) {
        arena.erase(found);
    }
    return true;
}

} // namespace sspc::check
