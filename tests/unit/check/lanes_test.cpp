// Schedules on their own: the golden ones are accepted, the faulty ones refused.
#include "ir/check/check.h"
#include "ir/support/render_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace sspc {
namespace {

/// Tokens such as `0F1`; `(3F1;0B0)OVERLAP_F_B` is a pair. Nothing if a token is none of `F B I W`.
std::optional<std::vector<BlockCall>> read_lane(const std::string& line) {
    std::vector<BlockCall> lane;
    std::stringstream tokens(line);
    std::string token;
    while (std::getline(tokens, token, ',')) {
        std::vector<std::string> parts{token};
        if (!token.empty() && token[0] == '(') {
            const size_t middle = token.find(';'), close = token.find(')');
            parts = {token.substr(1, middle - 1), token.substr(middle + 1, close - middle - 1)};
        }
        for (size_t i = 0; i < parts.size(); ++i) {
            const size_t letter = parts[i].find_first_not_of("0123456789");
            if (letter == std::string::npos || letter == 0) {
                return std::nullopt;
            }
            const std::string rest = parts[i].substr(letter + 1);
            if (rest.empty() || rest.find_first_not_of("0123456789") != std::string::npos) {
                return std::nullopt;
            }
            const std::string kinds = "FBIW";
            const size_t kind = kinds.find(parts[i][letter]);
            if (kind == std::string::npos) {
                return std::nullopt;
            }
            lane.push_back({static_cast<BlockCall::Kind>(kind), std::stoi(parts[i].substr(0, letter)), std::stoi(rest),
                            i + 1 < parts.size(), {}});
        }
    }
    return lane;
}

std::string problems(const Lanes& lanes) {
    int stages = 0, micro = 0;
    for (const auto& lane : lanes) {
        for (const BlockCall& block : lane) {
            stages = std::max(stages, block.stage + 1);
            micro = std::max(micro, block.micro + 1);
        }
    }
    Sink sink;
    check_lanes(lanes, stages, micro, sink);
    return render_text(sink, SourceMap());
}

std::optional<Lanes> read_csv(const std::filesystem::path& file) {
    std::ifstream in(file);
    Lanes lanes;
    for (std::string line; std::getline(in, line);) {
        auto lane = read_lane(line);
        if (!lane) {
            return std::nullopt;
        }
        lanes.push_back(*lane);
    }
    return lanes;
}

const std::filesystem::path folder = std::filesystem::path(SSPC_SOURCE_DIR) / "tests/data/golden/schedules";

TEST(CheckLanes, EveryGoldenScheduleOfOnePipelineIsAccepted) {
    int accepted = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().stem().string();
        // Two opposite pipelines number the second one's stages after the first's: another dependency than this checks.
        if (entry.path().extension() != ".csv" || name == "summary" || name.starts_with("chimera") || name.starts_with("dualpipe_")) {
            continue;
        }
        if (const auto lanes = read_csv(entry.path())) {
            EXPECT_EQ(problems(*lanes), "") << name;
            ++accepted;
        }
    }
    EXPECT_GT(accepted, 20);
}

TEST(CheckLanes, FaultySchedulesAreRefused) {
    const std::map<std::string, std::string> wanted = {{"b_before_f", "SSP0442"},
                                                       {"cross_wait", ""},
                                                       {"missing_w", "SSP0443"},
                                                       {"dup_stage", "SSP0440"},
                                                       {"cycle", "SSP0441"}};
    std::ifstream in(folder / "must_be_refused.txt");
    std::string name;
    std::map<std::string, Lanes> cases;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("[")) {
            name = line.substr(1, line.find(']') - 1);
        } else if (!line.starts_with("#") && !line.starts_with("reason") && !name.empty()) {
            if (const auto lane = read_lane(line)) {
                cases[name].push_back(*lane);
            }
        }
    }
    for (const auto& [key, code] : wanted) {
        ASSERT_TRUE(cases.count(key)) << key;
        const std::string found = problems(cases[key]);
        if (code.empty()) {
            EXPECT_EQ(found, "") << key;
        } else {
            EXPECT_NE(found.find(code), std::string::npos) << key << "\n" << found;
        }
    }
}

TEST(CheckLanes, TheShortestCycleIsPrinted) {
    using Kind = BlockCall::Kind;
    const auto block = [](Kind kind, int stage, int micro) { return BlockCall{kind, stage, micro, false, {}}; };
    const Lanes lanes = {{block(Kind::Forward, 0, 0), block(Kind::Backward, 0, 0), block(Kind::Forward, 0, 1), block(Kind::Backward, 0, 1)},
                         {block(Kind::Forward, 1, 1), block(Kind::Backward, 1, 1), block(Kind::Forward, 1, 0), block(Kind::Backward, 1, 0)}};
    const std::string text = problems(lanes);
    EXPECT_NE(text.find("`B(0, 0)` waits for `B(1, 0)` waits for `F(1, 0)` waits for `B(1, 1)`"), std::string::npos) << text;
}

} // namespace
} // namespace sspc
