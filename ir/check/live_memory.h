// Which buffers are allocated, and that no two of them share memory.
#pragma once

#include "ir/check/reference.h"

#include <array>
#include <map>
#include <string>

namespace sspc::check {

class LiveMemory {
public:
    explicit LiveMemory(const Class& device_class);

    /// Persistent buffers, registers, and Step buffers that nothing allocates, are always there.
    bool is_allocated(BufferId id) const { return !managed_[id] || live_[id]; }
    bool is_managed(BufferId id) const { return managed_[id]; }
    /// Why it cannot be allocated now, or empty; `other` is the buffer that has its memory.
    enum class Problem { None, NotManaged, AlreadyThere, Overlaps };
    Problem allocate(BufferId id, BufferId& other);
    bool free(BufferId id); ///< false if it is not allocated

    /// The first overlap among those that are always there.
    std::optional<std::pair<BufferId, BufferId>> fixed_overlap() const { return fixed_overlap_; }
    /// Allocated buffers of a kind: those of one block's scratch, or of one micro-batch.
    template <typename Keep>
    std::optional<BufferId> find_live(Keep keep) const {
        for (const BufferId id : class_->buffers.ids()) {
            if (managed_[id] && live_[id] && keep(class_->buffers[id])) {
                return id;
            }
        }
        return std::nullopt;
    }

private:
    bool insert(BufferId id, BufferId& other);

    const Class* class_ = nullptr;
    IdVector<BufferId, char> managed_, live_;
    std::array<std::map<int64_t, BufferId>, 4> by_offset_; ///< one for each Space
    std::optional<std::pair<BufferId, BufferId>> fixed_overlap_;
};

} // namespace sspc::check
