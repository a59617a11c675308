// At the end of a step every parameter, state and result holds the model's value, on every device that stores it.
#include "ir/check/checks.h"

#include "ir/check/content.h"
#include "ir/check/describe.h"
#include "ir/check/stage_sums.h"
#include "ir/support/format.h"

#include <set>

namespace sspc::check {

namespace {

class Outputs {
public:
    Outputs(const Checked& checked, const std::vector<Outcome>& outcomes, Sink& sink)
        : checked_(checked), graph_(checked.reference.graph), outcomes_(outcomes), sink_(sink) {}

    void run() {
        stored();
        results();
    }

private:
    std::string describe_content(const Content& content) const {
        if (content.is_nothing()) {
            return "nothing";
        }
        if (content.state == Content::State::Identity) {
            return "zeros";
        }
        const std::string what = format("`{0}` as {1}", graph_.tensors[content.tensor].path, describe(checked_, content.layout));
        return content.pending ? "only some chunks of " + what : content.accumulating ? "only some terms of " + what : what;
    }
    static bool has_partial(const Layout& layout) {
        for (const Placement& p : layout) {
            if (p.is_partial()) {
                return true;
            }
        }
        return false;
    }
    const Class& class_of(int stage) const { return checked_.program.classes[static_cast<size_t>(stage)]; }

    void holder(const Program::Stored& s, int stage, BufferId id, std::set<std::pair<int, BufferId>>& seen) {
        const Class& c = class_of(stage);
        const Buffer& buffer = c.buffers[id];
        const Content& content = outcomes_[static_cast<size_t>(stage)].contents[id];
        const TensorId target = checked_.reference.find(s.tensor);
        const TensorId wanted = checked_.reference.updated[target];
        if (!seen.insert({stage, id}).second) {
            sink_.report(diag::MalformedProgram, Span{}, format("`{0}` is stored twice", buffer.name));
        }
        if (buffer.life != Life::Persistent || buffer.tensor != s.tensor || has_partial(buffer.layout) ||
            !buffer.layout[static_cast<size_t>(checked_.micro_axis)].is_replicated()) {
            sink_.report(diag::MalformedProgram, Span{}, format("`{0}` is no place to store `{1}`", buffer.name, s.tensor));
            return;
        }
        const bool good = content.is_value() && content.tensor == wanted && content.layout == buffer.layout &&
                          !content.pending && !content.accumulating;
        if (!good) {
            sink_.report(diag::NotUpdated, graph_.tensors[target].span, describe_devices(checked_, c), buffer.name,
                         describe_content(content), s.tensor);
        }
    }

    void stored() {
        std::set<std::pair<int, BufferId>> seen;
        std::set<TensorId> tensors;
        for (const Program::Stored& s : checked_.program.stored) {
            const TensorId id = checked_.reference.find(s.tensor);
            const bool known = id.valid() && checked_.reference.updated[id].valid();
            if (!known || !tensors.insert(id).second) {
                sink_.report(diag::MalformedProgram, Span{}, format("`{0}` is stored twice, or is neither a parameter nor a state", s.tensor));
                continue;
            }
            const Tensor& tensor = graph_.tensors[id];
            if (tensor.kind != s.kind || tensor.init.kind != s.init.kind || tensor.init.a != s.init.a || tensor.init.b != s.init.b) {
                sink_.report(diag::MalformedProgram, tensor.span, format("`{0}` does not begin as the model says", s.tensor));
            }
            holder(s, s.stage, s.buffer, seen);
            for (const auto& copy : s.copies) {
                holder(s, copy.stage, copy.buffer, seen);
            }
        }
        for (const TensorId id : graph_.tensors.ids()) {
            if (checked_.reference.updated[id].valid() && tensors.count(id) == 0) {
                sink_.report(diag::MalformedProgram, graph_.tensors[id].span, format("`{0}` is stored nowhere", graph_.tensors[id].path));
            }
        }
        for (const Class& c : checked_.program.classes) {
            for (const BufferId id : c.buffers.ids()) {
                if (c.buffers[id].life == Life::Persistent && seen.count({c.stage, id}) == 0) {
                    sink_.report(diag::MalformedProgram, Span{}, format("`{0}` lasts over steps, but nothing stores it", c.buffers[id].name));
                }
            }
        }
    }

    void results() {
        using What = Program::Result::What;
        std::set<std::pair<What, TensorId>> wanted;
        if (graph_.loss.valid()) {
            wanted.insert({What::Loss, graph_.loss});
        }
        if (graph_.grad_norm.valid()) {
            wanted.insert({What::GradNorm, graph_.grad_norm});
        }
        for (const TensorId id : graph_.outputs) {
            wanted.insert({What::Output, id});
        }
        for (const Graph::Gradient& gradient : graph_.gradients) {
            wanted.insert({What::Gradient, gradient.gradient});
        }
        for (const Program::Result& r : checked_.program.results) {
            const TensorId id = checked_.reference.find(r.tensor);
            const Content& content = outcomes_[static_cast<size_t>(r.stage)].contents[r.buffer];
            if (wanted.erase({r.what, id}) == 0) {
                sink_.report(diag::WrongResult, Span{}, r.tensor, r.stage, "is none of the model's, or is given twice");
                continue;
            }
            const bool good = content.is_value() && content.tensor == id && !has_partial(content.layout) && !content.pending &&
                              !content.accumulating;
            if (!good) {
                sink_.report(diag::WrongResult, graph_.tensors[id].span, r.tensor, r.stage,
                             format("is read from `{0}`, which holds {1}", class_of(r.stage).buffers[r.buffer].name,
                                    describe_content(content)));
            }
        }
        for (const auto& [what, id] : wanted) {
            sink_.report(diag::WrongResult, graph_.tensors[id].span, graph_.tensors[id].path, 0, "is missing");
        }
    }

    const Checked& checked_;
    const Graph& graph_;
    const std::vector<Outcome>& outcomes_;
    Sink& sink_;
};

} // namespace

void check_outputs(const Checked& checked, Sink& sink) {
    std::vector<Outcome> outcomes;
    for (size_t i = 0; i < checked.program.classes.size(); ++i) {
        outcomes.push_back(interpret_class(checked, i, sink));
    }
    check_stage_sums(checked, outcomes, sink);
    check_message_ends(checked, outcomes, sink);
    Outputs(checked, outcomes, sink).run();
}

} // namespace sspc::check
