// Prints a device program as `.sspd` text.
#include "ir/program/program.h"
#include "ir/program/sspd_expr.h"
#include "ir/program/sspd_words.h"
#include "ir/support/format.h"
#include "ir/support/match.h"

#include <functional>

namespace sspc {

namespace {

using namespace sspd;

class Printer {
public:
    explicit Printer(const Program& program) : program_(program) {}

    std::string print() {
        out_ += "sspd 1\n";
        line(0, "model " + name_text(program_.model));
        line(0, "plan " + name_text(program_.plan));
        line(0, format("mesh {0} [{1}]", name_text(program_.mesh.name), list(program_.mesh.axes, [](const MeshAxis& a) {
                           return format("{0}: {1} {2}", name_text(a.name), a.size, word(roles, a.role));
                       })));
        if (program_.split.valid()) {
            line(0, "split " + axis(program_.split));
        }
        line(0, "axes");
        for (const Axis& a : program_.axes) {
            line(1, format("{0}: {1}", name_text(a.name), a.size));
        }
        line(0, "messages");
        for (const Message& m : program_.messages) {
            line(1, format("{0} {1} {2} -> {3} tensor {4} bytes {5} {6}", name_text(m.name), word(phases, m.phase),
                           m.from_stage, m.to_stage, name_text(m.tensor), m.bytes,
                           m.each_micro ? "each_micro" : "once"));
        }
        for (const Class& c : program_.classes) {
            print_class(c);
        }
        line(0, "results");
        for (const Program::Result& r : program_.results) {
            line(1, format("{0} {1} stage {2} {3}", word(results, r.what), name_text(r.tensor), r.stage,
                           buffer(r.stage, r.buffer)));
        }
        line(0, "stored");
        for (const Program::Stored& s : program_.stored) {
            print_stored(s);
        }
        line(0, "end");
        return std::move(out_);
    }

private:
    template <typename Items, typename Text>
    static std::string list(const Items& items, Text text) {
        std::string joined;
        for (const auto& item : items) {
            joined += (joined.empty() ? "" : ", ") + text(item);
        }
        return joined;
    }
    void line(int indent, const std::string& text) {
        out_ += std::string(static_cast<size_t>(indent) * 2, ' ') + text + "\n";
    }
    std::string axis(AxisId id) const { return program_.axes.contains(id) ? name_text(program_.axes[id].name) : "?"; }
    std::string axes(const std::vector<AxisId>& ids) const {
        return list(ids, [&](AxisId id) { return axis(id); });
    }
    std::string mesh_axis(size_t index) const {
        return index < program_.mesh.axes.size() ? name_text(program_.mesh.axes[index].name) : "?";
    }
    std::string message(MessageId id) const {
        return program_.messages.contains(id) ? name_text(program_.messages[id].name) : "?";
    }
    std::string buffer(BufferId id) const {
        return class_ != nullptr && class_->buffers.contains(id) ? "%" + name_text(class_->buffers[id].name) : "%?";
    }
    std::string buffer(int stage, BufferId id) {
        class_ = nullptr;
        for (const Class& c : program_.classes) {
            class_ = c.stage == stage && class_ == nullptr ? &c : class_;
        }
        return buffer(id);
    }
    std::string layout(const Layout& placements) const {
        std::string text;
        for (size_t i = 0; i < placements.size(); ++i) {
            const Placement& p = placements[i];
            if (!p.is_replicated()) {
                text += format("{0}{1}: {2}({3})", text.empty() ? "" : ", ", mesh_axis(i), p.is_sharded() ? "S" : "P",
                               p.is_sharded() ? axis(p.axis) : std::string(word(reductions, p.reduction)));
            }
        }
        return "{" + text + "}";
    }
    std::string cut(const Cut& cuts) const {
        std::string text;
        for (size_t i = 0; i < cuts.size(); ++i) {
            if (cuts[i].valid()) {
                text += format("{0}{1}: {2}", text.empty() ? "" : ", ", mesh_axis(i), axis(cuts[i]));
            }
        }
        return "{" + text + "}";
    }
    std::string chunk(const std::optional<Chunk>& part) const {
        return part ? format(" chunk {0} of {1} along {2}", part->index, part->count, axis(part->axis)) : "";
    }

    void print_class(const Class& c) {
        class_ = &c;
        line(0, format("class stage {0}", c.stage));
        line(1, format("memory static {0} scratch {1} frame {2} frames {3} slots [{4}] events {5}", c.static_bytes,
                       c.scratch_bytes, c.frame_bytes, c.frames,
                       list(c.slots, [](int slot) { return std::to_string(slot); }), c.events));
        line(1, "buffers");
        for (const Buffer& b : c.buffers) {
            line(2, format("%{0} = {1} {2}[{3}] {4} {5} {6} at {7} bytes {8}", name_text(b.name), name_text(b.tensor),
                           word(types, b.dtype), axes(b.axes), layout(b.layout), word(lives, b.life),
                           word(spaces, b.space), b.offset, b.bytes));
        }
        for (const Block& b : c.blocks) {
            line(1, format("block {0} {1} stage {2}", name_text(b.name), word(blocks, b.kind), b.stage));
            for (const Instruction& i : b.instructions) {
                line(2, instruction(i));
            }
        }
        line(1, "order");
        for (const OrderStep& step : c.order) {
            line(2, order_step(step));
        }
    }

    std::string instruction(const Instruction& i) const {
        return std::visit(
            Match{[&](const Compute& x) { return compute(x); }, [&](const Communicate& x) { return communicate(x); },
                  [&](const Load& x) { return "load " + buffer(x.out); },
                  [&](const Fill& x) { return format("fill {0} with {1}", buffer(x.out), number_text(x.value, false)); },
                  [&](const Copy& x) { return format("copy {0} -> {1}", buffer(x.from), buffer(x.to)); },
                  [&](const Allocate& x) { return "allocate " + buffer(x.buffer); },
                  [&](const Free& x) { return "free " + buffer(x.buffer); },
                  [&](const Record& x) { return record(x); }, [&](const Wait& x) { return wait(x); }},
            i);
    }
    static std::string record(const Record& x) {
        return format("record {0} on {1}", x.event.value, word(streams, x.stream));
    }
    static std::string wait(const Wait& x) { return format("wait {0} on {1}", x.event.value, word(streams, x.stream)); }

    std::string compute(const Compute& c) const {
        std::string text = format("compute {0} {1} cut {2}", name_text(c.path), word(phases, c.phase), cut(c.cut));
        text += chunk(c.chunk);
        if (c.kernel >= 0) {
            text += " kernel " + std::to_string(c.kernel);
        }
        text += ": " + buffer(c.out);
        std::vector<ExprPtr> exprs = c.scatter;
        exprs.push_back(c.body);
        if (reads_in_order(c.reads, exprs) != c.reads) {
            text += format(" reads ({0})", list(c.reads, [&](BufferId id) { return buffer(id); }));
        }
        if (!c.scatter.empty()) {
            text += format(" scatter ({0})", indices_text(program_, *class_, c.reads, c.scatter));
        }
        text += c.accumulate ? " += " : " = ";
        if (c.reduce != Reduce::None || !c.reduced.empty()) {
            text += format("{0}[{1}] ", word(reductions, c.reduce), axes(c.reduced));
        }
        return text + expr_text(program_, *class_, c.reads, c.body);
    }

    std::string communicate(const Communicate& c) const {
        std::string text = format("communicate {0} along [{1}] {2}", word(moves, c.kind),
                                  list(c.mesh_axes, [&](int a) { return mesh_axis(static_cast<size_t>(a)); }),
                                  word(phases, c.phase));
        text += format(" bytes {0}", c.bytes) + chunk(c.chunk) + ":";
        bool first = true;
        for (const Communicate::Part& p : c.parts) {
            text += format("{0} {1} {2} {3} {4} {5}", first ? "" : ",", buffer(p.from), layout(p.from_layout),
                           c.accumulate ? "+>" : "->", buffer(p.to), layout(p.to_layout));
            first = false;
        }
        return text;
    }

    static std::string at_micro(int micro) { return micro < 0 ? "" : " micro " + std::to_string(micro); }

    std::string order_step(const OrderStep& step) const {
        return std::visit(
            Match{[&](const RunBlock& x) {
                      const bool known = x.block >= 0 && static_cast<size_t>(x.block) < class_->blocks.size();
                      return "run " + (known ? name_text(class_->blocks[static_cast<size_t>(x.block)].name) : "?") +
                             at_micro(x.micro);
                  },
                  [&](const Posts& x) {
                      return format("post{0} ({1})", x.grouped ? " grouped" : "", list(x.posts, [&](const Post& p) {
                                        return format("{0} {1} {2}{3}", p.kind == Post::Kind::Send ? "send" : "receive",
                                                      message(p.message), buffer(p.buffer), at_micro(p.micro));
                                    }));
                  },
                  [&](const AllocateInstance& x) { return "allocate " + buffer(x.buffer) + at_micro(x.micro); },
                  [&](const FreeInstance& x) { return "free " + buffer(x.buffer) + at_micro(x.micro); },
                  [&](const Record& x) { return record(x); }, [&](const Wait& x) { return wait(x); }},
            step);
    }

    void print_stored(const Program::Stored& s) {
        std::string text = format("{0} {1} {2}({3}, {4}) stage {5} {6}", word(tensor_kinds, s.kind), name_text(s.tensor),
                                  word(inits, s.init.kind), number_text(s.init.a, false), number_text(s.init.b, false),
                                  s.stage, buffer(s.stage, s.buffer));
        for (const Program::Stored::Replica& copy : s.copies) {
            text += format(" copy stage {0} {1}", copy.stage, buffer(copy.stage, copy.buffer));
        }
        line(1, text);
    }

    const Program& program_;
    const Class* class_ = nullptr;
    std::string out_;
};

} // namespace

std::string print_program(const Program& program) { return Printer(program).print(); }

} // namespace sspc
