// Every buffer fits its place, micro-batches that are alive together have frames of their own, and the whole fits the device.
#include "ir/check/checks.h"

#include "ir/check/describe.h"
#include "ir/support/format.h"
#include "ir/support/match.h"

#include <algorithm>

namespace sspc::check {

namespace {

constexpr int64_t alignment = 256;

class MemoryCheck {
public:
    MemoryCheck(const Checked& checked, const Class& device_class, Sink& sink)
        : checked_(checked), class_(device_class), sink_(sink) {}

    void run() {
        for (const BufferId id : class_.buffers.ids()) {
            buffer(class_.buffers[id], used(id));
        }
        frames();
        capacity();
    }

private:
    void small(const Buffer& b, const std::string& what) {
        sink_.report(diag::BufferTooSmall, Span{}, b.name, describe_devices(checked_, class_), what);
    }
    bool used(BufferId id) {
        if (used_.empty()) {
            used_ = IdVector<BufferId, char>(class_.buffers.size(), 0);
            for (const Block& block : class_.blocks) {
                for (const Instruction& i : block.instructions) {
                    std::visit(Match{[&](const Compute& x) {
                                         for (const BufferId read : x.reads) {
                                             used_[read] = 1;
                                         }
                                         used_[x.out] = 1;
                                     },
                                     [&](const Communicate& x) {
                                         for (const auto& part : x.parts) {
                                             used_[part.from] = used_[part.to] = 1;
                                         }
                                     },
                                     [&](const Load& x) { used_[x.out] = 1; }, [&](const Fill& x) { used_[x.out] = 1; },
                                     [&](const Copy& x) { used_[x.from] = used_[x.to] = 1; }, [](const Allocate&) {},
                                     [](const Free&) {}, [](const Record&) {}, [](const Wait&) {}},
                               i);
                }
            }
            for (const OrderStep& step : class_.order) {
                if (const auto* posts = std::get_if<Posts>(&step)) {
                    for (const Post& post : posts->posts) {
                        used_[post.buffer] = 1;
                    }
                }
            }
        }
        return used_[id] != 0 || class_.buffers[id].life == Life::Persistent;
    }

    void buffer(const Buffer& b, bool is_used) {
        const bool right_space = b.space == Space::Register  ? b.life != Life::Persistent
                                 : b.space == Space::Static  ? b.life != Life::Micro
                                 : b.space == Space::Frame   ? b.life == Life::Micro
                                                             : b.life != Life::Persistent;
        if (!right_space) {
            return small(b, "lies where its lifetime does not allow it");
        }
        if (b.space == Space::Register || !is_used) {
            return;
        }
        // The first part of an axis is the largest one, whatever cuts it.
        const std::vector<int> first(checked_.program.mesh.axes.size(), 0);
        const int64_t needed = volume(region(checked_.program.axes, b.axes, checked_.program.mesh, b.layout, first)) * size_of(b.dtype);
        if (b.bytes < needed) {
            return small(b, format("has {0} bytes for a part of {1}", b.bytes, needed));
        }
        const int64_t arena = b.space == Space::Static ? class_.static_bytes
                              : b.space == Space::Frame ? class_.frame_bytes
                                                        : class_.scratch_bytes;
        if (b.offset < 0 || b.offset % alignment != 0 || b.offset + b.bytes > arena) {
            small(b, format("lies at {0}, outside its {1} bytes or not at a multiple of {2}", b.offset, arena, alignment));
        }
    }

    void frames() {
        std::vector<char> framed(class_.blocks.size(), 0);
        const auto in_frame = [&](BufferId id) { return class_.buffers[id].space == Space::Frame; };
        for (size_t i = 0; i < class_.blocks.size(); ++i) {
            for (const Instruction& instruction : class_.blocks[i].instructions) {
                framed[i] = framed[i] || touches_frame(instruction);
            }
        }
        struct Span2 {
            int micro;
            size_t first, last;
        };
        std::vector<Span2> lives;
        std::vector<int> index(static_cast<size_t>(checked_.micros), -1);
        const auto touch = [&](int micro, size_t at) {
            if (micro < 0) {
                return;
            }
            int& slot = index[static_cast<size_t>(micro)];
            if (slot < 0) {
                slot = static_cast<int>(lives.size());
                lives.push_back({micro, at, at});
            }
            lives[static_cast<size_t>(slot)].last = at;
        };
        for (size_t at = 0; at < class_.order.size(); ++at) {
            std::visit(Match{[&](const RunBlock& x) {
                                 if (framed[static_cast<size_t>(x.block)]) {
                                     touch(x.micro, at);
                                 }
                             },
                             [&](const Posts& x) {
                                 for (const Post& p : x.posts) {
                                     if (in_frame(p.buffer)) {
                                         touch(p.micro, at);
                                     }
                                 }
                             },
                             [&](const AllocateInstance& x) {
                                 if (in_frame(x.buffer)) {
                                     touch(x.micro, at);
                                 }
                             },
                             [&](const FreeInstance& x) {
                                 if (in_frame(x.buffer)) {
                                     touch(x.micro, at);
                                 }
                             },
                             [](const Record&) {}, [](const Wait&) {}},
                       class_.order[at]);
        }
        std::vector<const Span2*> busy(static_cast<size_t>(std::max(class_.frames, 0)), nullptr);
        for (const Span2& life : lives) { // by first use
            const auto micro = static_cast<size_t>(life.micro);
            const int slot = micro < class_.slots.size() ? class_.slots[micro] : -1;
            if (slot < 0 || slot >= class_.frames) {
                sink_.report(diag::FrameShared, Span{}, life.micro, "all", describe_devices(checked_, class_), slot);
                continue;
            }
            const Span2*& there = busy[static_cast<size_t>(slot)];
            if (there != nullptr && there->last >= life.first) {
                sink_.report(diag::FrameShared, Span{}, there->micro, life.micro, describe_devices(checked_, class_), slot);
                return;
            }
            there = &life;
        }
    }

    bool touches_frame(const Instruction& instruction) const {
        const auto in_frame = [&](BufferId id) { return class_.buffers[id].space == Space::Frame; };
        return std::visit(
            Match{[&](const Compute& x) { return in_frame(x.out) || std::any_of(x.reads.begin(), x.reads.end(), in_frame); },
                  [&](const Communicate& x) {
                      return std::any_of(x.parts.begin(), x.parts.end(),
                                         [&](const auto& p) { return in_frame(p.from) || in_frame(p.to); });
                  },
                  [&](const Load& x) { return in_frame(x.out); }, [&](const Fill& x) { return in_frame(x.out); },
                  [&](const Copy& x) { return in_frame(x.from) || in_frame(x.to); },
                  [&](const Allocate& x) { return in_frame(x.buffer); }, [&](const Free& x) { return in_frame(x.buffer); },
                  [](const Record&) { return false; }, [](const Wait&) { return false; }},
            instruction);
    }

    void capacity() {
        const int64_t needed = peak_bytes(class_);
        if (!checked_.options.memory || needed <= *checked_.options.memory) {
            return;
        }
        std::vector<std::pair<int64_t, const Buffer*>> largest;
        for (const Buffer& b : class_.buffers) {
            largest.emplace_back(b.space == Space::Frame ? b.bytes * class_.frames : b.bytes, &b);
        }
        std::stable_sort(largest.begin(), largest.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
        std::string text;
        for (size_t i = 0; i < largest.size() && i < 5; ++i) {
            text += format("{0}`{1}` with {2}", text.empty() ? "" : ", ", largest[i].second->name, largest[i].first);
        }
        sink_.report(diag::OverCapacity, checked_.plan.span, describe_devices(checked_, class_), needed, *checked_.options.memory, text);
    }

    const Checked& checked_;
    const Class& class_;
    Sink& sink_;
    IdVector<BufferId, char> used_;
};

} // namespace

void check_memory(const Checked& checked, Sink& sink) {
    for (const Class& c : checked.program.classes) {
        MemoryCheck(checked, c, sink).run();
    }
}

} // namespace sspc::check
