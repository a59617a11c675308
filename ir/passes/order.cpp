// Orders blocks and messages: which block each class runs when, and where it posts its sends and receives.
#include "ir/passes/order.h"

#include "ir/support/format.h"

#include <algorithm>
#include <map>
#include <set>

namespace sspc {
namespace {

using Kind = BlockCall::Kind;

Span schedule_span(const Plan& plan) {
    Span span = plan.span;
    for (const PlanStatement& statement : plan.statements)
        if (const auto* schedule = std::get_if<plan::UseSchedule>(&statement))
            span = schedule->span;
    return span;
}

std::string in_words(const BlockCall& block) {
    return format("{0}({1}, {2})", block.kind == Kind::Forward ? "F" : block.kind == Kind::Backward ? "B" : block.kind == Kind::InputGradient ? "I" : "W",
                  block.stage, block.micro);
}

bool complete(const Lanes& lanes, const Plan& plan, int stages, int micros, bool trains, Sink& sink) {
    const Span span = schedule_span(plan);
    std::set<std::pair<int, std::pair<int, int>>> seen;
    bool good = true;
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
        for (const BlockCall& block : lanes[lane]) {
            if (block.kind == Kind::InputGradient || block.kind == Kind::WeightGradient) {
                sink.report(diag::NotImplemented, span, "blocks `I` and `W`, which split the backward block").note(block.span, "the block");
                return false;
            }
            if (block.stage < 0 || block.stage >= stages || block.micro < 0 || block.micro >= micros) {
                sink.report(diag::UnknownBlock, span, in_words(block), stages, micros).note(block.span, "the block");
                return false;
            }
            if (block.stage != static_cast<int>(lane)) {
                sink.report(diag::BlockOnWrongLane, span, in_words(block), lane, block.stage, block.stage).note(block.span, "the block");
                return false;
            }
            if (!seen.insert({static_cast<int>(block.kind), {block.stage, block.micro}}).second) {
                sink.report(diag::BlockRepeated, span, in_words(block)).note(block.span, "the second one");
                good = false;
            }
        }
    }
    for (Kind kind : {Kind::Forward, Kind::Backward})
        for (int s = 0; s < stages && good && (kind == Kind::Forward || trains); ++s)
            for (int m = 0; m < micros && good; ++m)
                if (!seen.contains({static_cast<int>(kind), {s, m}})) {
                    sink.report(diag::BlockMissing, span, in_words({kind, s, m, false, {}}));
                    good = false;
                }
    return good;
}

class Simulation {
public:
    Simulation(Materialized& blocks, const Lanes& lanes, const Plan& plan, Sink& sink)
        : blocks_(blocks), lanes_(lanes), plan_(plan), sink_(sink), next_(lanes.size(), 0) {}

    bool run() {
        for (Class& device_class : classes())
            device_class.order.push_back(RunBlock{0, -1});
        while (!finished()) {
            std::vector<std::pair<int, BlockCall>> ran;
            for (size_t lane = 0; lane < lanes_.size(); ++lane) {
                if (next_[lane] >= lanes_[lane].size())
                    continue;
                const BlockCall& block = lanes_[lane][next_[lane]];
                if (missing(block).valid())
                    continue;
                ran.push_back({static_cast<int>(lane), block});
            }
            if (ran.empty())
                return stuck();
            std::vector<std::pair<MessageId, int>> messages;
            for (const auto& [lane, block] : ran) {
                ++next_[lane];
                classes()[block.stage].order.push_back(RunBlock{1 + kind_index(block), block.micro});
                for (MessageId message : blocks_.in_loop[block.stage][kind_index(block)].after)
                    messages.push_back({message, block.micro});
            }
            post(messages);
        }
        std::vector<std::pair<MessageId, int>> once;
        for (MessageId message : blocks_.before_finish)
            once.push_back({message, -1});
        post(once);
        for (Class& device_class : classes())
            device_class.order.push_back(RunBlock{3, -1});
        once.clear();
        for (MessageId message : blocks_.after_finish)
            once.push_back({message, -1});
        post(once);
        return true;
    }

private:
    std::vector<Class>& classes() { return blocks_.program.classes; }
    static int kind_index(const BlockCall& block) { return block.kind == Kind::Forward ? 0 : 1; }

    bool finished() const {
        for (size_t lane = 0; lane < lanes_.size(); ++lane)
            if (next_[lane] < lanes_[lane].size())
                return false;
        return true;
    }
    /// A message that the block waits for; invalid if it can run. A backward block also waits for its forward block.
    MessageId missing(const BlockCall& block) const {
        for (MessageId message : blocks_.in_loop[block.stage][kind_index(block)].before)
            if (!delivered_.contains({message, block.micro}))
                return message;
        return MessageId();
    }

    void post(std::vector<std::pair<MessageId, int>> messages) {
        std::stable_sort(messages.begin(), messages.end(), [&](const auto& a, const auto& b) {
            return blocks_.program.messages[a.first].from_stage < blocks_.program.messages[b.first].from_stage;
        });
        std::map<int, std::vector<Post>> posts;
        for (const auto& [id, micro] : messages) {
            const Message& message = blocks_.program.messages[id];
            posts[message.from_stage].push_back({Post::Kind::Send, id, blocks_.ends[id].from, micro});
            posts[message.to_stage].push_back({Post::Kind::Receive, id, blocks_.ends[id].to, micro});
            delivered_.insert({id, micro});
        }
        for (auto& [stage, list] : posts) {
            const bool grouped = crosses(list);
            classes()[stage].order.push_back(Posts{std::move(list), grouped});
        }
    }
    bool crosses(const std::vector<Post>& list) const {
        std::set<int> sent_to, received_from;
        for (const Post& post : list) {
            const Message& message = blocks_.program.messages[post.message];
            if (post.kind == Post::Kind::Send)
                sent_to.insert(message.to_stage);
            else
                received_from.insert(message.from_stage);
        }
        return std::any_of(sent_to.begin(), sent_to.end(), [&](int s) { return received_from.contains(s); });
    }

    bool stuck() {
        std::string why;
        Diagnostic* report = nullptr;
        for (size_t lane = 0; lane < lanes_.size(); ++lane) {
            if (next_[lane] >= lanes_[lane].size())
                continue;
            const BlockCall& block = lanes_[lane][next_[lane]];
            const Message& message = blocks_.program.messages[missing(block)];
            const std::string text = format("`{0}` of lane {1} waits for `{2}` from stage {3}", in_words(block), lane, message.tensor, message.from_stage);
            if (!report)
                report = &sink_.report(diag::ScheduleStuck, schedule_span(plan_), text);
            report->note(block.span, text);
        }
        return false;
    }

    Materialized& blocks_;
    const Lanes& lanes_;
    const Plan& plan_;
    Sink& sink_;
    std::vector<size_t> next_;
    std::set<std::pair<MessageId, int>> delivered_;
};

} // namespace

std::optional<Lanes> lanes_of(const Plan& plan, int stages, int micros, bool trains, Sink& sink) {
    const Lanes* given = nullptr;
    for (const PlanStatement& statement : plan.statements)
        if (const auto* schedule = std::get_if<plan::UseSchedule>(&statement))
            given = &schedule->lanes;
    Lanes lanes(stages);
    if (given) {
        lanes = *given;
        if (!trains) // a model without `minimize` has no backward blocks
            for (auto& lane : lanes)
                std::erase_if(lane, [](const BlockCall& block) { return block.kind != Kind::Forward; });
        if (!complete(lanes, plan, stages, micros, trains, sink))
            return std::nullopt;
        lanes.resize(stages);
        return lanes;
    }
    for (int s = 0; s < stages; ++s)
        for (int phase = 0; phase < 2; ++phase)
            for (int m = 0; m < micros; ++m) {
                if (stages == 1 && trains && phase == 0) {
                    lanes[s].push_back({Kind::Forward, s, m, false, {}});
                    lanes[s].push_back({Kind::Backward, s, m, false, {}});
                } else if (stages > 1 ? (phase == 0 || trains) : (phase == 0 && !trains)) {
                    lanes[s].push_back({phase == 0 ? Kind::Forward : Kind::Backward, s, m, false, {}});
                }
            }
    return lanes;
}

std::optional<Program> order(Materialized blocks, const Lanes& lanes, const Plan& plan, Sink& sink) {
    for (size_t lane = 0; lane < lanes.size(); ++lane) { // forward before backward of the same micro-batch
        std::set<int> forward;
        for (const BlockCall& block : lanes[lane]) {
            if (block.kind == Kind::Forward)
                forward.insert(block.micro);
            else if (!forward.contains(block.micro)) {
                sink.report(diag::ScheduleStuck, schedule_span(plan), format("`{0}` stands before `F({1}, {2})`", in_words(block), block.stage, block.micro))
                    .note(block.span, "the block");
                return std::nullopt;
            }
        }
    }
    if (!Simulation(blocks, lanes, plan, sink).run())
        return std::nullopt;
    return std::move(blocks.program);
}

} // namespace sspc
