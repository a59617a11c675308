// Wrong plan files, each a mistake that a user makes: the first line says what sspc must answer.
//
//   //! expect SSP0331 at 12:9 contains "cut into 3 parts" [options …]
//
// Options are given to `sspc check` (`--plan`, `--set`, `--strict`). The answer may have more diagnostics; the expected one must be among them.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const fs::path folder = fs::path(SSPC_SOURCE_DIR) / "tests" / "errors";

std::vector<std::string> files() {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() == ".ssp") {
            all.push_back(entry.path().stem().string());
        }
    }
    std::sort(all.begin(), all.end());
    return all;
}

struct Answer {
    int status = -1;
    std::string text;
};

Answer check(const fs::path& file, const std::string& options) {
    const std::string command =
        "'" SSPC_PROGRAM "' check --json '" + file.string() + "' " + options;
    FILE* pipe = popen(command.c_str(), "r");
    Answer answer;
    char buffer[4096];
    for (size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
        answer.text.append(buffer, n);
    }
    const int status = pclose(pipe);
    answer.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return answer;
}

class WrongPlan : public testing::TestWithParam<std::string> {};

TEST_P(WrongPlan, IsRefusedWhereTheMistakeIs) {
    const fs::path file = folder / (GetParam() + ".ssp");
    std::ifstream stream(file);
    std::string first;
    std::getline(stream, first);
    static const std::regex form(
        R"re(//! expect (SSP\d{4}) at (\d+):(\d+) contains "([^"]*)"(.*))re");
    std::smatch expected;
    ASSERT_TRUE(std::regex_match(first, expected, form)) << "the first line of " << file;
    const Answer answer = check(file, expected[5]);
    const auto document = nlohmann::json::parse(answer.text, nullptr, false);
    ASSERT_TRUE(document.is_object()) << "exit status " << answer.status << ", output " << answer.text;
    EXPECT_EQ(answer.status, 1);
    bool found = false;
    for (const auto& diagnostic : document["diagnostics"]) {
        std::string text = diagnostic["message"];
        for (const auto& note : diagnostic["notes"]) {
            text += "\n" + note["message"].get<std::string>();
        }
        found = found || (diagnostic["code"] == expected[1].str() &&
                          diagnostic["line"] == std::stoi(expected[2]) &&
                          diagnostic["column"] == std::stoi(expected[3]) &&
                          text.find(expected[4].str()) != std::string::npos);
    }
    EXPECT_TRUE(found) << "expected " << first.substr(11) << "\nfound " << document["diagnostics"].dump(1);
}

INSTANTIATE_TEST_SUITE_P(Files, WrongPlan, testing::ValuesIn(files()),
                         [](const auto& info) { return info.param; });

} // namespace
