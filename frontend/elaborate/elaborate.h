// From a file to the graph of its model and the plan that applies: names resolved, constants evaluated, everything inlined.
#pragma once

#include "ir/graph/graph.h"
#include "ir/plan/plan.h"
#include "ir/support/sink.h"
#include "ir/support/source_map.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sspc {

/// `feed gpt.tokens, gpt.labels from next_token(kjv, seed: 1) rows batch;` with its `data` resolved.
struct FeedSpec {
    enum class Kind {
        NextToken, ///< of a text file, bytes are tokens: the first input has positions p..p+n-1, the second p+1..p+n
        Columns,   ///< tensors of a safetensors file, one an input; their first axis is the axis of rows
    };
    Kind kind = Kind::NextToken;
    std::filesystem::path file;      ///< as found from the folder of the plan file; it may not exist
    std::vector<std::string> inputs; ///< the model's inputs, in order
    std::vector<std::string> columns; ///< Columns: the tensors' names, one for each input
    uint64_t seed = 0;               ///< the order of the rows
    AxisId rows;                     ///< invalid if not written
    Span span;
};

/// A declaration's name and its `///` text, for listings.
struct Declared {
    std::string name;
    std::string doc;
    Span span;
};

struct Elaborated {
    Graph graph; ///< forward and update statements; `differentiate` makes the backward
    Plan plan;
    std::vector<FeedSpec> feeds; ///< of the plan's model
    std::vector<Declared> plans; ///< of the file itself
};

struct ElaborateOptions {
    std::string plan; ///< empty: the default one
    std::vector<std::pair<std::string, std::string>> set; ///< `--set name=value`
    /// Where `import std.nn;` is looked for (`FOLDER/std/nn.ssp`), before $SSPC_STDLIB and the installed library.
    std::vector<std::filesystem::path> library_folders;
};

/// nullopt if there were errors; all of them are in the sink.
std::optional<Elaborated> elaborate(const std::filesystem::path& file, const ElaborateOptions& options, SourceMap& sources,
                                    Sink& sink);

} // namespace sspc
