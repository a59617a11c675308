// sspc schedule: draws, exports or checks the order of a pipeline's blocks.
#include "backend/report/timeline.h"
#include "ir/check/check.h"
#include "sspc/session.h"

#include <memory>

namespace sspc {

namespace {

struct Wish {
    bool csv = false;
    std::string check; ///< a CSV file
};

/// The lanes of the plan's schedule, or the order that the compiled program has.
std::optional<Lanes> lanes_of(Session& session) {
    if (!session.compile()) {
        return std::nullopt;
    }
    Lanes lanes;
    for (const Class& device_class : session.compiled->program.classes) {
        lanes.emplace_back();
        for (const OrderStep& step : device_class.order) {
            const auto* run = std::get_if<RunBlock>(&step);
            if (run == nullptr) {
                continue;
            }
            const Block& block = device_class.blocks[static_cast<size_t>(run->block)];
            BlockCall call;
            call.stage = block.stage;
            call.micro = std::max(run->micro, 0);
            switch (block.kind) {
            case Block::Kind::Forward:
                call.kind = BlockCall::Kind::Forward;
                break;
            case Block::Kind::Backward:
                call.kind = BlockCall::Kind::Backward;
                break;
            case Block::Kind::InputGradient:
                call.kind = BlockCall::Kind::InputGradient;
                break;
            case Block::Kind::WeightGradient:
                call.kind = BlockCall::Kind::WeightGradient;
                break;
            case Block::Kind::Start:
            case Block::Kind::Finish:
                continue;
            }
            lanes.back().push_back(call);
        }
    }
    return lanes;
}

int check_csv(Session& session, const std::string& csv_file) {
    const auto text = read_text(csv_file, session.sink);
    if (!text || !session.compile()) {
        return session.finish();
    }
    const FileId file = session.sources.add_file(csv_file, *text);
    const auto lanes = backend::parse_csv(file, session.sources.text(file), session.sink);
    if (lanes) {
        const Program& program = session.compiled->program;
        check_lanes(*lanes, static_cast<int>(program.classes.size()), micro_count(program),
                    session.sink);
    }
    if (session.options.json) {
        const int printed = session.print(session.check_document());
        return printed != Fine ? printed : session.sink.has_errors() ? InputHasErrors : Fine;
    }
    const int status = session.finish();
    return status != Fine || session.options.quiet
               ? status
               : session.print(csv_file + " is a schedule of plan `" +
                               session.compiled->plan.name + "`\n");
}

int schedule(Session& session, const Wish& wish) {
    if (!wish.check.empty()) {
        return check_csv(session, wish.check);
    }
    const auto lanes = lanes_of(session);
    const int status = session.finish();
    if (!lanes) {
        return status;
    }
    return session.print(wish.csv               ? backend::to_csv(*lanes)
                         : session.options.json ? backend::lanes_json(*lanes)
                                                : backend::timeline_text(
                                                      backend::time_lanes(*lanes)));
}

} // namespace

Action declare_schedule(CLI::App& app, Options& options) {
    const auto wish = std::make_shared<Wish>();
    add_file(app, options);
    add_plan_options(app, options);
    app.add_flag("--csv", wish->csv, "one line a rank, with the tokens of PyTorch's pipelining");
    app.add_option("--check", wish->check, "is this CSV file a schedule of the plan?")
        ->type_name("FILE");
    return [wish](Session& session) { return schedule(session, *wish); };
}

} // namespace sspc
