// Runs a program on value numbers.
#include "tests/mutation/equivalent.h"

#include "ir/support/format.h"
#include "ir/support/match.h"

#include <algorithm>
#include <bit>
#include <map>
#include <vector>

namespace sspc::mutation {

namespace {

using Number = uint64_t;

Number mix(Number a, Number b) {
    Number x = a * 0x9E3779B97F4A7C15ULL + b + 0x7F4A7C15ULL;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}
Number of_text(const std::string& text) {
    Number n = 1469598103934665603ULL;
    for (const char c : text) {
        n = (n ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    }
    return n;
}

/// What a range of memory holds: one value, or chunks of one.
struct Held {
    int64_t end = 0;
    std::map<int, Number> chunks; ///< -1: the whole
    int count = 1;
};

struct Touch {
    int64_t begin, end;
    bool write;
};
struct Op {
    int stream;
    int64_t knows; ///< the last operation of the other stream that is known to be done
    std::vector<Touch> touches;
};

struct Meaning {
    std::map<std::string, Number> values; ///< of what is stored, of results and of messages
    std::vector<std::string> meetings;    ///< messages and sums over stages, of each class in order
    std::string broken;                   ///< a read of what nothing wrote, or a race
};

class Replay {
public:
    Replay(const Program& program, size_t index, Meaning& meaning) : program_(program), class_(program.classes[index]), meaning_(meaning) {}

    void run() {
        for (const Program::Stored& s : program_.stored) {
            const auto put = [&](int stage, BufferId id) {
                if (stage == class_.stage) {
                    store(id, 0, of_text("stored " + s.tensor), nullptr, false);
                }
            };
            put(s.stage, s.buffer);
            for (const auto& copy : s.copies) {
                put(copy.stage, copy.buffer);
            }
        }
        for (const OrderStep& step : class_.order) {
            std::visit(Match{[&](const RunBlock& x) {
                                 for (const Instruction& i : class_.blocks.at(static_cast<size_t>(x.block)).instructions) {
                                     carry_out(i, std::max(x.micro, 0));
                                 }
                             },
                             [&](const Posts& x) { posts(x); }, [](const AllocateInstance&) {}, [](const FreeInstance&) {},
                             [&](const Record& x) { record(x); }, [&](const Wait& x) { wait(x); }},
                       step);
        }
        for (const Program::Stored& s : program_.stored) {
            const auto keep = [&](int stage, BufferId id) {
                if (stage == class_.stage) {
                    meaning_.values[format("{0} on {1}", s.tensor, stage)] = load(id, 0, nullptr);
                }
            };
            keep(s.stage, s.buffer);
            for (const auto& copy : s.copies) {
                keep(copy.stage, copy.buffer);
            }
        }
        for (const Program::Result& r : program_.results) {
            if (r.stage == class_.stage) {
                meaning_.values[format("result {0} {1}", r.tensor, static_cast<int>(r.what))] = load(r.buffer, 0, nullptr);
            }
        }
        races();
    }

private:
    int64_t bytes_of(const Buffer& b) const {
        const std::vector<int> first(program_.mesh.axes.size(), 0);
        return volume(region(program_.axes, b.axes, program_.mesh, b.layout, first)) * size_of(b.dtype);
    }
    /// Begin in one address space; -1 for a register.
    int64_t address(BufferId id, int micro) const {
        const Buffer& b = class_.buffers[id];
        const int64_t arena = int64_t{1} << 40;
        switch (b.space) {
        case Space::Static:
            return b.offset;
        case Space::Scratch:
            return arena + b.offset;
        case Space::Frame: {
            const auto at = static_cast<size_t>(micro);
            return (2 + (at < class_.slots.size() ? class_.slots[at] : 0)) * arena + b.offset;
        }
        case Space::Register:
            break;
        }
        return -1;
    }
    void broken(const std::string& what) {
        if (meaning_.broken.empty()) {
            meaning_.broken = what;
        }
    }

    void touch(BufferId id, int micro, bool write) {
        const int64_t begin = address(id, micro);
        const Buffer& b = class_.buffers[id];
        if (begin >= 0) {
            op_.touches.push_back({begin, begin + std::max(bytes_of(b), b.bytes), write});
        }
    }

    Number load(BufferId id, int micro, const std::optional<Chunk>* chunk) {
        touch(id, micro, false);
        const int64_t begin = address(id, micro);
        const int64_t bytes = bytes_of(class_.buffers[id]);
        const auto& memory = begin < 0 ? registers_[micro] : memory_;
        const int64_t key = begin < 0 ? id.value : begin;
        if (bytes == 0) {
            return 7;
        }
        const auto found = memory.find(key);
        if (found == memory.end() || (begin >= 0 && found->second.end != begin + bytes)) {
            broken(format("`{0}` is read where nothing is", class_.buffers[id].name));
            return 3;
        }
        const Held& held = found->second;
        const auto whole = held.chunks.find(-1);
        if (whole != held.chunks.end()) {
            return chunk != nullptr && *chunk ? mix(whole->second, static_cast<Number>((*chunk)->index)) : whole->second;
        }
        if (chunk != nullptr && *chunk && (*chunk)->count == held.count && held.chunks.count((*chunk)->index) > 0) {
            return held.chunks.at((*chunk)->index);
        }
        if (static_cast<int>(held.chunks.size()) != held.count) {
            broken(format("`{0}` is read before all of it is there", class_.buffers[id].name));
        }
        Number sum = 11;
        for (const auto& [index, number] : held.chunks) {
            sum = mix(sum, number);
        }
        return sum;
    }

    void store(BufferId id, int micro, Number number, const std::optional<Chunk>* chunk, bool accumulate) {
        touch(id, micro, true);
        const Buffer& b = class_.buffers[id];
        const int64_t begin = address(id, micro);
        const int64_t end = begin + bytes_of(b);
        auto& memory = begin < 0 ? registers_[micro] : memory_;
        const int64_t key = begin < 0 ? id.value : begin;
        if (begin >= 0 && end == begin) {
            return;
        }
        const bool part = chunk != nullptr && *chunk && (*chunk)->count > 1;
        const int index = part ? (*chunk)->index : -1;
        const auto same = memory.find(key);
        const bool is_there = same != memory.end() && (begin < 0 || same->second.end == end);
        if (accumulate) {
            // A sum over micro-batches, in any order.
            if (!is_there) {
                broken(format("`{0}` is added to where nothing is", b.name));
                return;
            }
            Held& held = same->second;
            const auto whole = held.chunks.find(-1);
            if (part && whole != held.chunks.end()) {
                const Number old = whole->second;
                held.chunks.clear();
                held.count = (*chunk)->count;
                for (int i = 0; i < held.count; ++i) {
                    held.chunks[i] = old;
                }
            }
            held.chunks[index] += number;
            return;
        }
        if (part && is_there && same->second.count == (*chunk)->count && same->second.chunks.count(-1) == 0) {
            same->second.chunks[index] = number;
            return;
        }
        if (begin >= 0) {
            auto next = memory.lower_bound(begin);
            if (next != memory.begin() && std::prev(next)->second.end > begin) {
                --next;
            }
            while (next != memory.end() && next->first < end) {
                next = memory.erase(next); // what is left of it is no value any more
            }
        }
        Held held;
        held.end = end;
        held.count = part ? (*chunk)->count : 1;
        held.chunks[index] = number;
        memory[key] = held;
    }

    Number of_layout(const Layout& layout) const {
        Number n = 17;
        for (size_t m = 0; m < layout.size(); ++m) {
            if (program_.mesh.axes[m].size > 1) {
                const Placement& p = layout[m];
                n = mix(n, static_cast<Number>(p.kind) * 1000 + (p.is_sharded() ? static_cast<Number>(p.axis.value) : 0) * 10 +
                               (p.is_partial() ? static_cast<Number>(p.reduction) : 0));
            }
        }
        return n;
    }

    Number of_expr(const ExprPtr& e, const std::vector<Number>& operands) const {
        if (!e) {
            return 19;
        }
        Number n = mix(static_cast<Number>(e->op), static_cast<Number>(e->type));
        n = mix(n, std::bit_cast<uint64_t>(e->number));
        n = mix(n, static_cast<Number>(e->axis.value + 1));
        n = mix(n, e->op == ExprOp::Access ? operands.at(static_cast<size_t>(e->slot)) : 0);
        n = mix(n, e->op == ExprOp::Random ? of_text(e->path) + static_cast<Number>(e->draw) : 0);
        for (const ExprPtr& arg : e->args) {
            n = mix(n, of_expr(arg, operands));
        }
        return mix(n, e->otherwise ? of_expr(e->otherwise, operands) : 0);
    }

    void compute(const Compute& c, int micro) {
        std::vector<Number> operands;
        for (const BufferId id : c.reads) {
            operands.push_back(mix(load(id, micro, c.chunk ? &c.chunk : nullptr), of_layout(class_.buffers[id].layout)));
        }
        Number n = mix(of_text(c.path), static_cast<Number>(c.reduce));
        for (size_t m = 0; m < c.cut.size(); ++m) {
            n = mix(n, program_.mesh.axes[m].size > 1 ? static_cast<Number>(c.cut[m].value + 1) : 0);
        }
        n = mix(n, micro_of(c.cut, micro));
        for (const AxisId axis : c.reduced) {
            n = mix(n, static_cast<Number>(axis.value));
        }
        for (const ExprPtr& e : c.scatter) {
            n = mix(n, of_expr(e, operands));
        }
        n = mix(mix(n, of_expr(c.body, operands)), of_layout(class_.buffers[c.out].layout));
        if (c.chunk) {
            n = mix(n, static_cast<Number>(c.chunk->axis.value) * 4096 + static_cast<Number>(c.chunk->index));
        }
        if (c.accumulate) {
            touch(c.out, micro, false);
        }
        store(c.out, micro, n, &c.chunk, c.accumulate);
    }
    Number micro_of(const Cut& cut, int micro) const {
        return program_.mesh.axes[0].size > 1 && cut[0].valid() ? static_cast<Number>(micro) + 23 : 0;
    }

    /// An exchange that gathers, slices or turns all axes alike gives what the collective for that gives.
    MoveKind special(const Communicate& c, const Communicate::Part& part) const {
        std::optional<MoveKind> kind;
        for (const int m : c.mesh_axes) {
            const Placement& from = part.from_layout.at(static_cast<size_t>(m));
            const Placement& to = part.to_layout.at(static_cast<size_t>(m));
            if (c.kind != MoveKind::Exchange || program_.mesh.axes[static_cast<size_t>(m)].size == 1) {
                continue;
            }
            MoveKind here = MoveKind::Exchange;
            if (from.is_sharded()) {
                here = to.is_replicated() ? MoveKind::AllGather : MoveKind::AllToAll;
            } else if (from.is_replicated() && to.is_sharded()) {
                here = MoveKind::Slice;
            }
            kind = kind && *kind != here ? MoveKind::Exchange : here;
        }
        return kind.value_or(c.kind);
    }

    void communicate(const Communicate& c, int micro) {
        bool over_stages = false;
        Number what = 29;
        for (const int m : c.mesh_axes) {
            const MeshAxis& axis = program_.mesh.axes.at(static_cast<size_t>(m));
            what = mix(what, axis.size > 1 ? static_cast<Number>(m) : 0);
            over_stages = over_stages || (axis.role == AxisRole::Stage && axis.size > 1);
        }
        std::string names;
        for (const Communicate::Part& part : c.parts) {
            Number n = mix(mix(what, static_cast<Number>(special(c, part))), load(part.from, micro, &c.chunk));
            n = mix(mix(n, of_layout(part.from_layout)), of_layout(part.to_layout));
            n = mix(n, of_layout(class_.buffers[part.to].layout));
            store(part.to, micro, n, &c.chunk, c.accumulate);
            names += class_.buffers[part.from].tensor + " ";
        }
        if (over_stages) {
            meaning_.meetings.push_back(format("class {0} sum over stages of {1}", class_.stage, names));
        }
    }

    void carry_out(const Instruction& instruction, int micro) {
        op_ = {0, 0, {}};
        std::visit(Match{[&](const Compute& x) { compute(x, micro); },
                         [&](const Communicate& x) {
                             op_.stream = x.kind == MoveKind::Slice || x.kind == MoveKind::ToPartial ? 0 : 1;
                             communicate(x, micro);
                         },
                         [&](const Load& x) {
                             const Buffer& b = class_.buffers[x.out];
                             Number n = mix(of_text("input " + b.tensor), of_layout(b.layout));
                             n = mix(n, program_.mesh.axes[0].size > 1 && b.layout[0].is_sharded() ? static_cast<Number>(micro) + 1 : 0);
                             store(x.out, micro, n, nullptr, false);
                         },
                         [&](const Fill& x) { store(x.out, micro, std::bit_cast<uint64_t>(x.value), nullptr, false); },
                         [&](const Copy& x) { store(x.to, micro, load(x.from, micro, nullptr), nullptr, false); },
                         [](const Allocate&) {}, [](const Free&) {}, [&](const Record& x) { record(x); }, [&](const Wait& x) { wait(x); }},
                   instruction);
        finish_op();
    }
    void finish_op() {
        if (!op_.touches.empty()) {
            op_.knows = knows_[op_.stream];
            ops_.push_back(std::move(op_));
        }
        op_ = {};
    }

    void posts(const Posts& x) {
        for (const Post& p : x.posts) {
            const Message& m = program_.messages[p.message];
            op_ = {1, 0, {}};
            const std::string name = format("{0} {1} {2} to {3} bytes of {4}", m.name, p.micro, m.from_stage, m.to_stage, m.tensor);
            const Number layout = of_layout(class_.buffers[p.buffer].layout);
            if (p.kind == Post::Kind::Send) {
                meaning_.values["sent " + name] = mix(load(p.buffer, std::max(p.micro, 0), nullptr), layout);
            } else {
                store(p.buffer, std::max(p.micro, 0), mix(of_text(name), layout), nullptr, false);
            }
            finish_op();
            meaning_.meetings.push_back(format("class {0} {1} {2} {3}", class_.stage, p.kind == Post::Kind::Send ? "sends" : "receives", name,
                                               x.grouped ? "grouped" : ""));
        }
    }

    void record(const Record& x) { events_[x.event.value] = {x.stream == Stream::Compute ? 0 : 1, static_cast<int64_t>(ops_.size())}; }
    void wait(const Wait& x) {
        const int mine = x.stream == Stream::Compute ? 0 : 1;
        const auto found = events_.find(x.event.value);
        if (found != events_.end() && found->second.first != mine) {
            knows_[mine] = std::max(knows_[mine], found->second.second);
        }
    }

    void races() {
        for (size_t j = 0; j < ops_.size() && meaning_.broken.empty(); ++j) {
            for (size_t i = static_cast<size_t>(std::max<int64_t>(ops_[j].knows, 0)); i < j; ++i) {
                if (ops_[i].stream == ops_[j].stream) {
                    continue;
                }
                for (const Touch& a : ops_[i].touches) {
                    for (const Touch& b : ops_[j].touches) {
                        if ((a.write || b.write) && a.begin < b.end && b.begin < a.end) {
                            broken(format("operations {0} and {1} of class {2} race", i, j, class_.stage));
                            return;
                        }
                    }
                }
            }
        }
    }

    const Program& program_;
    const Class& class_;
    Meaning& meaning_;
    std::map<int64_t, Held> memory_;
    std::map<int, std::map<int64_t, Held>> registers_;
    Op op_{};
    std::vector<Op> ops_;
    int64_t knows_[2] = {0, 0}; ///< operations below this number are done
    std::map<int, std::pair<int, int64_t>> events_;
};

Meaning meaning_of(const Program& program) {
    Meaning meaning;
    for (size_t c = 0; c < program.classes.size(); ++c) {
        Replay(program, c, meaning).run();
    }
    return meaning;
}

} // namespace

std::string difference_in_meaning(const Program& original, const Program& mutant) {
    const Meaning a = meaning_of(original);
    const Meaning b = meaning_of(mutant);
    if (!a.broken.empty()) {
        return "the original: " + a.broken;
    }
    if (!b.broken.empty()) {
        return b.broken;
    }
    if (a.meetings != b.meetings) {
        return "messages go in another order";
    }
    if (a.values.size() != b.values.size()) {
        return "other values are stored, returned or sent";
    }
    for (const auto& [name, number] : a.values) {
        const auto found = b.values.find(name);
        if (found == b.values.end() || found->second != number) {
            return format("`{0}` has another value", name);
        }
    }
    return "";
}

} // namespace sspc::mutation
