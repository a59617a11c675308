// One small program of two stages, right, and then wrong in one way at a time.
#include "ir/check/check.h"
#include "ir/program/parse_program.h"

#include <gtest/gtest.h>

#include <random>

namespace sspc {
namespace {

/// Stage 0 makes `a` of `x`, stage 1 `b` of `z`; then they exchange them: `c` of `b` on stage 0, `d` of `a` on stage 1.
Graph model() {
    Graph graph;
    graph.model = "exchange";
    const AxisId batch = graph.axes.push_back({"batch", 4, {}});
    const auto tensor = [&](const std::string& path, TensorKind kind) {
        Tensor t;
        t.path = path;
        t.axes = {batch};
        t.kind = kind;
        return graph.tensors.push_back(t);
    };
    const auto statement = [&](const std::string& path, TensorId from, double factor) {
        Statement s;
        s.path = path;
        s.out = tensor(path, TensorKind::Value);
        s.operands = {from};
        s.body = access(0, DType::F32, std::vector<AxisId>{batch}) * constant(factor, DType::F32);
        graph.statements.push_back(s);
        return s.out;
    };
    const TensorId x = tensor("x", TensorKind::Input), z = tensor("z", TensorKind::Input);
    const TensorId a = statement("a", x, 2), b = statement("b", z, 3);
    graph.outputs = {statement("c", b, 5), statement("d", a, 7)};
    return graph;
}

Plan plan() {
    Plan plan;
    plan.name = "p";
    plan.mesh.name = "g";
    plan.mesh.axes = {{"pp", 2, AxisRole::Stage, {}}, {"dp", 2, AxisRole::Device, {}}};
    return plan;
}

constexpr std::string_view right = R"(sspd 1
model exchange
plan p
mesh g [micro: 1 micro, pp: 2 stage, dp: 2 device]
axes
  batch: 4
messages
  "a>1" forward 0 -> 1 tensor a bytes 8 once
  "b>0" forward 1 -> 0 tensor b bytes 8 once
class stage 0
  memory static 1024 scratch 256 frame 0 frames 0 slots [] events 4
  buffers
    %x = x f32[batch] {dp: S(batch)} micro scratch at 0 bytes 8
    %a = a f32[batch] {dp: S(batch)} step static at 0 bytes 8
    %b = b f32[batch] {dp: S(batch)} step static at 256 bytes 8
    %c = c f32[batch] {dp: S(batch)} step static at 512 bytes 8
    %c@2 = c f32[batch] {} step static at 768 bytes 16
  block F0 forward stage 0
    allocate %x
    load %x
    compute a forward cut {dp: batch}: %a = %x * 2.0
    free %x
  block finish finish stage 0
    compute c forward cut {dp: batch}: %c = %b * 5.0
    record 2 on compute
    wait 2 on communication
    communicate all_gather along [dp] forward bytes 8: %c {dp: S(batch)} -> %c@2 {}
  order
    run F0 micro 0
    record 0 on compute
    wait 0 on communication
    post grouped (send "a>1" %a, receive "b>0" %b)
    record 1 on communication
    wait 1 on compute
    run finish
class stage 1
  memory static 1024 scratch 256 frame 0 frames 0 slots [] events 4
  buffers
    %z = z f32[batch] {dp: S(batch)} micro scratch at 0 bytes 8
    %b = b f32[batch] {dp: S(batch)} step static at 0 bytes 8
    %a = a f32[batch] {dp: S(batch)} step static at 256 bytes 8
    %d = d f32[batch] {dp: S(batch)} step static at 512 bytes 8
  block F1 forward stage 1
    allocate %z
    load %z
    compute b forward cut {dp: batch}: %b = %z * 3.0
    free %z
  block finish finish stage 1
    compute d forward cut {dp: batch}: %d = %a * 7.0
  order
    run F1 micro 0
    record 0 on compute
    wait 0 on communication
    post grouped (receive "a>1" %a, send "b>0" %b)
    record 1 on communication
    wait 1 on compute
    run finish
results
  output c stage 0 %c@2
  output d stage 1 %d
stored
end
)";

struct Change {
    std::string from;
    std::string to;
};

/// Codes and messages after each change was made once, at its first place.
std::string problems(const std::vector<Change>& changes, const CheckOptions& options = {}) {
    std::string text(right);
    for (const Change& change : changes) {
        const size_t at = text.find(change.from);
        EXPECT_NE(at, std::string::npos) << change.from;
        text.replace(at, change.from.size(), change.to);
    }
    Sink sink;
    const auto program = parse_program(FileId(0), text, sink);
    EXPECT_TRUE(program) << (sink.diagnostics().empty() ? "" : sink.diagnostics()[0].message);
    if (program) {
        check_program(*program, model(), plan(), sink, options);
    }
    std::string found;
    for (const Diagnostic& diagnostic : sink.diagnostics()) {
        found += std::string(diagnostic.code) + ": " + diagnostic.message + "\n";
    }
    return found;
}
void expect_code(const std::string& found, const std::string& code, const std::string& words = "") {
    EXPECT_NE(found.find(code), std::string::npos) << "in place of " << code << ":\n" << found;
    EXPECT_NE(found.find(words), std::string::npos) << found;
}

TEST(CheckProgram, ARightProgramHasNoErrors) { EXPECT_EQ(problems({}), ""); }

TEST(CheckProgram, AnotherConstantIsNotTheModels) {
    expect_code(problems({{"%x * 2.0", "%x * 2.5"}}), "SSP0502", "the constant is 2.5 in place of 2");
}
TEST(CheckProgram, AnotherOperandIsNotTheModels) {
    expect_code(problems({{"%c = %b * 5.0", "%c = %a * 5.0"}}), "SSP0502", "it reads `a` in place of `b`");
}
TEST(CheckProgram, ACutAsksForAnotherLayout) {
    expect_code(problems({{"cut {dp: batch}: %a", "cut {}: %a"}}), "SSP0503", "`compute a` in block `F0` on the devices of stage 0");
}
TEST(CheckProgram, AValueIsDeclaredAsItFollows) {
    expect_code(problems({{"%a = a f32[batch] {dp: S(batch)}", "%a = a f32[batch] {dp: P(sum)}"}}), "SSP0504", "{dp: P(sum)}");
}
TEST(CheckProgram, NothingIsReadThatNobodyProduced) {
    expect_code(problems({{"    load %x\n", ""}}), "SSP0505", "reads `x`");
}
TEST(CheckProgram, NothingIsProducedTwice) {
    expect_code(problems({{"    load %x\n", "    load %x\n    load %x\n"}}), "SSP0506");
}
TEST(CheckProgram, AGatherIsNoReduction) { expect_code(problems({{"all_gather", "all_reduce"}}), "SSP0509", "along `dp`"); }
TEST(CheckProgram, BothEndsOfAMessageHaveOneLayout) {
    expect_code(problems({{"%b = b f32[batch] {dp: S(batch)} step static at 256 bytes 8", "%b = b f32[batch] {} step static at 256 bytes 16"}}),
                "SSP0513", "sent as {dp: S(batch)} and received as whole");
}
TEST(CheckProgram, AReceiveBeforeTheSendOnBothSidesIsADeadlock) {
    const std::string found = problems({{"    run F0 micro 0\n", "    post (receive \"b>0\" %b)\n    record 3 on communication\n    wait 3 on compute\n    run F0 micro 0\n"},
                                        {"post grouped (send \"a>1\" %a, receive \"b>0\" %b)", "post (send \"a>1\" %a)"},
                                        {"    run F1 micro 0\n", "    post (receive \"a>1\" %a)\n    record 3 on communication\n    wait 3 on compute\n    run F1 micro 0\n"},
                                        {"post grouped (receive \"a>1\" %a, send \"b>0\" %b)", "post (send \"b>0\" %b)"}});
    expect_code(found, "SSP0515", "even if sends are buffered");
    expect_code(found, "SSP0515", "stage 0 after the beginning at its receive of `b>0` waits for stage 1; stage 1 after the beginning at its receive of `a>1` waits for stage 0");
}
TEST(CheckProgram, SendsThatCrossMustBeGrouped) {
    expect_code(problems({{"post grouped (send", "post (send"}, {"post grouped (receive \"a>1\" %a, send \"b>0\" %b)", "post (send \"b>0\" %b, receive \"a>1\" %a)"}}),
                "SSP0515", "as a send waits for its receive");
}
TEST(CheckProgram, MessagesArriveInTheOrderOfTheirSends) {
    expect_code(problems({{"post grouped (send \"a>1\" %a, ", "post grouped ("}}), "SSP0513", "stage 0 never sends it");
}
TEST(CheckProgram, AMessageWaitsForTheValueItCarries) {
    expect_code(problems({{"    wait 0 on communication\n", ""}}), "SSP0517", "the compute stream may still use it for `compute a");
}
TEST(CheckProgram, ACollectiveWaitsInsideItsBlock) {
    expect_code(problems({{"    wait 2 on communication\n", ""}}), "SSP0517", "`all_gather of c` in block `finish`");
}
TEST(CheckProgram, AFreedBufferIsNotRead) {
    expect_code(problems({{"    load %x\n", "    load %x\n    free %x\n"}}), "SSP0519", "after it is freed");
}
TEST(CheckProgram, BuffersThatAreAliveTogetherDoNotOverlap) {
    expect_code(problems({{"step static at 256 bytes 8", "step static at 0 bytes 8"}}), "SSP0521");
}
TEST(CheckProgram, ABufferHoldsItsPart) { expect_code(problems({{"at 768 bytes 16", "at 768 bytes 8"}}), "SSP0602", "has 8 bytes for a part of 16"); }
TEST(CheckProgram, ADeviceThatIsTooSmallIsNamedWithTheLargestTensors) {
    expect_code(problems({}, {1000}), "SSP0601", "1280 bytes and have 1000; largest are `c@2` with 16");
    EXPECT_EQ(problems({}, {1280}), "");
}
TEST(CheckProgram, AResultIsWhole) {
    expect_code(problems({{"output c stage 0 %c@2", "output c stage 0 %b"}}), "SSP0512", "holds `b`");
}
TEST(CheckProgram, BlocksRunOnceInTheirOrder) {
    expect_code(problems({{"    run F0 micro 0\n", "    run F0 micro 0\n    run F0 micro 0\n"}}), "SSP0434");
    expect_code(problems({{"    run F0 micro 0\n", ""}}), "SSP0433", "F(0, 0)");
}
TEST(CheckProgram, ThePlansOrderIsKept) {
    Plan with_schedule = plan();
    plan::UseSchedule schedule;
    schedule.lanes = {{{BlockCall::Kind::Forward, 0, 0, false, {}}}, {}};
    with_schedule.statements.push_back(schedule);
    Sink sink;
    const auto program = parse_program(FileId(0), right, sink);
    ASSERT_TRUE(program);
    check_program(*program, model(), with_schedule, sink);
    ASSERT_EQ(sink.error_count(), 1U);
    EXPECT_EQ(sink.diagnostics()[0].code, "SSP0444");
}

TEST(CheckProgram, MutatedTextIsCheckedWithoutACrash) {
    const std::string pool = "[](){},:=+-0123456789abS%";
    int checked = 0;
    for (unsigned seed = 0; seed < 6000; ++seed) {
        std::mt19937 random(seed);
        std::string text(right);
        for (unsigned i = 0; i <= random() % 3; ++i) {
            const size_t at = random() % text.size();
            switch (random() % 3) {
            case 0:
                text[at] = pool[random() % pool.size()];
                break;
            case 1:
                text.erase(at, random() % 6);
                break;
            default: { // a line again, elsewhere
                const size_t begin = text.rfind('\n', at) + 1;
                const std::string line = text.substr(begin, text.find('\n', begin) - begin + 1);
                text.insert(text.find('\n', random() % (text.size() - 1)) + 1, line);
            }
            }
        }
        Sink sink;
        if (const auto program = parse_program(FileId(0), text, sink)) {
            ++checked;
            EXPECT_NO_THROW(check_program(*program, model(), plan(), sink, {1000})) << text;
        }
    }
    EXPECT_GT(checked, 300);
}

} // namespace
} // namespace sspc
