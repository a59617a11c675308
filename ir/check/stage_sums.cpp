// What the classes assumed of one another: sums over stages, and the two ends of messages.
#include "ir/check/stage_sums.h"

#include "ir/check/describe.h"
#include "ir/check/expr_match.h"
#include "ir/support/format.h"

namespace sspc::check {

namespace {

/// Why the collectives number `at` of two classes do not meet; empty if they do.
std::string mismatch(const StageCollective& a, const StageCollective& b) {
    if (a.kind != b.kind || a.mesh_axes != b.mesh_axes) {
        return "they are of different kinds or groups";
    }
    if (a.tensors != b.tensors || a.layouts != b.layouts) {
        return "they carry different values";
    }
    return "";
}

} // namespace

void check_stage_sums(const Checked& checked, const std::vector<Outcome>& outcomes, Sink& sink) {
    if (outcomes.empty()) {
        return;
    }
    const auto& first = outcomes[0].collectives;
    for (size_t c = 1; c < outcomes.size(); ++c) {
        const auto& other = outcomes[c].collectives;
        const size_t common = std::min(first.size(), other.size());
        for (size_t i = 0; i < common; ++i) {
            const std::string what = mismatch(first[i], other[i]);
            if (!what.empty()) {
                sink.report(diag::CollectiveMismatch, other[i].span, format("{0} and {1}: {2}", first[i].where, other[i].where, what));
                return;
            }
        }
        if (first.size() != other.size()) {
            const StageCollective& extra = first.size() > common ? first[common] : other[common];
            sink.report(diag::CollectiveMismatch, extra.span,
                        format("{0} has no counterpart on stage {1}", extra.where, first.size() > common ? c : 0));
            return;
        }
    }
    for (size_t i = 0; i < first.size(); ++i) {
        for (size_t part = 0; part < first[i].tensors.size(); ++part) {
            const TensorId tensor = first[i].tensors[part];
            const StatementId by = checked.reference.producer[tensor];
            const size_t terms = by.valid() ? terms_of(checked.reference.graph.statements[by].body).size() : 0;
            for (size_t t = 0; t < terms; ++t) {
                int count = 0;
                for (const Outcome& outcome : outcomes) {
                    const auto& has = outcome.collectives[i].terms[part];
                    count += t < has.size() && has[t] ? 1 : 0;
                }
                if (count != 1) {
                    sink.report(diag::CollectiveMismatch, first[i].span,
                                format("term {0} of `{1}` is added by {2} stages", t + 1,
                                       checked.reference.graph.tensors[tensor].path, count));
                }
            }
        }
    }
}

void check_message_ends(const Checked& checked, const std::vector<Outcome>& outcomes, Sink& sink) {
    for (const MessageId id : checked.program.messages.ids()) {
        const Message& message = checked.program.messages[id];
        const MessageEnd& sent = outcomes[static_cast<size_t>(message.from_stage)].sent[id];
        const MessageEnd& received = outcomes[static_cast<size_t>(message.to_stage)].received[id];
        if (!sent.seen || !received.seen) {
            sink.report(diag::MessageMismatch, message.span, message.name,
                        !sent.seen ? format("stage {0} never sends it", message.from_stage)
                                   : format("stage {0} never receives it", message.to_stage));
        } else if (sent.tensor != received.tensor || sent.layout != received.layout) {
            sink.report(diag::MessageMismatch, message.span, message.name,
                        format("it is sent as {0} and received as {1}", describe(checked, sent.layout),
                               describe(checked, received.layout)));
        }
    }
}

} // namespace sspc::check
