// Carries out a schedule: for each lane the blocks that it runs, in order.
#include "frontend/elaborate/elaborator.h"

#include "ir/support/format.h"
#include "ir/support/match.h"

#include <algorithm>
#include <set>

namespace sspc::elaboration {

namespace {

constexpr size_t most_blocks = 4'000'000;

struct Run {
    Elaborator& elaborator;
    Lanes lanes;
    std::set<int64_t> described;
    std::vector<BlockCall>* lane = nullptr;
    size_t count = 0;

    void body(const std::vector<syntax::ScheduleStatement>& statements) {
        for (const syntax::ScheduleStatement& s : statements) {
            if (count > most_blocks) {
                return;
            }
            std::visit(Match{[&](const syntax::Lane& e) { run_lane(e); },
                             [&](const syntax::RunBlocks& e) { run_blocks(e, s.span); },
                             [&](const syntax::Let& e) { elaborator.run_let(e); },
                             [&](const syntax::For<syntax::ScheduleStatement>& e) {
                                 elaborator.run_for(e, [this](const auto& inner) { body(inner); });
                             },
                             [&](const syntax::If<syntax::ScheduleStatement>& e) {
                                 elaborator.run_if(e, [this](const auto& inner) { body(inner); });
                             }},
                       s.kind);
        }
    }

    void run_lane(const syntax::Lane& e) {
        if (lane != nullptr) {
            elaborator.sink().report(diag::NotHere, e.variable.span, "`lane`", "a lane");
            return;
        }
        syntax::For<syntax::ScheduleStatement> loop{e.variable, e.range, e.body};
        elaborator.run_for(loop, [&](const auto& inner) {
            const auto at = elaborator.integer_of(
                std::make_shared<const syntax::Expr>(syntax::Expr{syntax::NameRef{e.variable.text}, e.variable.span}),
                "a lane");
            if (!at || *at < 0 || *at > 65536) {
                elaborator.sink().report(diag::SizeOutOfRange, e.range.span, "a lane", at.value_or(-1), 0);
                return;
            }
            if (!described.insert(*at).second) {
                elaborator.sink().report(diag::LaneTwice, e.range.span, *at);
                return;
            }
            if (lanes.size() <= static_cast<size_t>(*at)) {
                lanes.resize(static_cast<size_t>(*at) + 1);
            }
            lane = &lanes[static_cast<size_t>(*at)];
            body(inner);
            lane = nullptr;
        });
    }

    void run_blocks(const syntax::RunBlocks& e, const Span& span) {
        if (lane == nullptr) {
            elaborator.sink().report(diag::NotHere, span, "a block", "a schedule outside a `lane`");
            return;
        }
        for (size_t i = 0; i < e.blocks.size(); ++i) {
            if (auto block = call(e.blocks[i])) {
                block->pairs_with_next = i + 1 < e.blocks.size();
                lane->push_back(*block);
                if (++count == most_blocks + 1) {
                    elaborator.sink().report(diag::BadConstant, span, format("a schedule of more than {0} blocks", most_blocks));
                }
            }
        }
    }

    std::optional<BlockCall> call(const syntax::NamedCall& e) {
        BlockCall block;
        block.span = e.span;
        const std::string& name = e.name.text;
        if (name == "F") {
            block.kind = BlockCall::Kind::Forward;
        } else if (name == "B") {
            block.kind = BlockCall::Kind::Backward;
        } else if (name == "I") {
            block.kind = BlockCall::Kind::InputGradient;
        } else if (name == "W") {
            block.kind = BlockCall::Kind::WeightGradient;
        } else {
            elaborator.sink().report(diag::NotImplemented, e.name.span, format("the block `{0}` in a schedule", name))
                .help("known are `F(stage, micro)`, `B`, `I` and `W`");
            return std::nullopt;
        }
        std::vector<int> numbers;
        for (const syntax::Argument& arg : e.args) {
            if (arg.name) {
                elaborator.sink().report(diag::NotImplemented, arg.span, format("`{0}:` of a block", arg.name->text));
                return std::nullopt;
            }
            const auto number = elaborator.integer_of(arg.value, "a stage or micro-batch");
            if (!number) {
                return std::nullopt;
            }
            if (*number < 0 || *number > 1'000'000) {
                elaborator.sink().report(diag::SizeOutOfRange, arg.span, numbers.empty() ? "a stage" : "a micro-batch", *number, 0);
                return std::nullopt;
            }
            numbers.push_back(static_cast<int>(*number));
        }
        if (numbers.size() != 2) {
            elaborator.sink().report(diag::TooManyArguments, e.span, name, "a stage and a micro-batch", format("{0} are", numbers.size()));
            return std::nullopt;
        }
        block.stage = numbers[0];
        block.micro = numbers[1];
        return block;
    }
};

} // namespace

std::optional<Lanes> evaluate_schedule(Elaborator& elaborator, const Found<syntax::Schedule>& found,
                                       const syntax::NamedCall& call, const std::map<std::string, int64_t>& known,
                                       const std::vector<std::string>& unknown) {
    const syntax::Schedule& schedule = *found.declaration;
    Sink& sink = elaborator.sink();
    Frame frame;
    frame.file = found.file;
    frame.name = schedule.name.text;
    // A parameter that is not given takes the plan's number of that name.
    syntax::Arguments args = call.args;
    size_t positional = 0;
    for (const syntax::Argument& arg : args) {
        positional += arg.name || arg.over ? 0 : 1;
    }
    const size_t errors = sink.error_count();
    for (size_t i = positional; i < schedule.params.size(); ++i) {
        const std::string& name = schedule.params[i].name.text;
        const bool given = std::any_of(args.begin(), args.end(), [&](const auto& a) { return a.name && a.name->text == name; });
        if (given) {
            continue;
        }
        if (const auto it = known.find(name); it != known.end()) {
            syntax::Argument arg;
            arg.name = syntax::Name{name, call.span};
            arg.value = std::make_shared<const syntax::Expr>(syntax::Expr{syntax::IntLiteral{it->second}, call.span});
            arg.span = call.span;
            args.push_back(std::move(arg));
        } else if (schedule.params[i].initial == nullptr &&
                   std::find(unknown.begin(), unknown.end(), name) != unknown.end()) {
            sink.report(diag::ScheduleNeeds, call.span, schedule.name.text, name, name == "micro" ? "split" : "stages")
                .help(name == "micro" ? "`split batch into micro;` makes micro-batches"
                                      : "`stages A, B over MESHAXIS;` cuts the model into stages");
        }
    }
    if (sink.error_count() > errors ||
        !elaborator.bind_parameters(schedule.params, args, call.span, schedule.name.text, 0, frame)) {
        return std::nullopt;
    }
    Run run{elaborator, {}, {}};
    Elaborator::InFrame in(elaborator, frame);
    run.body(schedule.body);
    return sink.error_count() > errors ? std::nullopt : std::optional(std::move(run.lanes));
}

} // namespace sspc::elaboration
