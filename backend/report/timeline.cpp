// When each block of a schedule runs: repeatedly start what can start, in the order of the lanes.
#include "backend/report/timeline.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace sspc::backend {

namespace {

using Kind = BlockCall::Kind;

int cost(Kind kind) { return kind == Kind::Backward ? 2 : 1; }

/// The blocks that must have ended before `block` starts; one entry is a set of which any suffices.
std::vector<std::vector<BlockCall>> inputs(const BlockCall& block, int stages) {
    const auto call = [&](Kind kind, int stage) {
        BlockCall other;
        other.kind = kind;
        other.stage = stage;
        other.micro = block.micro;
        return other;
    };
    std::vector<std::vector<BlockCall>> all;
    if (block.kind == Kind::Forward) {
        if (block.stage > 0) {
            all.push_back({call(Kind::Forward, block.stage - 1)});
        }
        return all;
    }
    if (block.kind == Kind::WeightGradient) {
        return {{call(Kind::InputGradient, block.stage)}};
    }
    all.push_back({call(Kind::Forward, block.stage)});
    if (block.stage + 1 < stages) {
        all.push_back({call(Kind::Backward, block.stage + 1),
                       call(Kind::InputGradient, block.stage + 1)});
    }
    return all;
}

} // namespace

Timeline time_lanes(const Lanes& lanes) {
    Timeline timeline;
    timeline.lanes.resize(lanes.size());
    int stages = 0;
    for (const auto& lane : lanes) {
        for (const BlockCall& block : lane) {
            stages = std::max(stages, block.stage + 1);
        }
    }
    using Key = std::tuple<Kind, int, int>;
    const auto key = [](const BlockCall& b) { return Key(b.kind, b.stage, b.micro); };
    std::map<Key, int> ended;
    std::vector<size_t> next(lanes.size(), 0);
    std::vector<int> free_at(lanes.size(), 0);
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t l = 0; l < lanes.size(); ++l) {
            while (next[l] < lanes[l].size()) {
                const BlockCall& block = lanes[l][next[l]];
                int start = free_at[l];
                bool ready = true;
                for (const auto& any_of : inputs(block, stages)) {
                    bool found = false;
                    for (const BlockCall& input : any_of) {
                        const auto at = ended.find(key(input));
                        if (at != ended.end()) {
                            start = std::max(start, at->second);
                            found = true;
                        }
                    }
                    ready = ready && found;
                }
                if (!ready) {
                    break;
                }
                timeline.lanes[l].push_back({block, start, cost(block.kind)});
                free_at[l] = start + cost(block.kind);
                ended[key(block)] = free_at[l];
                ++next[l];
                moved = true;
            }
        }
    }
    int busy = 0;
    for (size_t l = 0; l < lanes.size(); ++l) {
        timeline.length = std::max(timeline.length, free_at[l]);
        int held = 0;
        int most = 0;
        for (const Timeline::Entry& entry : timeline.lanes[l]) {
            busy += entry.length;
            held += entry.block.kind == Kind::Forward;
            most = std::max(most, held);
            held -= entry.block.kind == Kind::Backward || entry.block.kind == Kind::WeightGradient;
        }
        timeline.held.push_back(most);
        if (next[l] < lanes[l].size()) {
            timeline.waiting.push_back(static_cast<int>(l));
        }
    }
    const int total = timeline.length * static_cast<int>(lanes.size());
    timeline.bubble = total > 0 ? 1.0 - static_cast<double>(busy) / total : 0;
    return timeline;
}

} // namespace sspc::backend
