// The messages that plans of the literature are known to need, derived, with their bytes.
#include "backend/report/facts.h"
#include "frontend/elaborate/elaborate.h"
#include "ir/support/render_text.h"

#include <gtest/gtest.h>

#include <map>

namespace sspc {
namespace {

// The sample's sizes: batch 8, seq 64, hidden 64, vocab 256, 4 layers; f32.
constexpr int64_t activation = 8 * 64 * 64 * 4;
constexpr int64_t row_scalars = 8 * 64 * 4; // [batch, seq]

std::vector<backend::MessageFact> messages_of(const std::string& plan) {
    ElaborateOptions options;
    options.plan = plan;
    options.library_folders.push_back(std::string(SSPC_SOURCE_DIR) + "/stdlib");
    SourceMap sources;
    Sink sink;
    auto elaborated = elaborate(std::string(SSPC_SOURCE_DIR) + "/tests/unit/passes/plans.ssp", options, sources, sink);
    EXPECT_TRUE(elaborated) << render_text(sink, sources);
    if (!elaborated)
        return {};
    auto compiled = compile(std::move(elaborated->graph), std::move(elaborated->plan), {}, sink);
    EXPECT_TRUE(compiled) << render_text(sink, sources);
    return compiled ? backend::gather(*compiled, sources).messages : std::vector<backend::MessageFact>();
}

/// `kind phase` → how often, of the messages whose tensor has `part` in its path.
std::map<std::string, int64_t> count(const std::vector<backend::MessageFact>& messages, const std::string& part) {
    static const char* const phases[] = {" forward", " backward", " update"};
    std::map<std::string, int64_t> counts;
    for (const auto& message : messages)
        if (message.tensor.find(part) != std::string::npos)
            counts[message.kind + phases[static_cast<int>(message.phase)]] += message.count;
    return counts;
}
int64_t bytes_of(const std::vector<backend::MessageFact>& messages, const std::string& part, Phase phase) {
    for (const auto& message : messages)
        if (message.tensor.find(part) != std::string::npos && message.phase == phase)
            return message.bytes;
    return -1;
}

using Counts = std::map<std::string, int64_t>;

TEST(Messages, TensorParallelismHasTwoAllReducesALayerForwardAndTwoBackward) {
    const auto messages = messages_of("tensor");
    for (const std::string layer : {"layer[0]", "layer[1]", "layer[2]", "layer[3]"})
        EXPECT_EQ(count(messages, layer), (Counts{{"all_reduce forward", 2}, {"all_reduce backward", 2}})) << layer;
    EXPECT_EQ(bytes_of(messages, "layer[2].attn.y", Phase::Forward), activation); // 2 b (n-1)/n with n = 2
    EXPECT_EQ(bytes_of(messages, "grad layer[2].mlp.ln", Phase::Backward), activation);
}

TEST(Messages, TensorParallelismReducesNoGradientOfAParameter) {
    for (const auto& message : messages_of("tensor")) {
        EXPECT_EQ(message.tensor.find("grad layer."), std::string::npos) << message.tensor;
        EXPECT_EQ(message.tensor.find("grad head.ln."), std::string::npos) << message.tensor;
    }
}

TEST(Messages, VocabularyCutEmbeddingHasOneAllReduce) {
    EXPECT_EQ(count(messages_of("tensor"), "embed.e"), (Counts{{"all_reduce forward", 1}}));
}

TEST(Messages, VocabularyCutCrossEntropySendsNothingOfTheVocabularysSize) {
    for (const auto& message : messages_of("tensor")) {
        if (message.tensor.find("head.loss") != std::string::npos) {
            EXPECT_EQ(message.bytes, row_scalars) << message.tensor;
        }
        EXPECT_EQ(message.tensor.find("logits"), std::string::npos);
    }
}

TEST(Messages, SequenceParallelismMakesEachAllReduceAReduceScatterAndAnAllGather) {
    const auto messages = messages_of("sequence");
    for (const std::string layer : {"layer[1]", "layer[2]"}) {
        const Counts counts = count(messages, layer);
        EXPECT_EQ(counts.at("reduce_scatter forward"), 2);
        EXPECT_EQ(counts.at("reduce_scatter backward"), 2);
        EXPECT_EQ(counts.at("all_gather backward"), 2);
        // Two forward, and the two inputs of column-cut products once more in backward.
        EXPECT_EQ(counts.at("all_gather forward"), 4);
        EXPECT_EQ(counts.count("all_reduce forward") + counts.count("all_reduce backward"), 0u);
    }
    EXPECT_EQ(bytes_of(messages, "layer[1].attn.y", Phase::Forward), activation / 2);
}

TEST(Messages, KeptGatheredInputsAreNotGatheredAgain) {
    EXPECT_EQ(count(messages_of("sequence_kept"), "layer[2]").at("all_gather forward"), 2);
}

TEST(Messages, ShardedOptimizerHasAReduceScatterAndAnAllGatherABucket) {
    Counts counts;
    int64_t gathered = 0;
    for (const auto& message : messages_of("sharded_optimizer"))
        if (message.tensors > 1) {
            counts[message.kind] += message.count;
            if (message.kind == "all_gather")
                gathered = message.bytes;
        }
    EXPECT_EQ(counts, (Counts{{"reduce_scatter", 1}, {"all_gather", 1}}));
    const int64_t parameters = 236928; // elements of the sample
    EXPECT_EQ(gathered, parameters * 4 * 3 / 4);
}

TEST(Messages, PipelineStagesExchangeOneActivationAndOneGradientAMicroBatch) {
    Counts counts;
    for (const auto& message : messages_of("pipeline"))
        if (message.kind == "send") {
            counts[message.phase == Phase::Forward ? "forward" : "backward"] += message.count;
            EXPECT_EQ(message.bytes, activation / 4);
        }
    EXPECT_EQ(counts, (Counts{{"forward", 4}, {"backward", 4}}));
}

} // namespace
} // namespace sspc
