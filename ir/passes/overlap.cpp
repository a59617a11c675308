// `overlap A with comm(B) in N chunks`: a compute and the message of its value run in chunks, so that one can hide the other.
#include "ir/passes/overlap.h"

#include <algorithm>

namespace sspc {
namespace {

bool selects(const Selector& selector, const Compute& compute, bool messages) {
    using Of = Selector::Of;
    const Of forward = messages ? Of::Messages : Of::Tasks;
    const Of backward = messages ? Of::MessagesOfGradient : Of::Gradient;
    const bool kind = (selector.of == forward && compute.phase == Phase::Forward) ||
                      (selector.of == backward && compute.phase == Phase::Backward);
    return kind && matches(selector, compute.path);
}

int64_t local_size(const Program& program, const Layout& layout, AxisId axis) {
    const std::vector<int> first(program.mesh.axes.size(), 0); // the first part is the largest
    return region_of(program.axes[axis], axis, program.mesh, layout, first).size();
}

/// The first axis of the value that the move leaves as it is and that has `chunks` elements on a device; else the longest such axis.
AxisId chunk_axis(const Program& program, const Buffer& value, const Communicate& message, int chunks) {
    AxisId best;
    int64_t best_size = 1;
    for (AxisId axis : value.axes) {
        bool same = true;
        for (size_t m = 0; m < program.mesh.axes.size(); ++m) {
            const Placement& from = message.parts[0].from_layout[m];
            const Placement& to = message.parts[0].to_layout[m];
            same &= (from.is_sharded() && from.axis == axis) == (to.is_sharded() && to.axis == axis);
        }
        if (!same)
            continue;
        const int64_t size = local_size(program, message.parts[0].from_layout, axis);
        if (size >= chunks)
            return axis;
        if (size > best_size) {
            best = axis;
            best_size = size;
        }
    }
    return best;
}

} // namespace

std::vector<Instruction> overlapped(const Plan& plan, const Program& program, const Class& device_class,
                                    std::vector<Instruction> code, Sink& sink) {
    for (const PlanStatement& statement : plan.statements) {
        const auto* overlap = std::get_if<plan::Overlap>(&statement);
        if (!overlap || overlap->chunks < 2)
            continue;
        const auto is_message = [](const Selector& s) { return s.of == Selector::Of::Messages || s.of == Selector::Of::MessagesOfGradient; };
        if (overlap->with.size() != 2 || is_message(overlap->with[0]) || !is_message(overlap->with[1])) {
            sink.report(diag::NotImplemented, overlap->span, "`overlap` of anything but a task with its message, `overlap A with comm(A) in N chunks`");
            return code;
        }
        std::vector<Instruction> result;
        std::vector<bool> done(code.size(), false);
        for (size_t i = 0; i < code.size(); ++i) {
            if (done[i])
                continue;
            auto* compute = std::get_if<Compute>(&code[i]);
            size_t at = code.size();
            if (compute && !compute->accumulate && compute->scatter.empty() && !compute->chunk &&
                selects(overlap->with[0], *compute, false) && selects(overlap->with[1], *compute, true))
                for (size_t j = i + 1; j < code.size() && at == code.size(); ++j)
                    if (auto* message = std::get_if<Communicate>(&code[j]))
                        if (message->parts.size() == 1 && message->parts[0].from == compute->out && !message->chunk &&
                            !message->accumulate && !is_local(message->kind))
                            at = j;
            AxisId axis;
            if (at < code.size())
                axis = chunk_axis(program, device_class.buffers[compute->out], std::get<Communicate>(code[at]), overlap->chunks);
            if (!axis.valid()) {
                result.push_back(std::move(code[i]));
                continue;
            }
            const Communicate message = std::get<Communicate>(code[at]);
            const int64_t size = local_size(program, message.parts[0].from_layout, axis);
            const int count = static_cast<int>(std::min<int64_t>(overlap->chunks, size));
            for (int c = 0; c < count; ++c) {
                Compute part = *compute;
                part.chunk = Chunk{axis, c, count};
                Communicate sent = message;
                sent.chunk = part.chunk;
                sent.span = overlap->span;
                sent.bytes = message.bytes / count + (c < message.bytes % count);
                result.push_back(std::move(part));
                result.push_back(std::move(sent));
            }
            done[at] = true;
        }
        code = std::move(result);
    }
    return code;
}

} // namespace sspc
