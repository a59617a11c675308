// The two streams of a device touch no memory at once without an event between them.
//
// Memory is cut into atoms, the ranges between the ends of buffers. A block is looked at once: hazards inside it, and a summary of what it needs
// of the other stream when it begins, what it touched last, and what each stream knows of the other when it ends. The order is then
// a walk over summaries.
#include "ir/check/checks.h"

#include "ir/check/describe.h"
#include "ir/support/format.h"
#include "ir/support/match.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace sspc::check {

namespace {

constexpr size_t streams_count = 2;
size_t index_of(Stream stream) { return stream == Stream::Compute ? 0 : 1; }

struct Access {
    BufferId buffer;
    bool write = false;
};

struct Work {
    size_t stream = 0;
    std::vector<Access> accesses;
};

Work work_of(const Instruction& instruction) {
    return std::visit(
        Match{[](const Compute& x) {
                  Work work;
                  for (const BufferId id : x.reads) {
                      work.accesses.push_back({id, false});
                  }
                  work.accesses.push_back({x.out, true});
                  return work;
              },
              [](const Communicate& x) {
                  Work work;
                  const bool local = x.kind == MoveKind::Slice || x.kind == MoveKind::ToPartial;
                  work.stream = local ? 0 : 1;
                  for (const Communicate::Part& part : x.parts) {
                      work.accesses.push_back({part.from, false});
                      work.accesses.push_back({part.to, true});
                  }
                  return work;
              },
              [](const Load& x) { return Work{0, {{x.out, true}}}; }, [](const Fill& x) { return Work{0, {{x.out, true}}}; },
              [](const Copy& x) {
                  return Work{0, {{x.from, false}, {x.to, true}}};
              },
              [](const Allocate&) { return Work{}; }, [](const Free&) { return Work{}; }, [](const Record&) { return Work{}; },
              [](const Wait&) { return Work{}; }},
        instruction);
}

/// The clock of a stream that has not run yet.
constexpr int64_t never = -1;

/// Atoms of memory. Those of frames are repeated for each frame.
class Atoms {
public:
    explicit Atoms(const Class& c) : class_(c), range_(c.buffers.size()) {
        std::array<std::vector<int64_t>, 3> ends;
        for (const Buffer& b : c.buffers) {
            if (has_memory(b)) {
                ends[arena(b)].push_back(b.offset);
                ends[arena(b)].push_back(b.offset + b.bytes);
            }
        }
        for (size_t a = 0; a < 3; ++a) {
            std::sort(ends[a].begin(), ends[a].end());
            ends[a].erase(std::unique(ends[a].begin(), ends[a].end()), ends[a].end());
            first_[a] = a == 0 ? 0 : first_[a - 1] + static_cast<int>(ends[a - 1].size());
        }
        frame_atoms_ = static_cast<int>(ends[2].size());
        for (const BufferId id : c.buffers.ids()) {
            const Buffer& b = c.buffers[id];
            if (has_memory(b)) {
                const auto& list = ends[arena(b)];
                const auto find = [&](int64_t at) {
                    return first_[arena(b)] + static_cast<int>(std::lower_bound(list.begin(), list.end(), at) - list.begin());
                };
                range_[id] = {find(b.offset), find(b.offset + b.bytes)};
            }
        }
    }
    std::pair<int, int> range(BufferId id) const { return range_[id]; }
    bool is_frame(int atom) const { return atom >= first_[2]; }
    size_t count_in_block() const { return static_cast<size_t>(first_[2] + frame_atoms_); }
    size_t count() const { return static_cast<size_t>(first_[2] + frame_atoms_ * std::max(class_.frames, 1)); }
    int shift(int micro) const {
        const auto at = static_cast<size_t>(std::max(micro, 0));
        const int slot = at < class_.slots.size() ? class_.slots[at] : 0;
        return slot > 0 && slot < class_.frames ? slot * frame_atoms_ : 0;
    }

private:
    static bool has_memory(const Buffer& b) { return b.space != Space::Register && b.bytes > 0; }
    static size_t arena(const Buffer& b) { return b.space == Space::Static ? 0 : b.space == Space::Scratch ? 1 : 2; }
    const Class& class_;
    IdVector<BufferId, std::pair<int, int>> range_;
    std::array<int, 3> first_{};
    int frame_atoms_ = 0;
};

/// Clocks of the last write and the last access of any kind, for each stream.
struct Last {
    std::array<int64_t, streams_count> write{never, never};
    std::array<int64_t, streams_count> access{never, never};
};

struct AtomSummary {
    int atom = 0;
    std::array<bool, streams_count> reads_early{};  ///< before the stream has waited for the other one in this block
    std::array<bool, streams_count> writes_early{};
    std::array<size_t, streams_count> early_at{};   ///< the instruction, for messages
    Last last;                                      ///< instruction indices
};
struct BlockSummary {
    std::vector<AtomSummary> atoms;
    std::array<int64_t, streams_count> knows{never, never}; ///< up to which instruction of this block's other stream
};

class StreamCheck {
public:
    StreamCheck(const Checked& checked, const Class& c, Sink& sink) : checked_(checked), class_(c), sink_(sink), atoms_(c) {}

    void run() {
        std::vector<BlockSummary> summaries;
        for (const Block& block : class_.blocks) {
            summaries.push_back(summarize(block));
        }
        if (reported_ == 0) {
            walk(summaries);
        }
    }

private:
    static std::string_view stream_name(size_t stream) { return stream == 0 ? "compute" : "communication"; }

    void report(const Span& span, const std::string& where, BufferId buffer, size_t other, const std::string& use) {
        if (++reported_ <= 20) {
            sink_.report(diag::MissingEvent, span, where, class_.buffers[buffer].name, stream_name(other), use);
        }
    }
    std::string where(const Block& block, const Instruction& instruction) const {
        return format("`{0}` in block `{1}` on {2}", describe(class_, instruction), block.name, describe_devices(checked_, class_));
    }

    BlockSummary summarize(const Block& block) {
        std::vector<int> slot(atoms_.count_in_block(), -1);
        BlockSummary summary;
        std::array<int64_t, streams_count> knows{never, never};
        std::unordered_map<int, std::pair<size_t, int64_t>> recorded;
        for (size_t i = 0; i < block.instructions.size(); ++i) {
            const Instruction& instruction = block.instructions[i];
            const auto now = static_cast<int64_t>(i);
            if (const auto* record = std::get_if<Record>(&instruction)) {
                recorded[record->event.value] = {index_of(record->stream), now};
            } else if (const auto* wait = std::get_if<Wait>(&instruction)) {
                const auto found = recorded.find(wait->event.value);
                const size_t mine = index_of(wait->stream);
                if (found == recorded.end()) {
                    sink_.report(diag::WaitWithoutRecord, Span{}, where(block, instruction));
                    ++reported_;
                } else if (found->second.first != mine) {
                    knows[mine] = std::max(knows[mine], found->second.second);
                }
            }
            const Work work = work_of(instruction);
            for (const Access& access : work.accesses) {
                touch(block, i, work.stream, access, knows, slot, summary);
            }
            for (const Access& access : work.accesses) {
                mark(i, work.stream, access, slot, summary);
            }
        }
        summary.knows = knows;
        return summary;
    }

    void touch(const Block& block, size_t i, size_t stream, const Access& access, const std::array<int64_t, streams_count>& knows,
               std::vector<int>& slot, BlockSummary& summary) {
        const size_t other = 1 - stream;
        const auto [begin, end] = atoms_.range(access.buffer);
        bool told = false;
        for (int atom = begin; atom < end; ++atom) {
            int& at = slot[static_cast<size_t>(atom)];
            if (at < 0) {
                at = static_cast<int>(summary.atoms.size());
                summary.atoms.push_back({});
                summary.atoms.back().atom = atom;
            }
            AtomSummary& s = summary.atoms[static_cast<size_t>(at)];
            const int64_t needed = access.write ? s.last.access[other] : s.last.write[other];
            if (needed > knows[stream] && !told) {
                told = true;
                report(span_of(block.instructions[i]), where(block, block.instructions[i]), access.buffer, other,
                       "`" + describe(class_, block.instructions[static_cast<size_t>(needed)]) + "`");
            }
            if (knows[stream] == never) {
                bool& early = access.write ? s.writes_early[stream] : s.reads_early[stream];
                if (!s.reads_early[stream] && !s.writes_early[stream]) {
                    s.early_at[stream] = i;
                }
                early = true;
            }
        }
    }

    void mark(size_t i, size_t stream, const Access& access, const std::vector<int>& slot, BlockSummary& summary) {
        const auto [begin, end] = atoms_.range(access.buffer);
        for (int atom = begin; atom < end; ++atom) {
            Last& last = summary.atoms[static_cast<size_t>(slot[static_cast<size_t>(atom)])].last;
            last.access[stream] = static_cast<int64_t>(i);
            if (access.write) {
                last.write[stream] = static_cast<int64_t>(i);
            }
        }
    }

    // the order

    static constexpr int64_t wide = int64_t{1} << 24; ///< clocks of one step

    void walk(const std::vector<BlockSummary>& summaries) {
        last_.assign(atoms_.count(), {});
        std::unordered_map<int, std::pair<size_t, int64_t>> recorded;
        for (size_t step = 0; step < class_.order.size() && reported_ < 20; ++step) {
            const int64_t now = (static_cast<int64_t>(step) + 1) * wide;
            std::visit(Match{[&](const RunBlock& x) { run_block(x, summaries[static_cast<size_t>(x.block)], now); },
                             [&](const Posts& x) { posts(x, now); }, [](const AllocateInstance&) {}, [](const FreeInstance&) {},
                             [&](const Record& x) {
                                 recorded[x.event.value] = {index_of(x.stream), now};
                             },
                             [&](const Wait& x) {
                                 const auto found = recorded.find(x.event.value);
                                 const size_t mine = index_of(x.stream);
                                 if (found == recorded.end()) {
                                     sink_.report(diag::WaitWithoutRecord, Span{},
                                                  format("the order of {0}", describe_devices(checked_, class_)));
                                     ++reported_;
                                 } else if (found->second.first != mine) {
                                     knows_[mine] = std::max(knows_[mine], found->second.second);
                                 }
                             }},
                       class_.order[step]);
        }
    }

    std::string describe_step(int64_t clock) const {
        const auto step = static_cast<size_t>(clock / wide - 1);
        if (const auto* run = std::get_if<RunBlock>(&class_.order[step])) {
            const Block& block = class_.blocks[static_cast<size_t>(run->block)];
            const auto at = static_cast<size_t>(clock % wide);
            const std::string what = at < block.instructions.size() ? describe(class_, block.instructions[at]) : "its work";
            return format("`{0}` of `{1}`", what, describe_run(class_, *run));
        }
        return "a message";
    }

    void run_block(const RunBlock& run, const BlockSummary& summary, int64_t now) {
        const int shift = atoms_.shift(run.micro);
        const Block& block = class_.blocks[static_cast<size_t>(run.block)];
        for (const AtomSummary& s : summary.atoms) {
            Last& last = last_[static_cast<size_t>(s.atom + (atoms_.is_frame(s.atom) ? shift : 0))];
            for (size_t stream = 0; stream < streams_count; ++stream) {
                const size_t other = 1 - stream;
                const int64_t needed = s.writes_early[stream] ? last.access[other] : s.reads_early[stream] ? last.write[other] : never;
                if (needed > knows_[stream]) {
                    const Instruction& instruction = block.instructions[s.early_at[stream]];
                    report(span_of(instruction), format("{0}, micro-batch {1}", where(block, instruction), run.micro),
                           buffer_at(instruction, s.atom), other, describe_step(needed));
                }
            }
        }
        for (const AtomSummary& s : summary.atoms) {
            Last& last = last_[static_cast<size_t>(s.atom + (atoms_.is_frame(s.atom) ? shift : 0))];
            for (size_t stream = 0; stream < streams_count; ++stream) {
                if (s.last.access[stream] != never) {
                    last.access[stream] = now + s.last.access[stream];
                }
                if (s.last.write[stream] != never) {
                    last.write[stream] = now + s.last.write[stream];
                }
            }
        }
        for (size_t stream = 0; stream < streams_count; ++stream) {
            if (summary.knows[stream] != never) {
                knows_[stream] = std::max(knows_[stream], now + summary.knows[stream]);
            }
        }
    }

    BufferId buffer_at(const Instruction& instruction, int atom) const {
        const Work work = work_of(instruction);
        for (const Access& access : work.accesses) {
            const auto [begin, end] = atoms_.range(access.buffer);
            if (atom >= begin && atom < end) {
                return access.buffer;
            }
        }
        return work.accesses.front().buffer;
    }

    void posts(const Posts& step, int64_t now) {
        const size_t stream = index_of(Stream::Communication);
        for (const Post& post : step.posts) {
            const bool write = post.kind == Post::Kind::Receive;
            const auto [begin, end] = atoms_.range(post.buffer);
            bool told = false;
            for (int atom = begin; atom < end; ++atom) {
                Last& last = last_[static_cast<size_t>(atom + (atoms_.is_frame(atom) ? atoms_.shift(post.micro) : 0))];
                const int64_t needed = write ? last.access[0] : last.write[0];
                if (needed > knows_[stream] && !told) {
                    told = true;
                    const Message& message = checked_.program.messages[post.message];
                    report(message.span, format("`{0}` on {1}", message.name, describe_devices(checked_, class_)), post.buffer, 0,
                           describe_step(needed));
                }
                last.access[stream] = now;
                last.write[stream] = write ? now : last.write[stream];
            }
        }
    }

    const Checked& checked_;
    const Class& class_;
    Sink& sink_;
    Atoms atoms_;
    std::vector<Last> last_;
    std::array<int64_t, streams_count> knows_{never, never};
    int reported_ = 0;
};

} // namespace

void check_streams(const Checked& checked, Sink& sink) {
    for (const Class& c : checked.program.classes) {
        StreamCheck(checked, c, sink).run();
    }
}

} // namespace sspc::check
