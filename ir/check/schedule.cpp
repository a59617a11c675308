// Each class runs start, then every block of its lane once for each micro-batch in the plan's order, then finish; tasks stand on the
// stages that the plan names.
#include "ir/check/checks.h"

#include "ir/check/describe.h"
#include "ir/support/format.h"

#include <algorithm>

namespace sspc::check {

namespace {

BlockCall::Kind call_kind(Block::Kind kind) {
    switch (kind) {
    case Block::Kind::Backward:
        return BlockCall::Kind::Backward;
    case Block::Kind::InputGradient:
        return BlockCall::Kind::InputGradient;
    case Block::Kind::WeightGradient:
        return BlockCall::Kind::WeightGradient;
    default:
        return BlockCall::Kind::Forward;
    }
}

class ScheduleCheck {
public:
    ScheduleCheck(const Checked& checked, Sink& sink) : checked_(checked), sink_(sink) {}

    void run() {
        const plan::UseSchedule* schedule = nullptr;
        for (const PlanStatement& statement : checked_.plan.statements) {
            if (const auto* s = std::get_if<plan::UseSchedule>(&statement)) {
                schedule = s;
            }
        }
        Lanes lanes;
        for (const Class& c : checked_.program.classes) {
            lanes.push_back(lane_of(c, schedule != nullptr ? schedule->span : Span{}));
        }
        check_lanes(lanes, static_cast<int>(checked_.program.classes.size()), checked_.micros, sink_);
        if (schedule != nullptr) {
            compare(lanes, *schedule);
        }
        needed_blocks(lanes);
        explicit_stages();
    }

private:
    std::vector<BlockCall> lane_of(const Class& c, const Span& span) {
        std::vector<BlockCall> lane;
        bool started = false, finished = false;
        const auto outside = [&](const RunBlock& run, const char* why) {
            sink_.report(diag::BlockOutsideStep, span, describe_devices(checked_, c), describe_run(c, run), why);
        };
        size_t starts = 0, finishes = 0;
        for (const Block& block : c.blocks) {
            starts += block.kind == Block::Kind::Start ? 1 : 0;
            finishes += block.kind == Block::Kind::Finish ? 1 : 0;
            if (block.stage != c.stage) {
                sink_.report(diag::MalformedProgram, span, format("block `{0}` is of another stage", block.name));
            }
        }
        for (const OrderStep& step : c.order) {
            const auto* run = std::get_if<RunBlock>(&step);
            if (run == nullptr) {
                continue;
            }
            const Block& block = c.blocks[static_cast<size_t>(run->block)];
            if (block.kind == Block::Kind::Start || block.kind == Block::Kind::Finish) {
                const bool start = block.kind == Block::Kind::Start;
                if (run->micro >= 0) {
                    outside(*run, "runs it once, for no micro-batch");
                }
                if (start ? started || !lane.empty() || finished : finished) {
                    outside(*run, "begins and ends once");
                }
                (start ? started : finished) = true;
                continue;
            }
            if (run->micro < 0) {
                outside(*run, "runs it for each micro-batch");
                continue;
            }
            if (finished || (starts > 0 && !started)) {
                outside(*run, finished ? "has ended" : "has not begun");
            }
            lane.push_back({call_kind(block.kind), block.stage, run->micro, false, {}});
        }
        if ((starts > 0 && !started) || (finishes > 0 && !finished)) {
            sink_.report(diag::BlockMissing, span, !started && starts > 0 ? "start" : "finish");
        }
        return lane;
    }

    void compare(const Lanes& lanes, const plan::UseSchedule& schedule) {
        for (size_t s = 0; s < lanes.size(); ++s) {
            std::vector<BlockCall> planned;
            if (s < schedule.lanes.size()) {
                planned = schedule.lanes[s];
            }
            if (!checked_.reference.trains) {
                std::erase_if(planned, [](const BlockCall& b) { return b.kind != BlockCall::Kind::Forward; });
            }
            const size_t count = std::max(planned.size(), lanes[s].size());
            for (size_t i = 0; i < count; ++i) {
                const bool here = i < lanes[s].size(), there = i < planned.size();
                if (here && there && lanes[s][i] == planned[i]) {
                    continue;
                }
                auto& report = sink_.report(diag::NotThePlansOrder, schedule.span,
                                            describe_devices(checked_, checked_.program.classes[s]),
                                            here ? to_token(lanes[s][i]) : "nothing", there ? to_token(planned[i]) : "nothing");
                if (there) {
                    report.note(planned[i].span, "the schedule's block");
                }
                break;
            }
        }
    }

    /// A model that is trained runs backward blocks.
    void needed_blocks(const Lanes& lanes) {
        if (!checked_.reference.trains) {
            return;
        }
        for (size_t s = 0; s < lanes.size(); ++s) {
            const bool any = std::any_of(lanes[s].begin(), lanes[s].end(), [](const BlockCall& b) { return b.kind != BlockCall::Kind::Forward; });
            if (!any) {
                sink_.report(diag::BlockMissing, Span{}, format("B({0}, 0)", s));
            }
        }
    }

    void explicit_stages() {
        for (const PlanStatement& statement : checked_.plan.statements) {
            const auto* on = std::get_if<plan::StageOn>(&statement);
            if (on == nullptr) {
                continue;
            }
            for (const Class& c : checked_.program.classes) {
                for (const Block& block : c.blocks) {
                    for (const Instruction& instruction : block.instructions) {
                        const auto* compute = std::get_if<Compute>(&instruction);
                        if (compute != nullptr && compute->phase == Phase::Forward && block.kind == Block::Kind::Forward &&
                            c.stage != on->coordinate && matches_any(on->tasks, compute->path)) {
                            sink_.report(diag::WrongStage, on->span,
                                         format("`{0}` on {1}", compute->path, describe_devices(checked_, c)), on->coordinate);
                        }
                    }
                }
            }
        }
    }

    const Checked& checked_;
    Sink& sink_;
};

} // namespace

void check_schedule(const Checked& checked, Sink& sink) { ScheduleCheck(checked, sink).run(); }

} // namespace sspc::check
