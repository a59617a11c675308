// What `sspc explain` tells, gathered from a compiled plan: layouts, messages, memory, stages.
#pragma once

#include "ir/passes/compile.h"
#include "ir/support/source_map.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sspc::backend {

/// A parameter, or a value of the forward pass as its producer leaves it.
struct TensorFact {
    std::string path;
    bool parameter = false;
    std::vector<std::string> axes;
    std::vector<int64_t> shape;
    std::string dtype;
    int stage = 0;
    /// `R`, `S(axis)` or `P(sum)`, for each mesh axis in the order of `Facts::mesh_axes`
    std::vector<std::string> layout;
};

/// Messages that differ in nothing but when they go.
struct MessageFact {
    std::string kind;
    std::string tensor; ///< the tensors of a bucket are separated by commas
    size_t tensors = 1;
    Phase phase = Phase::Forward;
    std::vector<std::string> axes;
    int group = 0;     ///< members
    int64_t bytes = 0; ///< received by the busiest device, each time
    int64_t count = 0; ///< a step
    int stage = 0;     ///< of the members, or of the sender
    int to_stage = -1; ///< of the receiver of a `send`
    int line = 0;      ///< of the plan; 0 where no line asks for it
};

struct MemoryFact {
    std::vector<int> devices;
    int64_t peak = 0, params = 0, grads = 0, optimizer = 0, activations = 0, buffers = 0;
};

struct StageFact {
    int stage = 0;
    std::vector<int> devices;
    std::vector<std::string> blocks; ///< of the model, in order: `embed`, `layer[0]`, …
    size_t tasks = 0;                ///< forward
    int64_t parameters = 0;          ///< elements that one device holds
    double flops = 0;                ///< of one device in a step
    std::string order;               ///< blocks of the first few micro-batches
};

struct Facts {
    std::string plan;
    std::string model;
    int devices = 1;
    int micro_batches = 1;
    std::string split_axis; ///< empty if nothing is split
    std::vector<std::string> mesh_axes;
    std::vector<int> mesh_sizes;
    std::vector<TensorFact> tensors;
    std::vector<MessageFact> messages;
    std::vector<MemoryFact> memory; ///< one for each class
    std::vector<StageFact> stages;
};

Facts gather(const Compiled& compiled, const SourceMap& sources);

/// The document of `sspc explain --json` (docs/language.md), indented.
std::string explain_json(const Facts& facts);
/// For the terminal, `width` columns.
std::string explain_text(const Facts& facts, size_t width = 80);

std::string_view name_of(Phase phase);

} // namespace sspc::backend
