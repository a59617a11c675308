// What users of other systems reported (tests/reports.md), on the interpreter. The first line of each file says what happens here:
//
//   //! equal                      the plan gives the uncut model's numbers
//   //! refused SSP0331            the plan is refused with this code
//   //! caught WrongPeer SSP0513   the compiler does not make the mistake; seeded into it, the checker reports it with this code
#include "tests/random/run_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace sspc::random {

namespace {

std::vector<std::string> files() {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(SSPC_SOURCE_DIR) / "tests/reports")) {
        if (entry.path().filename().string().starts_with("r") && entry.path().extension() == ".ssp") {
            all.push_back(entry.path().stem().string());
        }
    }
    std::sort(all.begin(), all.end());
    return all;
}

class Report : public testing::TestWithParam<std::string> {};

} // namespace

TEST_P(Report, EndsAsItsFirstLineSays) {
    const std::string file = std::string(SSPC_SOURCE_DIR) + "/tests/reports/" + GetParam() + ".ssp";
    std::ifstream stream(file);
    std::string mark, word, first, second;
    stream >> mark >> word;
    std::string rest;
    std::getline(stream, rest);
    std::istringstream(rest) >> first >> second;
    ASSERT_EQ(mark, "//!");
    CaseOptions options;
    if (word == "caught") {
        const auto found = std::find_if(seeded_faults.begin(), seeded_faults.end(), [&](const NamedFault& f) { return f.name == first; });
        ASSERT_NE(found, seeded_faults.end()) << first;
        options.fault = found->fault;
    }
    const Outcome outcome = run_case(file, options);
    const std::string all = outcome.diagnostics + outcome.rejected + outcome.different;
    if (word == "equal") {
        EXPECT_TRUE(outcome.fine()) << all;
    } else if (word == "refused") {
        EXPECT_NE(std::find(outcome.refused.begin(), outcome.refused.end(), first), outcome.refused.end()) << all;
    } else if (word == "caught") {
        EXPECT_NE(outcome.rejected.find("error[" + second + "]"), std::string::npos) << all;
        EXPECT_TRUE(run_case(file).fine()) << "without the fault";
    } else {
        FAIL() << word;
    }
}

INSTANTIATE_TEST_SUITE_P(Reports, Report, testing::ValuesIn(files()), [](const auto& info) { return info.param; });

} // namespace sspc::random
