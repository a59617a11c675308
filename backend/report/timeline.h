// A schedule in time: when each block runs if a forward costs 1 and a backward 2, and how it is drawn and exported.
#pragma once

#include "ir/plan/plan.h"
#include "ir/support/sink.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sspc::backend {

struct Timeline {
    struct Entry {
        BlockCall block;
        int start = 0;
        int length = 0;
    };
    std::vector<std::vector<Entry>> lanes;
    int length = 0;          ///< until the last block ends
    double bubble = 0;       ///< idle share of all lanes
    std::vector<int> held;   ///< for each lane: the most micro-batches whose activations wait for their backward
    std::vector<int> waiting; ///< lanes whose next block never can run (then the timeline ends there)
};

/// F 1, B 2, I 1, W 1. A forward waits for the previous stage's, a backward for the next stage's and its own forward.
Timeline time_lanes(const Lanes& lanes);

/// One row a lane, in pieces of `width` columns, with makespan, bubble and activations held.
std::string timeline_text(const Timeline& timeline, size_t width = 80);

/// PyTorch's form: one line a lane, tokens separated by commas; pairs as `(3F1;0B0)OVERLAP_F_B`.
std::string to_csv(const Lanes& lanes);
/// `{"lanes": [["0F0", …], …]}`
std::string lanes_json(const Lanes& lanes);
/// The lanes of a CSV text; what is no token is reported with its line and column in `file`.
std::optional<Lanes> parse_csv(FileId file, std::string_view text, Sink& sink);

} // namespace sspc::backend
