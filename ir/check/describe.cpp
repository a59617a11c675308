// Words for messages of the checker.
#include "ir/check/describe.h"

#include "ir/support/format.h"
#include "ir/support/match.h"

namespace sspc::check {

namespace {

std::string name_of(const Class& c, BufferId id) { return c.buffers.contains(id) ? c.buffers[id].name : "?"; }

} // namespace

std::string describe(const Checked& checked, const Layout& layout) {
    std::string text;
    for (size_t i = 0; i < layout.size() && i < checked.program.mesh.axes.size(); ++i) {
        if (!layout[i].is_replicated()) {
            text += format("{0}{1}: {2}", text.empty() ? "" : ", ", checked.program.mesh.axes[i].name,
                           to_text(layout[i], checked.program.axes));
        }
    }
    return text.empty() ? "whole" : "{" + text + "}";
}

std::string describe(const Class& c, const Instruction& instruction) {
    return std::visit(
        Match{[&](const Compute& x) { return "compute " + x.path; },
              [&](const Communicate& x) {
                  return format("{0} of {1}", sspc::name_of(x.kind), x.parts.empty() ? "nothing" : name_of(c, x.parts[0].from));
              },
              [&](const Load& x) { return "load " + name_of(c, x.out); },
              [&](const Fill& x) { return "fill " + name_of(c, x.out); },
              [&](const Copy& x) { return "copy to " + name_of(c, x.to); },
              [&](const Allocate& x) { return "allocate " + name_of(c, x.buffer); },
              [&](const Free& x) { return "free " + name_of(c, x.buffer); },
              [&](const Record& x) { return format("record {0}", x.event.value); },
              [&](const Wait& x) { return format("wait {0}", x.event.value); }},
        instruction);
}

std::string describe_devices(const Checked& checked, const Class& c) {
    return checked.stage_axis >= 0 ? format("the devices of stage {0}", c.stage) : "every device";
}

std::string describe_run(const Class& c, const RunBlock& run) {
    const bool known = run.block >= 0 && static_cast<size_t>(run.block) < c.blocks.size();
    const std::string name = known ? c.blocks[static_cast<size_t>(run.block)].name : "?";
    return run.micro < 0 ? name : format("{0}, micro-batch {1}", name, run.micro);
}

Span span_of(const Instruction& instruction) {
    if (const auto* compute = std::get_if<Compute>(&instruction)) {
        return compute->span;
    }
    if (const auto* communicate = std::get_if<Communicate>(&instruction)) {
        return communicate->span.valid() ? communicate->span : communicate->model_span;
    }
    return {};
}

std::string describe_axes(const Mesh& mesh, const std::vector<int>& axes) {
    std::string text;
    for (const int axis : axes) {
        const bool known = axis >= 0 && static_cast<size_t>(axis) < mesh.axes.size();
        text += (text.empty() ? "" : ", ") + (known ? mesh.axes[static_cast<size_t>(axis)].name : "?");
    }
    return text;
}

} // namespace sspc::check
