// Ids in range, layouts that fit, the graph's tensors and the plan's mesh: what the other checks take for granted.
#include "ir/check/checks.h"

#include "ir/check/describe.h"
#include "ir/support/format.h"
#include "ir/support/match.h"

#include <algorithm>
#include <set>

namespace sspc::check {

namespace {

class WellFormed {
public:
    WellFormed(const Checked& checked, Sink& sink)
        : checked_(checked), program_(checked.program), graph_(checked.reference.graph), sink_(sink) {}

    void run() {
        mesh();
        axes();
        if (sink_.has_errors()) {
            return;
        }
        messages();
        classes();
        results();
    }

private:
    void fail(const std::string& what, const Span& span = {}) { sink_.report(diag::MalformedProgram, span, what); }

    void mesh() {
        const Mesh& mesh = program_.mesh;
        if (mesh.axes.empty() || mesh.axes[0].role != AxisRole::Micro) {
            return fail("the mesh has no micro-batch axis in front");
        }
        const auto& planned = checked_.plan.mesh.axes;
        bool same = planned.size() + 1 == mesh.axes.size();
        for (size_t i = 0; same && i < planned.size(); ++i) {
            same = planned[i].name == mesh.axes[i + 1].name && planned[i].size == mesh.axes[i + 1].size &&
                   planned[i].role == mesh.axes[i + 1].role;
        }
        if (!same) {
            return fail("its mesh is not the plan's", checked_.plan.mesh.span);
        }
        int parts = 1;
        AxisId split;
        for (const PlanStatement& statement : checked_.plan.statements) {
            if (const auto* s = std::get_if<plan::Split>(&statement)) {
                parts = s->parts;
                split = s->axis;
            }
        }
        if (mesh.axes[0].size != parts || (parts > 1 && program_.split != split)) {
            fail(format("it runs {0} micro-batches, the plan {1}", mesh.axes[0].size, parts));
        }
        if (mesh.axes[0].size < 1 || mesh.axes[0].size > (1 << 20)) {
            fail("the number of micro-batches is out of range");
        }
    }

    void axes() {
        bool same = program_.axes.size() == graph_.axes.size();
        for (const AxisId id : program_.axes.ids()) {
            same = same && program_.axes[id].name == graph_.axes[id].name && program_.axes[id].size == graph_.axes[id].size;
        }
        if (!same) {
            fail("its axes are not the model's");
        }
    }

    int stages() const {
        return checked_.stage_axis < 0 ? 1 : program_.mesh.axes[static_cast<size_t>(checked_.stage_axis)].size;
    }

    void messages() {
        for (const Message& m : program_.messages) {
            if (!checked_.reference.find(m.tensor).valid()) {
                fail(format("message `{0}` carries `{1}`, which the model does not have", m.name, m.tensor), m.span);
            }
            if (m.from_stage < 0 || m.from_stage >= stages() || m.to_stage < 0 || m.to_stage >= stages() ||
                m.from_stage == m.to_stage) {
                fail(format("message `{0}` goes from stage {1} to stage {2}", m.name, m.from_stage, m.to_stage), m.span);
            }
        }
    }

    void classes() {
        if (static_cast<int>(program_.classes.size()) != stages()) {
            return fail(format("it has {0} classes for {1} stages", program_.classes.size(), stages()));
        }
        for (size_t i = 0; i < program_.classes.size(); ++i) {
            class_ = &program_.classes[i];
            if (class_->stage != static_cast<int>(i)) {
                fail("its classes are not in the order of stages");
            }
            for (const Buffer& b : class_->buffers) {
                buffer(b);
            }
            for (const Block& b : class_->blocks) {
                block_ = &b;
                for (const Instruction& instruction : b.instructions) {
                    check(instruction);
                }
            }
            for (const OrderStep& step : class_->order) {
                check(step);
            }
            if (class_->slots.size() > static_cast<size_t>(checked_.micros)) {
                fail("it has more frame slots than micro-batches");
            }
            constexpr int64_t most = int64_t{1} << 50;
            if (class_->frames > checked_.micros || class_->frame_bytes > most / std::max(1, class_->frames) ||
                class_->static_bytes > most || class_->scratch_bytes > most) {
                fail("it has more memory than there can be");
            }
        }
    }

    bool fits(const Layout& layout, const std::vector<AxisId>& axes) const {
        if (layout.size() != program_.mesh.axes.size()) {
            return false;
        }
        for (size_t i = 0; i < layout.size(); ++i) {
            if (layout[i].is_sharded() && std::find(axes.begin(), axes.end(), layout[i].axis) == axes.end()) {
                return false;
            }
            if (layout[i].is_partial() && layout[i].reduction == Reduce::None) {
                return false;
            }
            if (!layout[i].is_replicated() && program_.mesh.axes[i].size == 1) {
                return false;
            }
            if (layout[i].is_sharded() && static_cast<int>(i) == checked_.stage_axis) {
                return false;
            }
        }
        return true;
    }

    void buffer(const Buffer& b) {
        const TensorId id = checked_.reference.find(b.tensor);
        if (!id.valid()) {
            return fail(format("`{0}` holds `{1}`, which the model does not have", b.name, b.tensor));
        }
        const Tensor& tensor = graph_.tensors[id];
        if (tensor.axes != b.axes || tensor.dtype != b.dtype) {
            fail(format("`{0}` has not the axes and type of `{1}`", b.name, b.tensor));
        }
        if (!fits(b.layout, b.axes)) {
            fail(format("`{0}` has a layout that its axes and the mesh do not allow", b.name));
        }
        const bool stored = tensor.kind == TensorKind::Parameter || tensor.kind == TensorKind::State;
        if (b.life == Life::Persistent && !stored) {
            fail(format("`{0}` lasts over steps, but `{1}` is neither a parameter nor a state", b.name, b.tensor));
        }
    }

    bool has(BufferId id) const { return class_->buffers.contains(id); }
    void need(bool good, std::string_view what) {
        if (!good) {
            fail(format("block `{0}` of stage {1} names {2} that there is not", block_ ? block_->name : "?", class_->stage, what));
        }
    }
    void need_axes(const ExprPtr& expr, size_t reads) {
        if (!expr) {
            return need(false, "an expression");
        }
        bool good = true;
        for_each(expr, [&](const Expr& e) {
            good = good && (e.op != ExprOp::Iota || program_.axes.contains(e.axis)) &&
                   (e.op != ExprOp::Access || (e.slot >= 0 && static_cast<size_t>(e.slot) < reads));
        });
        need(good, "an axis or operand");
    }
    void need_event(EventId id) { need(id.valid() && id.value < class_->events, "an event"); }
    void need_micro(int micro, BufferId id) {
        const bool is_micro = has(id) && class_->buffers[id].life == Life::Micro;
        need(micro >= -1 && micro < checked_.micros && (!is_micro || micro >= 0 || checked_.micros == 1), "a micro-batch");
    }
    void need_chunk(const std::optional<Chunk>& chunk) {
        need(!chunk || (program_.axes.contains(chunk->axis) && chunk->count >= 1 && chunk->count <= (1 << 16) &&
                        chunk->index >= 0 && chunk->index < chunk->count),
             "a chunk");
    }

    void check(const Instruction& instruction) {
        std::visit(Match{[&](const Compute& x) {
                             for (const BufferId id : x.reads) {
                                 need(has(id), "a buffer");
                             }
                             need(has(x.out), "a buffer");
                             need(x.cut.size() == program_.mesh.axes.size(), "a mesh axis");
                             for (const AxisId axis : x.cut) {
                                 need(!axis.valid() || program_.axes.contains(axis), "an axis");
                             }
                             for (const AxisId axis : x.reduced) {
                                 need(program_.axes.contains(axis), "an axis");
                             }
                             need_axes(x.body, x.reads.size());
                             for (const ExprPtr& e : x.scatter) {
                                 need_axes(e, x.reads.size());
                             }
                             need_chunk(x.chunk);
                         },
                         [&](const Communicate& x) {
                             need(!x.parts.empty(), "a part");
                             need_chunk(x.chunk);
                             for (const Communicate::Part& p : x.parts) {
                                 need(has(p.from) && has(p.to), "a buffer");
                                 if (has(p.from) && has(p.to)) {
                                     need(fits(p.from_layout, class_->buffers[p.from].axes) &&
                                              fits(p.to_layout, class_->buffers[p.to].axes),
                                          "a layout");
                                 }
                             }
                             std::set<int> seen;
                             for (const int axis : x.mesh_axes) {
                                 need(axis >= 0 && static_cast<size_t>(axis) < program_.mesh.axes.size() &&
                                          axis != checked_.micro_axis && seen.insert(axis).second,
                                      "a mesh axis");
                             }
                         },
                         [&](const Load& x) { need(has(x.out), "a buffer"); },
                         [&](const Fill& x) { need(has(x.out), "a buffer"); },
                         [&](const Copy& x) { need(has(x.from) && has(x.to), "a buffer"); },
                         [&](const Allocate& x) { need(has(x.buffer), "a buffer"); },
                         [&](const Free& x) { need(has(x.buffer), "a buffer"); },
                         [&](const Record& x) { need_event(x.event); }, [&](const Wait& x) { need_event(x.event); }},
                   instruction);
    }

    void check(const OrderStep& step) {
        block_ = nullptr;
        std::visit(Match{[&](const RunBlock& x) {
                             const bool good = x.block >= 0 && static_cast<size_t>(x.block) < class_->blocks.size();
                             need(good && x.micro >= -1 && x.micro < checked_.micros, "a block");
                         },
                         [&](const Posts& x) {
                             for (const Post& p : x.posts) {
                                 need(has(p.buffer) && program_.messages.contains(p.message), "a buffer or message");
                                 need_micro(p.micro, p.buffer);
                             }
                         },
                         [&](const AllocateInstance& x) {
                             need(has(x.buffer), "a buffer");
                             need_micro(x.micro, x.buffer);
                         },
                         [&](const FreeInstance& x) {
                             need(has(x.buffer), "a buffer");
                             need_micro(x.micro, x.buffer);
                         },
                         [&](const Record& x) { need_event(x.event); }, [&](const Wait& x) { need_event(x.event); }},
                   step);
    }

    bool has(int stage, BufferId id) const {
        return stage >= 0 && static_cast<size_t>(stage) < program_.classes.size() &&
               program_.classes[static_cast<size_t>(stage)].buffers.contains(id);
    }
    void results() {
        for (const Program::Result& r : program_.results) {
            if (!has(r.stage, r.buffer)) {
                fail(format("the result `{0}` has no buffer", r.tensor));
            }
        }
        for (const Program::Stored& s : program_.stored) {
            bool good = has(s.stage, s.buffer);
            for (const auto& copy : s.copies) {
                good = good && has(copy.stage, copy.buffer);
            }
            if (!good) {
                fail(format("the stored tensor `{0}` has no buffer", s.tensor));
            }
        }
    }

    const Checked& checked_;
    const Program& program_;
    const Graph& graph_;
    Sink& sink_;
    const Class* class_ = nullptr;
    const Block* block_ = nullptr;
};

} // namespace

void check_well_formed(const Checked& checked, Sink& sink) { WellFormed(checked, sink).run(); }

} // namespace sspc::check
