// Trains models under many plans with recorded weights and batches, and holds every number against float64 results recorded from PyTorch.
#include "backend/report/compare.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace sspc::backend {
namespace {

namespace fs = std::filesystem;
using Tensors = std::map<std::string, StoredTensor>;

struct Case {
    std::string name;
    std::string file;    ///< in tests/numeric
    std::string fixture; ///< in tests/data/golden
    std::string plan;
    std::vector<std::string> settings;
    int steps = 12;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::vector<Case> cases() {
    std::vector<Case> all;
    const auto gpt = [&](const std::string& name, const std::string& plan,
                         std::vector<std::string> settings) {
        all.push_back({"gpt_" + name, "plans.ssp", "gpt", plan, std::move(settings), 12});
    };
    gpt("uncut", "uncut", {});
    for (const char* n : {"2", "4", "8"}) {
        gpt(std::string("dp") + n, "dp", {std::string("n=") + n});
    }
    for (const char* n : {"2", "4", "3"}) { // 3 divides neither heads nor ffn
        gpt(std::string("tp") + n, "tp", {std::string("n=") + n});
    }
    for (const char* schedule : {"gpipe", "1f1b"}) {
        for (const char* n : {"2", "4"}) {
            for (const char* micro : {"1", "4", "8"}) {
                gpt(std::string("pp") + n + "_" + schedule + "_micro" + micro,
                    std::string("pp_") + schedule,
                    {std::string("n=") + n, std::string("micro=") + micro});
            }
        }
    }
    gpt("micro4", "micro_only", {});
    gpt("dp2_tp2_pp2_optimizer", "all_three", {});
    gpt("zero1", "zero1", {});
    gpt("zero2", "zero2", {});
    gpt("zero3", "zero3", {});
    gpt("sequence2", "sequence", {});
    gpt("sequence4", "sequence", {"n=4"});
    gpt("recompute", "recomputed", {});
    for (const auto& [name, steps] : std::map<std::string, int>{{"mlp_digits", 12}, {"mlp_lamb", 8}}) {
        const auto mlp = [&, fixture = name, count = steps](const std::string& plan,
                                                            std::vector<std::string> settings) {
            all.push_back({fixture + "_" + plan + (settings.empty() ? "" : settings[0].substr(2)),
                           fixture + ".ssp", fixture, plan, settings, count});
        };
        mlp("uncut", {});
        mlp("dp", {"n=2"});
        mlp("dp", {"n=4"});
        mlp("dp", {"n=8"});
        mlp("tp", {"n=2"});
        mlp("tp", {"n=4"});
        mlp("tp", {"n=3"});
        mlp("tp_both", {});
        mlp("both", {});
    }
    return all;
}

/// Removed when the test ends.
class Folder {
public:
    Folder() {
        std::string name = (fs::temp_directory_path() / "sspc-numeric-XXXXXX").string();
        path = mkdtemp(name.data());
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
    fs::path path;
};

std::string quoted(const std::string& text) { return "'" + text + "'"; }

std::string text_of(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

Tensors tensors_of(const fs::path& file) {
    std::string problem;
    const std::string bytes = text_of(file);
    auto tensors = parse_tensor_file(bytes, problem);
    EXPECT_TRUE(tensors) << file << ": " << problem;
    return tensors.value_or(Tensors());
}

/// The tensors whose names begin with `prefix`, without it.
Tensors below(const Tensors& all, const std::string& prefix) {
    Tensors some;
    for (const auto& [name, tensor] : all) {
        if (name.starts_with(prefix)) {
            some[name.substr(prefix.size())] = tensor;
        }
    }
    return some;
}

void expect_near(const Tensors& expected, const Tensors& found, const Tolerance& tolerance,
                 const std::string& what) {
    ASSERT_FALSE(expected.empty());
    Tensors counterpart;
    for (const auto& [name, tensor] : expected) {
        const auto at = found.find(name);
        if (at != found.end()) {
            counterpart.insert(*at); // a checkpoint also has the optimizer's states
        }
    }
    for (const Comparison& c : compare(expected, counterpart, tolerance, what)) {
        EXPECT_TRUE(c.ok) << c.path << " " << c.problem << " differs by " << c.max_abs << ", "
                          << c.max_rel << " of its scale; allowed " << tolerance.relative;
    }
}

class Recorded : public testing::TestWithParam<Case> {};

TEST_P(Recorded, NumbersAreThoseOfTheUncutModel) {
    const Case& c = GetParam();
    const fs::path source = SSPC_SOURCE_DIR;
    const fs::path fixture = source / "tests" / "data" / "golden" / c.fixture;
    const Folder folder;
    const auto out = [&](const char* name) { return (folder.path / name).string(); };
    std::string command = quoted(SSPC_PROGRAM) + " run " +
                          quoted((source / "tests" / "numeric" / c.file).string()) + " --plan " +
                          c.plan;
    for (const std::string& setting : c.settings) {
        command += " --set " + setting;
    }
    command += " -- --steps " + std::to_string(c.steps) + " --weights " +
               quoted((fixture / "weights.safetensors").string()) + " --data " +
               quoted((fixture / "batches.safetensors").string()) + " --metrics " +
               quoted(out("metrics.jsonl")) + " --save-grads " + quoted(out("grads.safetensors")) +
               " --save " + quoted(out("final.safetensors")) + " >" + quoted(out("log")) + " 2>&1";
    const int status = std::system(command.c_str());
    ASSERT_EQ(status, 0) << command << "\n" << text_of(out("log"));

    const Tensors golden = tensors_of(fixture / "golden.safetensors");
    std::ifstream metrics(out("metrics.jsonl"));
    size_t step = 0;
    for (std::string line; std::getline(metrics, line); ++step) {
        const auto object = nlohmann::json::parse(line);
        ASSERT_LT(step, golden.at("loss").values.size());
        const double loss = golden.at("loss").values[step];
        const double norm = golden.at("grad_norm").values[step];
        EXPECT_NEAR(object.at("loss").get<double>(), loss, 2e-6 * loss) << "step " << step + 1;
        EXPECT_NEAR(object.at("grad_norm").get<double>(), norm, 1e-5 * norm) << "step " << step + 1;
    }
    EXPECT_EQ(step, static_cast<size_t>(c.steps));
    expect_near(below(golden, "grad0."), tensors_of(out("grads.safetensors")), {1e-5, 1e-5},
                "grad ");
    expect_near(below(golden, "final."), tensors_of(out("final.safetensors")), {3e-4, 1e-5},
                "final ");
}

INSTANTIATE_TEST_SUITE_P(Plans, Recorded, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

} // namespace
} // namespace sspc::backend
