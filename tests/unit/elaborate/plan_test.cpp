// Plans: choice, settings, statements, and schedules against the fixtures.
#include "tests/unit/elaborate/helper.h"

#include <sstream>

namespace sspc {
namespace {

using testing::run_file;
using testing::run_text;

template <typename T>
const T* find(const Plan& plan) {
    for (const PlanStatement& s : plan.statements) {
        if (const T* found = std::get_if<T>(&s)) {
            return found;
        }
    }
    return nullptr;
}

std::string token(const BlockCall& block) {
    return std::to_string(block.stage) + "FBIW"[static_cast<int>(block.kind)] + std::to_string(block.micro);
}

std::string lanes_text(const Lanes& lanes) {
    std::string out;
    for (const auto& lane : lanes) {
        for (size_t i = 0; i < lane.size(); ++i) {
            out += (i > 0 ? "," : "") + token(lane[i]);
        }
        out += "\n";
    }
    return out;
}

std::string read(const std::filesystem::path& path) {
    std::ifstream in(path);
    std::stringstream out;
    out << in.rdbuf();
    return out.str();
}

std::string schedule_of(const std::string& name, int stages, int micro) {
    std::string blocks;
    for (int s = 0; s < stages; ++s) {
        blocks += "  block s" + std::to_string(s) + " { x = x * 2; }\n";
    }
    std::string items;
    for (int s = 0; s < stages; ++s) {
        items += (s > 0 ? ", s" : "s") + std::to_string(s);
    }
    const auto result = run_text("import std.schedules;\nmodel t(a: dim = 64) {\n  input x: float[a];\n" + blocks +
                                 "  output x;\n}\nplan p for t {\n  mesh g[pp: " + std::to_string(stages) + "];\n  split a into " +
                                 std::to_string(micro) + ";\n  stages " + items + " over pp;\n  schedule " + name + ";\n}\n");
    if (!result.value) {
        return result.text();
    }
    return lanes_text(find<plan::UseSchedule>(result.value->plan)->lanes);
}

TEST(ElaborateSchedules, AreThoseOfTheFixtures) {
    const auto folder = testing::source_dir() / "tests/data/golden/schedules";
    EXPECT_EQ(schedule_of("gpipe", 2, 4), read(folder / "gpipe_p2_m4.csv"));
    EXPECT_EQ(schedule_of("gpipe", 4, 8), read(folder / "gpipe_p4_m8.csv"));
    EXPECT_EQ(schedule_of("one_f_one_b", 2, 4), read(folder / "1f1b_p2_m4.csv"));
    EXPECT_EQ(schedule_of("one_f_one_b", 4, 8), read(folder / "1f1b_p4_m8.csv"));
    EXPECT_EQ(schedule_of("zero_bubble_h1", 2, 4), read(folder / "zbh1_p2_m4.csv"));
    EXPECT_EQ(schedule_of("zero_bubble_h1", 4, 8), read(folder / "zbh1_p4_m8.csv"));
}

TEST(ElaboratePlans, TheDefaultOneIsTaken) {
    const auto result = run_file(testing::source_dir() / "samples/gpt.ssp");
    ASSERT_TRUE(result.value) << result.text();
    const Plan& plan = result.value->plan;
    EXPECT_EQ(plan.name, "megatron");
    ASSERT_EQ(plan.mesh.axes.size(), 3u);
    EXPECT_EQ(plan.mesh.axes[0].role, AxisRole::Stage);
    EXPECT_EQ(plan.mesh.axes[1].role, AxisRole::Device);
    ASSERT_NE(find<plan::Stages>(plan), nullptr);
    EXPECT_EQ(find<plan::Stages>(plan)->items.size(), 6u);
    EXPECT_EQ(find<plan::Stages>(plan)->items[1].text, "layer[0]");
    EXPECT_EQ(find<plan::Bucket>(plan)->bytes, 25'000'000);
    EXPECT_EQ(find<plan::Overlap>(plan)->chunks, 4);
    EXPECT_EQ(find<plan::Overlap>(plan)->with.size(), 2u);
    EXPECT_EQ(find<plan::UseSchedule>(plan)->lanes.size(), 2u);
}

TEST(ElaboratePlans, SettingsReachPlanAndModel) {
    ElaborateOptions options;
    options.set = {{"tp", "4"}, {"layers", "2 * 3"}};
    const auto result = run_file(testing::source_dir() / "samples/gpt.ssp", options);
    ASSERT_TRUE(result.value) << result.text();
    EXPECT_EQ(result.value->plan.mesh.axes[2].size, 4);
    EXPECT_EQ(find<plan::Stages>(result.value->plan)->items.size(), 8u);
}

TEST(ElaboratePlans, AWrongSettingIsAnError) {
    ElaborateOptions options;
    options.set = {{"tpp", "4"}};
    EXPECT_EQ(run_file(testing::source_dir() / "samples/gpt.ssp", options).codes(), "SSP0222\n");
    options.set = {{"tp", "4;"}};
    EXPECT_EQ(run_file(testing::source_dir() / "samples/gpt.ssp", options).codes(), "SSP0223\n");
    options.set = {{"hidden", "66"}};
    EXPECT_EQ(run_file(testing::source_dir() / "samples/gpt.ssp", options).codes(), "SSP0214 7:55\n");
}

TEST(ElaboratePlans, AModelHasThePlanSingle) {
    ElaborateOptions options;
    options.plan = "single";
    const auto result = run_text("model t(a: dim = 4) {\n  input x: float[a];\n  y = x * 2;\n  output y;\n}\n", options);
    ASSERT_TRUE(result.value) << result.text();
    EXPECT_EQ(result.value->plan.name, "single");
    EXPECT_TRUE(result.value->plan.mesh.axes.empty());
}

TEST(ElaboratePlans, AUsedPlanComesFirst) {
    ElaborateOptions options;
    options.plan = "sharded";
    const auto result = run_file(testing::source_dir() / "samples/adam_step.ssp", options);
    ASSERT_TRUE(result.value) << result.text();
    ASSERT_EQ(result.value->plan.statements.size(), 2u);
    EXPECT_TRUE(std::holds_alternative<plan::ShardAxes>(result.value->plan.statements[0]));
    EXPECT_TRUE(std::holds_alternative<plan::ShardState>(result.value->plan.statements[1]));
    options.plan = "fused";
    EXPECT_EQ(run_file(testing::source_dir() / "samples/adam_step.ssp", options).codes(), "SSP0001 29:3\n");
}

TEST(ElaboratePlans, ANameOfAModuleCallSelectsTheInstance) {
    const auto result = run_text("import std.nn;\nmodel t(a: dim = 4, b: dim = 6) {\n  input x: float[a, b];\n"
                                 "  n = layer_norm(x, over: b) as ln;\n  output n;\n}\n"
                                 "plan p for t {\n  mesh g[d: 2];\n  shard a over d for n;\n}\n");
    ASSERT_TRUE(result.value) << result.text();
    EXPECT_TRUE(matches_any(find<plan::ShardAxes>(result.value->plan)->only, "ln.mu.sum"));
}

TEST(ElaboratePlans, LibraryPlansFitAnyModel) {
    const auto result = run_text("import std.plans;\nmodel t(batch: dim = 4) {\n  input x: float[batch];\n  y = x * 2;\n"
                                 "  output y;\n}\nplan p for t { use data_parallel(4); }\n");
    ASSERT_TRUE(result.value) << result.text();
    EXPECT_EQ(result.value->plan.mesh.axes[0].size, 4);
}

} // namespace
} // namespace sspc
