// The graphs of small models, and that of gpt.ssp.
#include "tests/unit/elaborate/helper.h"

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

namespace sspc {
namespace {

using testing::run_file;
using testing::run_text;

/// Names and shapes of a safetensors file.
std::map<std::string, std::vector<int64_t>> shapes_of(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    uint64_t size = 0;
    in.read(reinterpret_cast<char*>(&size), 8);
    std::string header(size, ' ');
    in.read(header.data(), static_cast<std::streamsize>(size));
    std::map<std::string, std::vector<int64_t>> out;
    const nlohmann::json entries = nlohmann::json::parse(header);
    for (const auto& [name, entry] : entries.items()) {
        if (name != "__metadata__") {
            out[name] = entry["shape"].get<std::vector<int64_t>>();
        }
    }
    return out;
}

std::map<std::string, std::vector<int64_t>> parameters_of(const Graph& graph) {
    std::map<std::string, std::vector<int64_t>> out;
    for (const Tensor& t : graph.tensors) {
        if (t.kind == TensorKind::Parameter) {
            for (const AxisId axis : t.axes) {
                out[t.path].push_back(graph.axes[axis].size);
            }
        }
    }
    return out;
}

TEST(ElaborateGpt, ParametersAreThoseOfTheFixture) {
    const auto result = run_file(testing::source_dir() / "samples/gpt.ssp");
    ASSERT_TRUE(result.value) << result.text();
    EXPECT_EQ(result.sink.warning_count(), 0u) << result.text();
    EXPECT_EQ(parameters_of(result.value->graph),
              shapes_of(testing::source_dir() / "tests/data/golden/gpt/weights.safetensors"));
    EXPECT_EQ(verify(result.value->graph), std::nullopt);
}

TEST(ElaborateGpt, AttentionIsTheseStatements) {
    const auto result = run_file(testing::source_dir() / "samples/gpt.ssp");
    ASSERT_TRUE(result.value) << result.text();
    std::string paths;
    for (const Statement& s : result.value->graph.statements) {
        if (s.path.starts_with("layer[3].attn.") && s.phase == Phase::Forward) {
            paths += s.path.substr(14) + " ";
        }
    }
    EXPECT_EQ(paths, "ln.mu.sum ln.mu ln.d ln.var.sum ln.var ln q.sum q k.sum k v.sum v s p.m p.e p.sum p o y x ");
    const Graph& g = result.value->graph;
    EXPECT_EQ(testing::statement(g, "layer[0].attn.q.sum"),
              "layer[0].attn.q.sum[batch, seq, heads, hd] = sum[hidden] layer[0].attn.ln * layer.0.attn.wq");
    EXPECT_EQ(testing::statement(g, "layer[0].attn.o"),
              "layer[0].attn.o[batch, seq, heads, hd] = sum[kv] layer[0].attn.p * layer[0].attn.v");
}

TEST(ElaborateGpt, BlocksAreThoseAroundATask) {
    const auto result = run_file(testing::source_dir() / "samples/gpt.ssp");
    ASSERT_TRUE(result.value);
    bool seen = false;
    for (const Statement& s : result.value->graph.statements) {
        if (s.path == "layer[2].attn.ln.mu") {
            seen = true;
            EXPECT_EQ(s.blocks, (std::vector<std::string>{"layer[2]", "attn", "ln"}));
        }
        if (s.path == "update layer.2.attn.ln.g") {
            EXPECT_EQ(s.blocks, (std::vector<std::string>{"layer[2]", "attn", "ln"}));
            EXPECT_EQ(s.phase, Phase::Update);
        }
    }
    EXPECT_TRUE(seen);
}

TEST(ElaborateGpt, EveryParameterHasAGradientAndThreeUpdates) {
    const auto result = run_file(testing::source_dir() / "samples/gpt.ssp");
    ASSERT_TRUE(result.value);
    const Graph& g = result.value->graph;
    EXPECT_EQ(g.gradients.size(), parameters_of(g).size());
    EXPECT_EQ(g.updates.size(), 3 * g.gradients.size());
    EXPECT_TRUE(g.loss.valid());
    EXPECT_EQ(g.tensors[g.grad_norm].path, "grad_norm");
    EXPECT_EQ(g.axes[g.rows].name, "batch");
}

TEST(ElaborateGpt, FeedsComeFromTheTextBesideTheFile) {
    const auto result = run_file(testing::source_dir() / "samples/gpt.ssp");
    ASSERT_TRUE(result.value);
    ASSERT_EQ(result.value->feeds.size(), 1u);
    const FeedSpec& feed = result.value->feeds.front();
    EXPECT_EQ(feed.kind, FeedSpec::Kind::NextToken);
    EXPECT_EQ(feed.file, (testing::source_dir() / "samples/data/kjv.txt").lexically_normal());
    EXPECT_EQ(feed.inputs, (std::vector<std::string>{"tokens", "labels"}));
    EXPECT_EQ(feed.seed, 1u);
}

TEST(ElaborateMlp, ParametersAreThoseOfTheFixture) {
    const auto result = run_file(testing::source_dir() / "samples/mlp_digits.ssp");
    ASSERT_TRUE(result.value) << result.text();
    EXPECT_EQ(parameters_of(result.value->graph),
              shapes_of(testing::source_dir() / "tests/data/golden/mlp_digits/weights.safetensors"));
    ASSERT_EQ(result.value->feeds.size(), 1u);
    EXPECT_EQ(result.value->feeds[0].columns, (std::vector<std::string>{"train.pixels", "train.label"}));
}

std::string graph_of(const std::string& text) {
    const auto result = run_text(text);
    return result.value ? print_graph(result.value->graph) : result.text();
}

/// The forward statements of a model over x[a: 4, b: 6].
std::string forward(const std::string& body) {
    const auto result = run_text("import std.nn;\nmodel t(a: dim = 4, b: dim = 6) {\n  dim c = b;\n  input x: float[a, b];\n" +
                                 body + "\n}\n");
    if (!result.value) {
        return result.text();
    }
    std::string out;
    for (const Statement& s : result.value->graph.statements) {
        out += print_statement(result.value->graph, s) + "\n";
    }
    return out;
}

TEST(ElaborateExpressions, AReductionInsideIsATaskOfItsOwn) {
    EXPECT_EQ(forward("y = sum[b] x + max[b] x;\noutput y;"), "y.sum[a] = sum[b] x\n"
                                                             "y.max[a] = max[b] x\n"
                                                             "y[a] = y.sum + y.max\n");
    EXPECT_EQ(forward("y = sum[b] x + sum[b] x * x;\noutput y;"), "y.sum[a] = sum[b] x\n"
                                                                 "y.sum#2[a] = sum[b] x * x\n"
                                                                 "y[a] = y.sum + y.sum#2\n");
}

TEST(ElaborateExpressions, AMeanIsASumWithAWeight) {
    EXPECT_EQ(forward("y = mean[a] x;\noutput y;"), "y.sum[b] = sum[a] x\n"
                                                   "y[b] = y.sum * 0.25\n");
}

TEST(ElaborateExpressions, ANameBoundAgainIsNumbered) {
    EXPECT_EQ(forward("y = x + 1;\ny = y * 2;\noutput y;"), "y[a, b] = x + 1\n"
                                                           "y#2[a, b] = y * 2\n");
}

TEST(ElaborateExpressions, TheStatementsOfAnOpLieBelowItsBinding) {
    EXPECT_EQ(forward("p = softmax(x, over: b);\noutput p;"), "p.m[a] = max[b] stop_gradient(x)\n"
                                                             "p.e[a, b] = exp(x - p.m)\n"
                                                             "p.sum[a] = sum[b] p.e\n"
                                                             "p[a, b] = p.e / p.sum\n");
}

TEST(ElaborateExpressions, TheLeftSideOrdersTheAxes) {
    EXPECT_EQ(forward("y[b, a] = x * 2;\noutput y;").substr(0, 8), "y[b, a] ");
}

TEST(ElaborateExpressions, SlicesHaveAnAxisOfTheirOwn) {
    const std::string text = forward("y = x[b = 1..3];\nz = sum[b] y;\nw = x[b = 0..6];\noutput z;\noutput w;");
    EXPECT_NE(text.find("y[a, b:2] = "), std::string::npos) << text;
    EXPECT_NE(text.find("z[a] = sum[b:2] y\n"), std::string::npos) << text;
}

TEST(ElaborateExpressions, IntegersDoNotMeetFloats) {
    const auto result = run_text("model t(a: dim = 4) {\n  input x: float[a];\n  input k: i64[a];\n  y = x * k;\n  output y;\n}\n");
    EXPECT_EQ(result.codes(), "SSP0209 4:7\n");
    EXPECT_EQ(forward("y = x * iota(b);\noutput y;"), "y[a, b] = x * f32(iota(b))\n");
}

TEST(ElaborateExpressions, ATensorNamesItsGatherAndKeepsItsAlignedAxes) {
    const std::string text = graph_of("model t(n: dim = 4, v: dim = 8) {\n  input k: i64[n];\n  input logits: float[n, v];\n"
                                      "  param table[v] = zeros;\n  y = logits[v = k] + table[v = k];\n  output y;\n}\n");
    EXPECT_NE(text.find("y.gather[n] = "), std::string::npos) << text;
    EXPECT_NE(text.find("y.gather#2[n] = "), std::string::npos) << text;
    EXPECT_NE(text.find("y[n] = y.gather + y.gather#2"), std::string::npos) << text;
}

TEST(ElaborateExpressions, ConcatGivesTheWholeAxisBack) {
    const std::string text = forward("y = concat[b](x[b = 0..2], x[b = 2..6]);\noutput y;");
    EXPECT_NE(text.find("y[a, b] = where("), std::string::npos) << text;
}

TEST(ElaborateModules, ParametersAndTasksLieBelowTheInstance) {
    const auto result = run_text("import std.nn;\nmodel t(a: dim = 4, b: dim = 6) {\n  input x: float[a, b];\n"
                                 "  for l in 0..2 { x = layer_norm(x, over: b) as ln[l]; }\n  output x;\n}\n");
    ASSERT_TRUE(result.value) << result.text();
    const auto parameters = parameters_of(result.value->graph);
    EXPECT_EQ(parameters.size(), 4u);
    EXPECT_TRUE(parameters.contains("ln.1.g"));
    EXPECT_EQ(testing::statement(result.value->graph, "ln[1].mu.sum"), "ln[1].mu.sum[a] = sum[b] ln[0]");
}

TEST(ElaborateModules, APassUsesTheSameParametersAgain) {
    const auto result = run_text("import std.nn;\nmodel t(a: dim = 4, b: dim = 6) {\n  input x: float[a, b];\n"
                                 "  pass r[i in 0..3] { x = layer_norm(x, over: b) as ln; }\n  output x;\n}\n");
    ASSERT_TRUE(result.value) << result.text();
    EXPECT_EQ(parameters_of(result.value->graph).size(), 2u);
    EXPECT_NE(testing::forward_paths(result.value->graph).find("r[2].ln.mu\n"), std::string::npos);
}

TEST(ElaborateTraining, ClippingOverridesAndSgd) {
    const auto result = run_text("import std.optim;\nmodel t(a: dim = 4) {\n  input x: float[a];\n  param w[a] = ones;\n"
                                 "  param b[a] = zeros;\n  y = x * w + b;\n  loss = mean[a] y * y;\n"
                                 "  minimize loss using adamw(lr: 0.1, weight_decay: 0.5), clip_norm: 1.0;\n"
                                 "  override adamw(weight_decay: 0) for b;\n}\n");
    ASSERT_TRUE(result.value) << result.text();
    const Graph& g = result.value->graph;
    EXPECT_EQ(testing::statement(g, "norm.w"), "norm.w[] = sum[a] grad w * grad w");
    EXPECT_NE(testing::statement(g, "update w").find("0.95"), std::string::npos) << testing::statement(g, "update w");
    EXPECT_EQ(testing::statement(g, "update b").find("0.95"), std::string::npos) << testing::statement(g, "update b");
    EXPECT_EQ(g.tensors[g.updates[0].target].path, "w");
}

TEST(ElaborateTraining, AnOptimizerAppliesToAGivenGradient) {
    const auto result = run_file(testing::source_dir() / "samples/adam_step.ssp");
    ASSERT_TRUE(result.value) << result.text();
    EXPECT_TRUE(result.value->graph.gradients.empty());
    EXPECT_FALSE(result.value->graph.grad_norm.valid());
    EXPECT_EQ(result.value->graph.updates.size(), 3u);
}

} // namespace
} // namespace sspc
