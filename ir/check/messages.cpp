// Sends and receives meet in one order on both ends, and no class waits for another that waits for it.
//
// A class is taken as one sequence, in program order: events only ever make a stream wait for what stands before, so an order in which every
// post can complete is an order in which the streams can. Two semantics: buffered (a send never waits), and rendezvous (both ends wait; the
// posts of a group are all begun before any must complete, and a step that is not grouped goes post by post).
#include "ir/check/checks.h"

#include "ir/check/describe.h"
#include "ir/support/format.h"

#include <algorithm>
#include <deque>
#include <map>

namespace sspc::check {

namespace {

enum class Semantics { Buffered, Rendezvous };

/// Something that a class does with others.
struct Meeting {
    enum class Kind { Send, Receive, Collective } kind = Kind::Send;
    MessageId message;
    int micro = -1;
    int group = 0;     ///< meetings of one number are begun together
    size_t step = 0;   ///< of the class's order
    std::string what;  ///< of a collective
};

class MessageCheck {
public:
    MessageCheck(const Checked& checked, Sink& sink) : checked_(checked), program_(checked.program), sink_(sink) {}

    void run() {
        for (const Class& c : program_.classes) {
            meetings_.push_back(collect(c));
        }
        counts();
        if (!sink_.has_errors()) {
            orders();
        }
        if (!sink_.has_errors()) {
            simulate(Semantics::Buffered);
        }
        if (!sink_.has_errors()) {
            simulate(Semantics::Rendezvous);
        }
    }

private:
    std::vector<Meeting> collect(const Class& c) const {
        std::vector<Meeting> list;
        int group = 0;
        std::vector<std::vector<std::string>> collectives;
        for (const Block& block : c.blocks) {
            collectives.push_back(over_stages(c, block));
        }
        for (size_t step = 0; step < c.order.size(); ++step) {
            if (const auto* run = std::get_if<RunBlock>(&c.order[step])) {
                for (const std::string& what : collectives[static_cast<size_t>(run->block)]) {
                    list.push_back({Meeting::Kind::Collective, {}, run->micro, ++group, step, what});
                }
            } else if (const auto* posts = std::get_if<Posts>(&c.order[step])) {
                ++group;
                for (const Post& p : posts->posts) {
                    group += posts->grouped ? 0 : 1;
                    list.push_back({p.kind == Post::Kind::Send ? Meeting::Kind::Send : Meeting::Kind::Receive, p.message, p.micro,
                                    group, step, ""});
                }
            }
        }
        return list;
    }
    std::vector<std::string> over_stages(const Class& c, const Block& block) const {
        std::vector<std::string> found;
        for (const Instruction& i : block.instructions) {
            const auto* m = std::get_if<Communicate>(&i);
            if (m != nullptr && checked_.stage_axis >= 0 &&
                std::find(m->mesh_axes.begin(), m->mesh_axes.end(), checked_.stage_axis) != m->mesh_axes.end()) {
                found.push_back(format("{0} along {1}", describe(c, i), describe_axes(program_.mesh, m->mesh_axes)));
            }
        }
        return found;
    }

    std::string name(MessageId id, int micro) const {
        const std::string& text = program_.messages[id].name;
        return micro < 0 ? text : format("{0}, micro-batch {1}", text, micro);
    }

    /// Each message goes once for each micro-batch, or once a step, at either end.
    void counts() {
        for (size_t c = 0; c < meetings_.size(); ++c) {
            std::map<std::tuple<Meeting::Kind, MessageId, int>, int> count;
            for (const Meeting& m : meetings_[c]) {
                if (m.kind != Meeting::Kind::Collective) {
                    ++count[{m.kind, m.message, m.micro}];
                }
            }
            for (const auto& [key, times] : count) {
                const auto& [kind, id, micro] = key;
                const Message& message = program_.messages[id];
                if (times > 1 || (micro >= 0) != message.each_micro) {
                    sink_.report(diag::MessageMismatch, message.span, name(id, micro),
                                 format("stage {0} {1} it {2} times", c, kind == Meeting::Kind::Send ? "sends" : "receives", times));
                }
            }
            for (const MessageId id : program_.messages.ids()) {
                const Message& message = program_.messages[id];
                for (const auto& [kind, stage] : {std::pair(Meeting::Kind::Send, message.from_stage),
                                                  std::pair(Meeting::Kind::Receive, message.to_stage)}) {
                    if (stage != static_cast<int>(c)) {
                        continue;
                    }
                    for (int micro = message.each_micro ? 0 : -1; micro < (message.each_micro ? checked_.micros : 0); ++micro) {
                        if (count.count({kind, id, micro}) == 0) {
                            sink_.report(diag::MessageMismatch, message.span, name(id, micro),
                                         format("stage {0} never {1} it", stage, kind == Meeting::Kind::Send ? "sends" : "receives"));
                            break;
                        }
                    }
                }
            }
        }
    }

    /// Between two stages messages arrive in the order in which they are sent.
    void orders() {
        std::map<std::pair<int, int>, std::array<std::vector<const Meeting*>, 2>> pairs;
        for (const auto& list : meetings_) {
            for (const Meeting& m : list) {
                if (m.kind != Meeting::Kind::Collective) {
                    const Message& message = program_.messages[m.message];
                    pairs[{message.from_stage, message.to_stage}][m.kind == Meeting::Kind::Send ? 0 : 1].push_back(&m);
                }
            }
        }
        for (const auto& [stages, ends] : pairs) {
            for (size_t i = 0; i < ends[0].size() && i < ends[1].size(); ++i) {
                if (ends[0][i]->message != ends[1][i]->message || ends[0][i]->micro != ends[1][i]->micro) {
                    sink_.report(diag::MessageOrder, program_.messages[ends[0][i]->message].span, stages.second,
                                 name(ends[1][i]->message, ends[1][i]->micro), stages.first,
                                 name(ends[0][i]->message, ends[0][i]->micro));
                    return;
                }
            }
        }
    }

    // simulation

    struct Progress {
        size_t next = 0;         ///< first meeting of the running group
        std::vector<bool> done;  ///< of each meeting
    };
    bool begun(size_t c, size_t i) const {
        return progress_[c].next < meetings_[c].size() && meetings_[c][i].group <= meetings_[c][progress_[c].next].group;
    }

    void simulate(Semantics semantics) {
        progress_.assign(meetings_.size(), {});
        std::map<std::tuple<Meeting::Kind, MessageId, int>, std::pair<size_t, size_t>> at;
        std::vector<std::vector<size_t>> collectives(meetings_.size());
        for (size_t c = 0; c < meetings_.size(); ++c) {
            progress_[c].done.assign(meetings_[c].size(), false);
            for (size_t i = 0; i < meetings_[c].size(); ++i) {
                const Meeting& m = meetings_[c][i];
                at[{m.kind, m.message, m.micro}] = {c, i};
                if (m.kind == Meeting::Kind::Collective) {
                    collectives[c].push_back(i);
                }
            }
        }
        collectives_ = collectives;
        bool moved = true;
        while (moved) {
            moved = false;
            for (size_t c = 0; c < meetings_.size(); ++c) {
                while (advance(c, semantics, at)) {
                    moved = true;
                }
            }
        }
        for (size_t c = 0; c < meetings_.size(); ++c) {
            if (progress_[c].next < meetings_[c].size()) {
                report(semantics, at);
                return;
            }
        }
    }

    using Ends = std::map<std::tuple<Meeting::Kind, MessageId, int>, std::pair<size_t, size_t>>;

    /// The meetings, as (class, index), that must have begun (or be done) before this one can complete.
    std::vector<std::pair<size_t, size_t>> partners(size_t c, size_t i, Semantics semantics, const Ends& at) const {
        const Meeting& m = meetings_[c][i];
        std::vector<std::pair<size_t, size_t>> found;
        if (m.kind == Meeting::Kind::Collective) {
            const auto& mine = collectives_[c];
            const size_t number = static_cast<size_t>(std::find(mine.begin(), mine.end(), i) - mine.begin());
            for (size_t other = 0; other < meetings_.size(); ++other) {
                if (other != c && number < collectives_[other].size()) {
                    found.emplace_back(other, collectives_[other][number]);
                }
            }
            return found;
        }
        if (m.kind == Meeting::Kind::Send && semantics == Semantics::Buffered) {
            return found;
        }
        const auto kind = m.kind == Meeting::Kind::Send ? Meeting::Kind::Receive : Meeting::Kind::Send;
        const auto other = at.find({kind, m.message, m.micro});
        if (other != at.end()) {
            found.push_back(other->second);
        }
        return found;
    }

    bool advance(size_t c, Semantics semantics, const Ends& at) {
        Progress& p = progress_[c];
        if (p.next >= meetings_[c].size()) {
            return false;
        }
        const int group = meetings_[c][p.next].group;
        size_t end = p.next;
        bool all = true, moved = false;
        for (; end < meetings_[c].size() && meetings_[c][end].group == group; ++end) {
            if (!p.done[end]) {
                const auto others = partners(c, end, semantics, at);
                const bool ready = std::all_of(others.begin(), others.end(), [&](const auto& o) {
                    return progress_[o.first].done[o.second] || begun(o.first, o.second);
                });
                p.done[end] = ready;
                moved = moved || ready;
            }
            all = all && p.done[end];
        }
        if (all) {
            p.next = end;
            return true;
        }
        return moved;
    }

    std::string describe_meeting(size_t c, size_t i) const {
        const Meeting& m = meetings_[c][i];
        const Class& device_class = program_.classes[c];
        std::string after = "the beginning";
        for (size_t step = 0; step <= m.step && step < device_class.order.size(); ++step) {
            if (const auto* run = std::get_if<RunBlock>(&device_class.order[step])) {
                after = "`" + describe_run(device_class, *run) + "`";
            }
        }
        const std::string what = m.kind == Meeting::Kind::Collective
                                     ? "`" + m.what + "`"
                                     : format("{0} of `{1}`", m.kind == Meeting::Kind::Send ? "send" : "receive", name(m.message, m.micro));
        return format("stage {0} after {1} at its {2}", c, after, what);
    }

    /// The shortest chain of classes that wait for one another.
    void report(Semantics semantics, const Ends& at) {
        struct Edge {
            size_t mine = 0, other = 0, theirs = 0;
        };
        std::vector<std::vector<Edge>> waits(meetings_.size());
        for (size_t c = 0; c < meetings_.size(); ++c) {
            const Progress& p = progress_[c];
            if (p.next >= meetings_[c].size()) {
                continue;
            }
            for (size_t i = p.next; i < meetings_[c].size() && meetings_[c][i].group == meetings_[c][p.next].group; ++i) {
                for (const auto& [other, theirs] : partners(c, i, semantics, at)) {
                    if (!p.done[i] && !progress_[other].done[theirs] && !begun(other, theirs)) {
                        waits[c].push_back({i, other, theirs});
                    }
                }
            }
        }
        std::vector<std::pair<size_t, Edge>> best;
        for (size_t start = 0; start < waits.size(); ++start) {
            std::vector<std::optional<std::pair<size_t, Edge>>> from(waits.size());
            std::deque<size_t> queue{start};
            while (!queue.empty()) {
                const size_t c = queue.front();
                queue.pop_front();
                for (const Edge& edge : waits[c]) {
                    if (!from[edge.other]) {
                        from[edge.other] = std::pair(c, edge);
                        queue.push_back(edge.other);
                    }
                }
            }
            if (!from[start]) {
                continue;
            }
            std::vector<std::pair<size_t, Edge>> cycle;
            size_t to = start;
            do {
                cycle.push_back(*from[to]);
                to = from[to]->first;
            } while (to != start);
            if (best.empty() || cycle.size() < best.size()) {
                best.assign(cycle.rbegin(), cycle.rend());
            }
        }
        std::string text;
        for (const auto& [c, edge] : best) {
            text += format("{0}{1} waits for stage {2}", text.empty() ? "" : "; ", describe_meeting(c, edge.mine), edge.other);
        }
        if (best.empty()) {
            for (size_t c = 0; c < waits.size(); ++c) {
                if (progress_[c].next < meetings_[c].size()) {
                    text = format("{0} waits for ever", describe_meeting(c, progress_[c].next));
                }
            }
        }
        const Meeting* first = best.empty() ? nullptr : &meetings_[best[0].first][best[0].second.mine];
        const Span span = first != nullptr && first->message.valid() ? program_.messages[first->message].span : Span{};
        sink_.report(diag::Deadlock, span, semantics == Semantics::Buffered ? "even if sends are buffered" : "as a send waits for its receive",
                     text);
    }

    const Checked& checked_;
    const Program& program_;
    Sink& sink_;
    std::vector<std::vector<Meeting>> meetings_; ///< of each class, in order
    std::vector<std::vector<size_t>> collectives_;
    std::vector<Progress> progress_;
};

} // namespace

void check_messages(const Checked& checked, Sink& sink) {
    Sink found;
    MessageCheck(checked, found).run();
    for (Diagnostic& diagnostic : found.diagnostics()) {
        sink.add(std::move(diagnostic));
    }
}

} // namespace sspc::check
