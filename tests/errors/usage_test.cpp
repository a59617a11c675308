// The command line used wrongly: files that cannot be read, options that mean nothing, outputs that cannot be written.
#include "ir/support/diagnostic.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const std::string source = SSPC_SOURCE_DIR;
const std::string net = "'" + source + "/tests/errors/model/net.ssp'";
const std::string gpt = "'" + source + "/samples/gpt.ssp'";

struct Answer {
    int status = -1;
    std::string text; ///< stdout and stderr
};

Answer sspc(const std::string& arguments, const std::string& redirect = "2>&1") {
    const std::string command = "'" SSPC_PROGRAM "' " + arguments + " " + redirect;
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

void expect(const Answer& answer, int status, const std::string& fragment) {
    EXPECT_EQ(answer.status, status) << answer.text;
    EXPECT_NE(answer.text.find(fragment), std::string::npos) << answer.text;
}

TEST(Usage, NothingOrAnUnknownCommandIsWrongUsage) {
    expect(sspc(""), 2, "subcommand");
    expect(sspc("chek a.ssp"), 2, "did you mean `check`?");
    expect(sspc("gpt.ssp"), 2, "did you mean `sspc run gpt.ssp`?");
    expect(sspc("check"), 2, "FILE");
    expect(sspc("check " + net + " --colour never"), 2, "--colour");
    expect(sspc("check " + net + " --target vax"), 2, "--target");
}

TEST(Usage, HelpAndVersionAreFine) {
    expect(sspc("--help"), 0, "verify");
    expect(sspc("run --help"), 0, "--steps");
    expect(sspc("--version"), 0, "sspc 0.");
}

TEST(Usage, AFileThatCannotBeReadIsNamedWithTheReason) {
    expect(sspc("check no-such.ssp"), 1, "`no-such.ssp` could not be read: there is no such file");
    expect(sspc("check /"), 1, "it is a folder");
    if (geteuid() != 0) { // root reads everything
        const fs::path file = fs::path(testing::TempDir()) / "sspc-unreadable.ssp";
        std::ofstream(file) << "import std.nn;\n";
        fs::permissions(file, fs::perms::none);
        expect(sspc("check '" + file.string() + "'"), 1, "Permission denied");
        fs::remove(file);
    }
}

TEST(Usage, JsonIsOneDocumentEvenWithErrors) {
    const Answer answer = sspc("check no-such.ssp --json", "2>/dev/null");
    EXPECT_EQ(answer.status, 1);
    const auto document = nlohmann::ordered_json::parse(answer.text, nullptr, false);
    ASSERT_TRUE(document.is_object()) << answer.text;
    std::vector<std::string> keys;
    for (const auto& [key, value] : document.items()) {
        keys.push_back(key);
    }
    EXPECT_EQ(keys, (std::vector<std::string>{"ok", "plan", "model", "devices", "diagnostics"}));
    EXPECT_EQ(document["ok"], false);
    EXPECT_EQ(document["diagnostics"][0]["code"], "SSP0002");
}

TEST(Usage, SettingsAndPlansThatDoNotExist) {
    expect(sspc("check " + gpt + " --plan megatronn"), 1, "megatron");
    expect(sspc("check " + gpt + " --set dpp=2"), 1, "SSP0222");
    expect(sspc("check " + gpt + " --set dp=two"), 1, "`two` is not declared");
    expect(sspc("check " + gpt + " --set dp"), 2, "name=value");
}

TEST(Usage, CommandsThatAreNotThereYetSaySo) {
    for (const char* command : {"sim", "tune", "fmt", "import", "lsp", "new"}) {
        expect(sspc(std::string(command) + " " + gpt + " --whatever"), 1, "SSP0001");
    }
    expect(sspc("check " + gpt + " --cluster here"), 1, "SSP0001");
}

TEST(Usage, LauncherOptionsBelongToRunAndVerify) {
    expect(sspc("check " + gpt + " -- --steps 5"), 2, "launcher options");
    expect(sspc("verify " + gpt + " -- --save a.safetensors"), 2, "--save");
}

TEST(Usage, ExplainsEveryCode) {
    expect(sspc("explain SSP0331"), 0, "more parts than elements");
    expect(sspc("explain ssp0331"), 0, "more parts than elements");
    expect(sspc("explain SSP9999"), 1, "SSP0005");
}

TEST(Usage, EveryCodeHasAPageAndEveryPageACode) {
    const fs::path pages = fs::path(source) / "ir" / "support" / "explain";
    std::set<std::string> codes;
    for (const auto& diagnostic : sspc::registered_diagnostics()) {
        codes.emplace(diagnostic.code);
        EXPECT_TRUE(fs::exists(pages / (std::string(diagnostic.code) + ".md")))
            << diagnostic.code << " " << diagnostic.name << " has no page in ir/support/explain";
    }
    for (const auto& page : fs::directory_iterator(pages)) {
        const std::string code = page.path().stem().string(); // SSP08xx: reported by emitted programs
        EXPECT_TRUE(codes.contains(code) || code.starts_with("SSP08")) << page.path();
    }
}

TEST(Usage, AFullDiskIsReported) {
    expect(sspc("lower " + gpt + " --stage ast", "2>&1 >/dev/full"), 3, "could not be written");
}

TEST(Usage, ADeviceProgramIsCheckedAgainstItsPlan) {
    const fs::path file = fs::path(testing::TempDir()) / "sspc-usage.sspd";
    ASSERT_EQ(sspc("lower " + gpt, ">'" + file.string() + "'").status, 0);
    expect(sspc("check '" + file.string() + "' --against " + gpt), 0, "does what plan `megatron`");
    expect(sspc("check '" + file.string() + "' --against " + gpt + " --plan single"), 1, "SSP05");
    expect(sspc("check '" + file.string() + "'"), 2, "--against");
    std::ofstream(file) << "no program\n";
    expect(sspc("check '" + file.string() + "' --against " + gpt), 1, "SSP01");
    fs::remove(file);
}

TEST(Usage, SchedulesAreExportedAndChecked) {
    const fs::path file = fs::path(testing::TempDir()) / "sspc-usage.csv";
    ASSERT_EQ(sspc("schedule " + gpt + " --csv", ">'" + file.string() + "'").status, 0);
    expect(sspc("schedule " + gpt + " --check '" + file.string() + "'"), 0, "is a schedule of plan");
    std::ofstream(file) << "0F0,0B0\n";
    expect(sspc("schedule " + gpt + " --check '" + file.string() + "'"), 1, "SSP04");
    std::ofstream(file) << "0F0,0X0\n";
    expect(sspc("schedule " + gpt + " --check '" + file.string() + "'"), 1, "SSP0450");
    fs::remove(file);
}

} // namespace
