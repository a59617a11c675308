// Schedules in time, drawn, and in PyTorch's form.
#include "backend/report/timeline.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace sspc::backend {
namespace {

std::optional<Lanes> lanes_of(const std::string& csv, Sink& sink) {
    return parse_csv(FileId(0), csv, sink);
}

Lanes lanes_of(const std::string& csv) {
    Sink sink;
    const auto lanes = lanes_of(csv, sink);
    EXPECT_TRUE(lanes);
    return lanes.value_or(Lanes());
}

std::string fixture(const std::string& name) {
    std::ifstream stream(std::string(SSPC_SOURCE_DIR) + "/tests/data/golden/schedules/" + name);
    EXPECT_TRUE(stream) << name;
    return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(Timeline, GpipeWaitsTwiceForThePipelineToFill) {
    const Timeline timeline = time_lanes(lanes_of(fixture("gpipe_p2_m4.csv")));
    EXPECT_EQ(timeline.length, 15); // (4 + 1) forwards and (4 + 1) backwards
    EXPECT_TRUE(timeline.waiting.empty());
    EXPECT_EQ(timeline.held, (std::vector<int>{4, 4}));
    EXPECT_NEAR(timeline.bubble, 1.0 / 5, 1e-12);
}

TEST(Timeline, OneForwardOneBackwardHoldsFewerActivations) {
    const Timeline timeline = time_lanes(lanes_of(fixture("1f1b_p4_m8.csv")));
    EXPECT_EQ(timeline.length, 33); // (8 + 3) times 3
    EXPECT_EQ(timeline.held, (std::vector<int>{4, 3, 2, 1}));
}

TEST(Timeline, SaysWhichLanesWaitForEver) {
    const Timeline timeline = time_lanes(lanes_of("0B0,0F0\n1F0,1B0\n"));
    EXPECT_EQ(timeline.waiting, (std::vector<int>{0, 1}));
}

TEST(Timeline, CsvRoundTrips) {
    for (const char* name : {"gpipe_p4_m8.csv", "1f1b_p4_m8.csv", "zbh1_p4_m8.csv", "dualpipe_p2_m4.csv",
                             "interleaved1f1b_p2_v2_m4.csv"}) {
        const std::string text = fixture(name);
        EXPECT_EQ(to_csv(lanes_of(text)), text) << name;
    }
}

TEST(Timeline, AWrongTokenIsReportedWhereItStands) {
    Sink sink;
    EXPECT_FALSE(lanes_of("0F0,0X0\n", sink));
    ASSERT_EQ(sink.diagnostics().size(), 1u);
    EXPECT_EQ(sink.diagnostics()[0].code, diag::NoScheduleToken.code);
    EXPECT_EQ(sink.diagnostics()[0].span, (Span{FileId(0), 4, 7}));
}

TEST(Timeline, EmptyCellsAreBubbles) {
    EXPECT_EQ(to_csv(lanes_of("0F0,,0B0\n,1F0,1B0\n")), "0F0,0B0\n1F0,1B0\n");
}

TEST(Timeline, JsonHasPyTorchsTokens) {
    EXPECT_EQ(lanes_json(lanes_of("0F0,0B0\n1F0,1B0\n")),
              "{\"lanes\":[[\"0F0\",\"0B0\"],[\"1F0\",\"1B0\"]]}\n");
}

TEST(Timeline, IsDrawnWithinTheTerminal) {
    const std::string text = timeline_text(time_lanes(lanes_of(fixture("1f1b_p4_m8.csv"))), 80);
    EXPECT_NE(text.find("lane 0  F0 F1 F2 F3"), std::string::npos) << text;
    size_t at = 0;
    for (size_t end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
        EXPECT_LE(end - at, 80u) << text.substr(at, end - at);
    }
}

} // namespace
} // namespace sspc::backend
