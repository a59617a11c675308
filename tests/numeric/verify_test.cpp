// `sspc verify` finds the plans of reports.ssp and of the samples equal to their uncut models.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>

namespace {

struct Case {
    std::string name;
    std::string file; ///< from the top of the repository
    std::string options;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Verify : public testing::TestWithParam<Case> {};

TEST_P(Verify, FindsThePlanEqualToTheUncutModel) {
    const Case& c = GetParam();
    const std::string log =
        (std::filesystem::path(testing::TempDir()) / ("sspc-verify-" + c.name + ".log")).string();
    const std::string command = "'" SSPC_PROGRAM "' verify '" SSPC_SOURCE_DIR "/" + c.file + "' " +
                                c.options + " >'" + log + "' 2>&1";
    const int status = std::system(command.c_str());
    std::ifstream stream(log);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    EXPECT_EQ(status, 0) << command << "\n" << text;
    std::filesystem::remove(log);
}

/// Three steps of gradients for 8 ranks.
const std::string adam_data =
    "--set n=64 -- --steps 3 --data '" SSPC_SOURCE_DIR "/tests/data/adam_step.safetensors'";
const std::string reports = "tests/numeric/reports.ssp";

INSTANTIATE_TEST_SUITE_P(
    Reports, Verify,
    testing::Values(Case{"tied_stages", reports, "--plan tied_stages"},
                    Case{"tied_stages_pp3", reports, "--plan tied_stages --set pp=3 --set dp=1"},
                    Case{"tensor2", reports, "--plan tensor"},
                    Case{"tensor3", reports, "--plan tensor --set tp=3"},
                    Case{"sequence", reports, "--plan sequence"},
                    Case{"few_micro_batches", reports, "--plan few_micro_batches"},
                    Case{"one_micro_batch", reports, "--plan few_micro_batches --set micro=1"},
                    Case{"uneven", reports, "--plan uneven"},
                    Case{"again", reports, "--plan again"},
                    Case{"everything_cut", reports, "--plan everything_cut"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Samples, Verify,
    testing::Values(Case{"gpt", "samples/gpt.ssp", ""},
                    Case{"mlp_digits", "samples/mlp_digits.ssp", ""},
                    Case{"mlp_digits_tensor", "samples/mlp_digits.ssp", "--plan tensor_parallel"},
                    Case{"mlp_digits_pipeline", "samples/mlp_digits.ssp", "--plan pipeline"},
                    Case{"adam_step", "samples/adam_step.ssp", adam_data},
                    Case{"adam_step_sharded", "samples/adam_step.ssp",
                         "--plan sharded " + adam_data}),
    [](const auto& info) { return info.param.name; });

/// `--trace` writes a timeline with a bar for each block and each collective.
TEST(Trace, HasBlocksAndCollectives) {
    std::string folder = (std::filesystem::temp_directory_path() / "sspc-trace-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    const std::string file = folder + "/trace.json";
    const std::string command = std::string("'") + SSPC_PROGRAM + "' run '" + SSPC_SOURCE_DIR +
                                "/samples/mlp_digits.ssp' --plan pipeline -- --steps 2 --trace '" + file + "' >/dev/null 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0);
    std::ifstream stream(file);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    std::filesystem::remove_all(folder);
    for (const char* name : {"F0", "B2", "finish", "all_reduce"})
        EXPECT_NE(text.find('"' + std::string(name) + '"'), std::string::npos) << name;
}

} // namespace
