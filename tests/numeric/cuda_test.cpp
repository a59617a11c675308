// Emitted sources as a GPU program: where nvcc and NCCL are found, they compile and link for sm_90 (nothing runs).
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/wait.h>

namespace {

namespace fs = std::filesystem;

TEST(Cuda, EmittedSourcesCompileAndLink) {
    std::string folder = (fs::temp_directory_path() / "sspc-cuda-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    const std::string log = folder + "/log";
    const std::string command = std::string("'") + SSPC_PROGRAM + "' build '" + SSPC_SOURCE_DIR +
                                "/samples/mlp_digits.ssp' --plan pipeline --target cuda -o '" + folder + "/program' >'" +
                                log + "' 2>&1";
    const int status = std::system(command.c_str());
    std::ifstream stream(log);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const bool tools_missing = text.find("error[SSP0703]") != std::string::npos || text.find("error[SSP0704]") != std::string::npos;
    const bool built = fs::exists(folder + "/program/plan");
    fs::remove_all(folder);
    if (WEXITSTATUS(status) != 0 && tools_missing)
        GTEST_SKIP() << text;
    EXPECT_EQ(WEXITSTATUS(status), 0) << text;
    EXPECT_TRUE(built);
}

} // namespace
