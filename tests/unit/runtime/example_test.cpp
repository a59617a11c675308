// The example program as a user runs it: training, files, mistakes.
#include "common/error.h"
#include "common/philox.h"
#include "common/safetensors.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace ssp {
namespace {

constexpr int batch = 6;
constexpr int feature = 5;

class ExampleProgram : public testing::Test {
protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("ssp_example_" + std::to_string(::getpid()));
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
        for (int s = 0; s < steps; ++s) {
            for (int i = 0; i < batch; ++i) {
                float sum = 0;
                for (int j = 0; j < feature; ++j) {
                    x_.push_back(std::sin(static_cast<float>(s * 31 + i * 7 + j * 3)));
                    sum += x_.back() * static_cast<float>(j - 2);
                }
                y_.push_back(sum);
            }
        }
        write("data", {{"x", DType::F32, {steps, batch, feature}}, {"y", DType::F32, {steps, batch}}}, {x_, y_});
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    void write(const std::string& name, const std::vector<SafetensorsWriter::Entry>& entries,
               const std::vector<std::vector<float>>& values) const {
        SafetensorsWriter writer(path(name), entries);
        for (const auto& value : values) {
            writer.write(value.data(), value.size() * sizeof(float));
        }
        writer.commit();
    }
    static std::vector<float> read(const std::string& path, const std::string& name) {
        const SafetensorsFile file(path);
        const FileTensor* tensor = file.find(name);
        if (tensor == nullptr) {
            ADD_FAILURE() << path << " lacks " << name;
            return {};
        }
        std::vector<float> values((tensor->end - tensor->begin) / sizeof(float));
        std::memcpy(values.data(), file.data(*tensor), values.size() * sizeof(float));
        return values;
    }
    std::string text(const std::string& name) const {
        std::ifstream file(path(name));
        std::ostringstream all;
        all << file.rdbuf();
        return all.str();
    }

    /// The exit status; what is written goes to the files `out` and `err`.
    int run(const std::string& options, const std::string& environment = "") const {
        const std::string command = "cd '" + folder_.string() + "' && env " + environment + " " EXAMPLE_PROGRAM " " + options +
                                    " >out 2>err </dev/null";
        const int status = std::system(command.c_str());
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    void expect_refused(const std::string& options, const std::string& code, const std::string& words, int status = 3) const {
        EXPECT_EQ(run(options), status) << options;
        EXPECT_NE(text("err").find(code), std::string::npos) << text("err");
        EXPECT_NE(text("err").find(words), std::string::npos) << text("err");
    }

    static constexpr int steps = 20;
    std::filesystem::path folder_;
    std::vector<float> x_, y_;
};

/// The same training in one thread and in double.
struct Reference {
    std::vector<double> w, gradient, p;
    double loss = 0;

    void step(const float* x, const float* y) {
        p.assign(batch, 0);
        gradient.assign(feature, 0);
        loss = 0;
        for (int i = 0; i < batch; ++i) {
            for (int j = 0; j < feature; ++j) {
                p[size_t(i)] += x[i * feature + j] * w[size_t(j)];
            }
            const double difference = p[size_t(i)] - y[i];
            loss += difference * difference / batch;
            for (int j = 0; j < feature; ++j) {
                gradient[size_t(j)] += 2.0 / batch * difference * x[i * feature + j];
            }
        }
        for (int j = 0; j < feature; ++j) {
            w[size_t(j)] -= 0.1 * gradient[size_t(j)];
        }
    }
};

TEST_F(ExampleProgram, TrainsAsTheUnpartitionedModelDoes) {
    for (const std::string environment : {"SSP_STREAMS=inline", "SSP_STREAMS=async SSP_POISON=1"}) {
        ASSERT_EQ(run("--data data --save end --save-grads grads --outputs outputs --metrics metrics --seed 3 --trace trace",
                      environment),
                  0)
            << text("err");
        Reference reference;
        for (int j = 0; j < feature; ++j) {
            const Philox p = draw(3, 0, path_hash("w"), j, Purpose::Initial);
            const double u = ((p.w[0] >> 8) + 1.0) * 0x1p-24, angle = 6.283185307179586 * ((p.w[1] >> 8) * 0x1p-24);
            reference.w.push_back(0.1 * std::sqrt(-2 * std::log(u)) * std::cos(angle));
        }
        std::ifstream metrics(path("metrics"));
        for (int s = 0; s < steps; ++s) {
            reference.step(&x_[size_t(s) * batch * feature], &y_[size_t(s) * batch]);
            std::string line;
            ASSERT_TRUE(std::getline(metrics, line));
            const auto report = nlohmann::json::parse(line);
            EXPECT_EQ(report["step"], s + 1);
            EXPECT_NEAR(report["loss"].get<double>(), reference.loss, 1e-5 * (1 + reference.loss));
            EXPECT_GT(report["step_ms"].get<double>(), 0);
            if (s == 0) {
                const std::vector<float> gradient = read(path("grads"), "w");
                for (int j = 0; j < feature; ++j) {
                    EXPECT_NEAR(gradient[size_t(j)], reference.gradient[size_t(j)], 1e-5);
                }
            }
        }
        const std::vector<float> w = read(path("end"), "w"), p = read(path("outputs"), "p");
        for (int j = 0; j < feature; ++j) {
            EXPECT_NEAR(w[size_t(j)], reference.w[size_t(j)], 1e-5);
        }
        for (int i = 0; i < batch; ++i) {
            EXPECT_NEAR(p[size_t(i)], reference.p[size_t(i)], 1e-5);
        }
        const auto trace = nlohmann::json::parse(text("trace"));
        EXPECT_GT(trace["traceEvents"].size(), size_t(steps) * 2 * 3);
        EXPECT_NE(text("out").find("20 steps in"), std::string::npos) << text("out");
        EXPECT_NE(text("err").find("step 20/20"), std::string::npos) << text("err");
    }
}

TEST_F(ExampleProgram, GoesOnFromACheckpointWithTheSameBits) {
    ASSERT_EQ(run("--data data --steps 12 --save whole"), 0) << text("err");
    ASSERT_EQ(run("--data data --steps 9 --save-every 4 --checkpoints some/checkpoints"), 0) << text("err");
    EXPECT_TRUE(std::filesystem::exists(path("some/checkpoints/step-00000004.safetensors")));
    EXPECT_FALSE(std::filesystem::exists(path("some/checkpoints/step-00000009.safetensors")));
    ASSERT_EQ(run("--data data --steps 12 --resume some/checkpoints --save again --metrics metrics"), 0) << text("err");
    EXPECT_EQ(read(path("again"), "w"), read(path("whole"), "w"));
    EXPECT_NE(text("metrics").find("{\"step\":9,"), std::string::npos);
    EXPECT_EQ(text("metrics").find("{\"step\":8,"), std::string::npos);
}

TEST_F(ExampleProgram, BeginsWithGivenWeights) {
    const std::vector<float> w = {1, 2, 3, 4, 5};
    write("weights", {{"w", DType::F32, {feature}}}, {w});
    ASSERT_EQ(run("--data data --weights weights --steps 0 --save end"), 0) << text("err");
    EXPECT_EQ(read(path("end"), "w"), w);
}

TEST_F(ExampleProgram, RefusesWrongFilesBeforeTheFirstStep) {
    write("short", {{"x", DType::F32, {steps, batch, feature}}}, {x_});
    write("shape", {{"x", DType::F32, {steps, feature, batch}}, {"y", DType::F32, {steps, batch}}}, {x_, y_});
    write("type", {{"x", DType::I32, {steps, batch, feature}}, {"y", DType::F32, {steps, batch}}}, {x_, y_});
    expect_refused("", "SSP0806", "input `x` has no data");
    expect_refused("--data missing", "SSP0804", "`missing` could not be read: No such file");
    expect_refused("--data short", "SSP0806", "input `y` (F32 [6] behind an axis of steps) is not in `short`");
    expect_refused("--data shape", "SSP0806", "takes F32 [6, 5] behind an axis of steps, and `shape` has F32 [20, 5, 6]");
    expect_refused("--data type", "SSP0806", "has I32 [20, 6, 5]");
    expect_refused("--data data --data z=data", "SSP0806", "no input `z`; it has `x`, `y`");
    expect_refused("--data data --steps 21", "SSP0806", "more than the 20 steps of `data`");
    write("weights", {{"w", DType::F32, {feature + 1}}}, {{1, 2, 3, 4, 5, 6}});
    expect_refused("--data data --weights weights", "SSP0809", "parameter `w` is F32 [5], and `weights` has F32 [6]");
    write("other", {{"v", DType::F32, {feature}}}, {{1, 2, 3, 4, 5}});
    expect_refused("--data data --weights other", "SSP0809", "parameter `w` (F32 [5]) is not in `other`");
    expect_refused("--data data --resume nowhere", "SSP0804", "`nowhere` could not be read");
    expect_refused("--data data --resume .", "SSP0804", "holds no checkpoint");
    expect_refused("--data data --save no/folder/file", "SSP0805", "`no/folder/file` could not be written");
    expect_refused("--data data --save /dev/full", "SSP0805", "No space left on device");
    expect_refused("--data data --metrics /dev/full", "SSP0805", "No space left on device");
}

TEST_F(ExampleProgram, SaysWhichOptionItDoesNotKnow) {
    expect_refused("--stepps 3", "`--stepps`", "no option", 2);
    expect_refused("--steps -3", "`--steps`", "at least 0", 2);
    expect_refused("--steps", "`--steps`", "takes a value", 2);
    expect_refused("--steps 3x", "`--steps`", "not `3x`", 2);
    EXPECT_EQ(run("--help"), 0);
    EXPECT_NE(text("out").find("--save-every"), std::string::npos);
}

TEST_F(ExampleProgram, StopsWhenTheLossIsNoNumber) {
    std::vector<float> y = y_;
    y[2 * batch + 4] = NAN;
    write("data", {{"x", DType::F32, {steps, batch, feature}}, {"y", DType::F32, {steps, batch}}}, {x_, y});
    expect_refused("--data data --metrics metrics", "SSP0803", "the loss is not a number after step 3");
    EXPECT_NE(text("metrics").find("{\"step\":3,\"loss\":null"), std::string::npos) << text("metrics");
}

TEST_F(ExampleProgram, FinishesItsStepWhenInterrupted) {
    std::vector<float> x, y;
    constexpr int many = 40000;
    for (int s = 0; s < many; ++s) {
        x.insert(x.end(), x_.begin(), x_.begin() + batch * feature);
        y.insert(y.end(), y_.begin(), y_.begin() + batch);
    }
    write("data", {{"x", DType::F32, {many, batch, feature}}, {"y", DType::F32, {many, batch}}}, {x, y});
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        if (::chdir(folder_.c_str()) == 0 && std::freopen("out", "w", stdout) != nullptr &&
            std::freopen("err", "w", stderr) != nullptr) {
            ::execl(EXAMPLE_PROGRAM, "example_program", "--data", "data", "--steps", "40000", "--save", "end", "--metrics",
                    "metrics", nullptr);
        }
        ::_exit(127);
    }
    for (int i = 0; i < 200 && text("metrics").find("\"step\":2,") == std::string::npos; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ::kill(child, SIGINT);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 130) << text("err");
    EXPECT_NE(text("out").find("stopped after step "), std::string::npos) << text("out");
    EXPECT_EQ(read(path("end"), "w").size(), size_t(feature));
}

} // namespace
} // namespace ssp
