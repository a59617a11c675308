// Models of the fixtures, from their text to trained parameters: elaborated, differentiated, and carried out in f64.
#include "frontend/elaborate/elaborate.h"
#include "ir/interpret/graph_interpreter.h"
#include "ir/passes/differentiate.h"
#include "tests/support/safetensors.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sspc {
namespace {

const std::string root = SSPC_SOURCE_DIR;

struct Fixture {
    std::string source; ///< of the model, from the repository's root
    std::string data;   ///< folder of tests/data/golden
    int64_t steps;      ///< all that are recorded
};

TensorId find_tensor(const Graph& graph, const std::string& path) {
    for (const TensorId id : graph.tensors.ids()) {
        if (graph.tensors[id].path == path) {
            return id;
        }
    }
    return {};
}

/// Largest difference, relative to the largest value. The keys' bias has no gradient but the rounding of the recorded run (1e-21).
double difference(const std::vector<double>& found, const std::vector<double>& expected) {
    if (found.size() != expected.size()) {
        return INFINITY;
    }
    double scale = 1e-12;
    double worst = 0;
    for (size_t i = 0; i < found.size(); ++i) {
        scale = std::max(scale, std::fabs(expected[i]));
        worst = std::max(worst, std::fabs(found[i] - expected[i]));
    }
    return worst / scale;
}

Graph training_graph(const std::string& source) {
    SourceMap sources;
    Sink sink;
    ElaborateOptions options;
    options.library_folders = {root + "/stdlib"};
    auto elaborated = elaborate(root + "/" + source, options, sources, sink);
    for (const Diagnostic& diagnostic : sink.diagnostics()) {
        ADD_FAILURE() << diagnostic.code << " " << diagnostic.message;
    }
    if (!elaborated) {
        return {};
    }
    EXPECT_EQ(verify(elaborated->graph), std::nullopt);
    return differentiate(std::move(elaborated->graph), sink).value_or(Graph{});
}

void feed(const Graph& graph, const std::map<std::string, test::StoredTensor>& batches, size_t step,
          Environment& environment) {
    for (const TensorId id : graph.tensors.ids()) {
        if (graph.tensors[id].kind != TensorKind::Input) {
            continue;
        }
        const auto& all = batches.at(graph.tensors[id].path);
        const size_t size = all.data.size() / static_cast<size_t>(all.shape[0]);
        const auto first = all.data.begin() + static_cast<std::ptrdiff_t>(step * size);
        environment.values[id].data.assign(first, first + static_cast<std::ptrdiff_t>(size));
    }
}

class Golden : public testing::TestWithParam<Fixture> {};

TEST_P(Golden, TrainingGivesTheRecordedNumbers) {
    const std::string folder = root + "/tests/data/golden/" + GetParam().data;
    const Graph graph = training_graph(GetParam().source);
    ASSERT_FALSE(graph.statements.empty());
    Environment environment = initial_environment(graph, 0, Precision::F64);
    for (const auto& [name, tensor] : test::read_safetensors(folder + "/weights.safetensors")) {
        const TensorId id = find_tensor(graph, name);
        ASSERT_TRUE(id.valid()) << name;
        environment.values[id].data = tensor.data;
    }
    const auto batches = test::read_safetensors(folder + "/batches.safetensors");
    const auto golden = test::read_safetensors(folder + "/golden.safetensors");
    size_t compared = 0;
    for (int64_t step = 1; step <= GetParam().steps; ++step) {
        const auto at = static_cast<size_t>(step - 1);
        feed(graph, batches, at, environment);
        ASSERT_EQ(run(graph, environment, step, 0, Precision::F64), std::nullopt);
        EXPECT_NEAR(environment.values[graph.loss].data[0], golden.at("loss").data[at], 1e-6)
            << "step " << step;
        EXPECT_NEAR(environment.values[graph.grad_norm].data[0], golden.at("grad_norm").data[at],
                    2e-6)
            << "step " << step;
        for (const Graph::Gradient& gradient : graph.gradients) {
            const auto it = golden.find("grad0." + graph.tensors[gradient.parameter].path);
            if (step == 1 && it != golden.end()) {
                ++compared;
                EXPECT_LT(difference(environment.values[gradient.gradient].data, it->second.data),
                          1e-6)
                    << it->first;
            }
        }
        apply_updates(graph, environment);
    }
    for (const auto& [name, tensor] : golden) {
        if (name.substr(0, 6) == "final.") {
            ++compared;
            const TensorId id = find_tensor(graph, name.substr(6));
            ASSERT_TRUE(id.valid()) << name;
            EXPECT_LT(difference(environment.values[id].data, tensor.data), 1e-6) << name;
        }
    }
    EXPECT_GE(compared, 2 * graph.gradients.size());
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Golden,
                         testing::Values(Fixture{"samples/mlp_digits.ssp", "mlp_digits", 12},
                                         Fixture{"tests/numeric/mlp_lamb.ssp", "mlp_lamb", 8},
                                         Fixture{"samples/gpt.ssp", "gpt", 12}),
                         [](const auto& info) { return info.param.data; });

} // namespace
} // namespace sspc
