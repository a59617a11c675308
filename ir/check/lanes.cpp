// Schedules on their own: complete, in order, and without a cycle of blocks that wait for one another.
#include "ir/check/check.h"

#include "ir/support/format.h"

#include <algorithm>
#include <deque>
#include <map>

namespace sspc {

namespace {

using Kind = BlockCall::Kind;

std::string words(const BlockCall& block) {
    const char letter = to_token(block)[std::to_string(block.stage).size()];
    return format("{0}({1}, {2})", letter, block.stage, block.micro);
}

class LaneCheck {
public:
    LaneCheck(const Lanes& lanes, int stages, int micro, Sink& sink)
        : lanes_(lanes), stages_(stages), micro_(micro), sink_(sink), lane_of_(static_cast<size_t>(std::max(stages, 0)), -1) {}

    void run() {
        collect();
        if (sink_.has_errors()) {
            return;
        }
        complete();
        if (sink_.has_errors()) {
            return;
        }
        order_in_lanes();
        if (!sink_.has_errors()) {
            cycles();
        }
    }

private:
    using Key = std::tuple<Kind, int, int>;
    static Key key(Kind kind, int stage, int micro) { return {kind, stage, micro}; }
    int find(Kind kind, int stage, int micro) const {
        const auto found = node_.find(key(kind, stage, micro));
        return found == node_.end() ? -1 : found->second;
    }

    void collect() {
        for (size_t lane = 0; lane < lanes_.size(); ++lane) {
            for (const BlockCall& block : lanes_[lane]) {
                if (block.stage < 0 || block.stage >= stages_ || block.micro < 0 || block.micro >= micro_) {
                    sink_.report(diag::UnknownBlock, block.span, words(block), stages_, micro_);
                    continue;
                }
                int& home = lane_of_[static_cast<size_t>(block.stage)];
                if (home >= 0 && home != static_cast<int>(lane)) {
                    sink_.report(diag::StageOnTwoLanes, block.span, block.stage, home, lane);
                    return;
                }
                home = static_cast<int>(lane);
                if (!node_.emplace(key(block.kind, block.stage, block.micro), static_cast<int>(blocks_.size())).second) {
                    sink_.report(diag::BlockRepeated, block.span, words(block));
                }
                blocks_.push_back(&block);
                place_.emplace_back(static_cast<int>(lane), static_cast<int>(&block - lanes_[lane].data()));
            }
        }
    }

    void complete() {
        const bool trains = std::any_of(blocks_.begin(), blocks_.end(), [](const BlockCall* b) { return b->kind != Kind::Forward; });
        for (int s = 0; s < stages_; ++s) {
            for (int m = 0; m < micro_; ++m) {
                const auto has = [&](Kind kind) { return find(kind, s, m) >= 0; };
                const auto name = [&](Kind kind) { return words(BlockCall{kind, s, m, false, {}}); };
                if (!has(Kind::Forward)) {
                    sink_.report(diag::BlockMissing, Span{}, name(Kind::Forward));
                }
                if (!trains) {
                    continue;
                }
                const bool whole = has(Kind::Backward), input = has(Kind::InputGradient), weight = has(Kind::WeightGradient);
                if (!whole && !input && !weight) {
                    sink_.report(diag::BlockMissing, Span{}, name(Kind::Backward));
                } else if (whole && (input || weight)) {
                    sink_.report(diag::BlockRepeated, Span{}, name(Kind::Backward))
                        .note(Span{}, format("`{0}` is a half of it", name(input ? Kind::InputGradient : Kind::WeightGradient)));
                } else if (input != weight) {
                    sink_.report(diag::GradientHalf, Span{}, name(input ? Kind::InputGradient : Kind::WeightGradient),
                                 name(input ? Kind::WeightGradient : Kind::InputGradient));
                }
            }
        }
    }

    /// The blocks that must be done before block `n` begins.
    std::vector<int> needs(int n) const {
        const BlockCall& b = *blocks_[static_cast<size_t>(n)];
        std::vector<int> found;
        const auto add = [&](int node) {
            if (node >= 0) {
                found.push_back(node);
            }
        };
        switch (b.kind) {
        case Kind::Forward:
            add(find(Kind::Forward, b.stage - 1, b.micro));
            break;
        case Kind::Backward:
        case Kind::InputGradient:
            add(find(Kind::Forward, b.stage, b.micro));
            add(find(Kind::Backward, b.stage + 1, b.micro));
            add(find(Kind::InputGradient, b.stage + 1, b.micro));
            break;
        case Kind::WeightGradient:
            add(find(Kind::InputGradient, b.stage, b.micro));
            break;
        }
        return found;
    }

    void order_in_lanes() {
        for (int n = 0; n < static_cast<int>(blocks_.size()); ++n) {
            for (const int before : needs(n)) {
                const auto [lane, at] = place_[static_cast<size_t>(n)];
                const auto [other, there] = place_[static_cast<size_t>(before)];
                if (lane == other && there > at) {
                    const BlockCall& block = *blocks_[static_cast<size_t>(n)];
                    sink_.report(diag::BlockTooEarly, block.span, words(block), words(*blocks_[static_cast<size_t>(before)]));
                }
            }
        }
    }

    /// Needs, and the block before on the same lane (both blocks of a pair wait for what stands before the pair).
    std::vector<int> waits_for(int n) const {
        std::vector<int> found = needs(n);
        const auto [lane, at] = place_[static_cast<size_t>(n)];
        int before = at - 1;
        while (before >= 0 && lanes_[static_cast<size_t>(lane)][static_cast<size_t>(before)].pairs_with_next) {
            --before;
        }
        if (before >= 0) {
            found.push_back(n - (at - before));
        }
        return found;
    }

    void cycles() {
        const size_t count = blocks_.size();
        std::vector<std::vector<int>> next(count);
        std::vector<int> open(count, 0);
        std::vector<std::vector<int>> users(count);
        for (size_t n = 0; n < count; ++n) {
            next[n] = waits_for(static_cast<int>(n));
            open[n] = static_cast<int>(next[n].size());
            for (const int before : next[n]) {
                users[static_cast<size_t>(before)].push_back(static_cast<int>(n));
            }
        }
        std::deque<int> ready;
        for (size_t n = 0; n < count; ++n) {
            if (open[n] == 0) {
                ready.push_back(static_cast<int>(n));
            }
        }
        size_t done = 0;
        for (; !ready.empty(); ++done) {
            const int n = ready.front();
            ready.pop_front();
            for (const int user : users[static_cast<size_t>(n)]) {
                if (--open[static_cast<size_t>(user)] == 0) {
                    ready.push_back(user);
                }
            }
        }
        if (done < count) {
            report_shortest(next, open);
        }
    }

    void report_shortest(const std::vector<std::vector<int>>& next, const std::vector<int>& open) {
        std::vector<int> best;
        int tries = 0;
        for (size_t start = 0; start < next.size() && tries < 2000; ++start) {
            if (open[start] == 0) {
                continue;
            }
            ++tries;
            std::vector<int> from(next.size(), -1);
            std::deque<int> queue{static_cast<int>(start)};
            bool found = false;
            while (!queue.empty() && !found) {
                const int n = queue.front();
                queue.pop_front();
                for (const int before : next[static_cast<size_t>(n)]) {
                    if (before == static_cast<int>(start)) {
                        std::vector<int> cycle{n};
                        for (int at = n; at != static_cast<int>(start); at = from[static_cast<size_t>(at)]) {
                            cycle.push_back(from[static_cast<size_t>(at)]);
                        }
                        if (best.empty() || cycle.size() < best.size()) {
                            best.assign(cycle.rbegin(), cycle.rend());
                        }
                        found = true;
                        break;
                    }
                    if (from[static_cast<size_t>(before)] < 0) {
                        from[static_cast<size_t>(before)] = n;
                        queue.push_back(before);
                    }
                }
            }
        }
        std::string text;
        for (const int n : best) {
            text += format("`{0}` waits for ", words(*blocks_[static_cast<size_t>(n)]));
        }
        if (best.empty()) {
            return;
        }
        const BlockCall& first = *blocks_[static_cast<size_t>(best.front())];
        auto& diagnostic = sink_.report(diag::DependencyCycle, first.span, text + format("`{0}`", words(first)));
        for (const int n : best) {
            const auto [lane, at] = place_[static_cast<size_t>(n)];
            diagnostic.note(blocks_[static_cast<size_t>(n)]->span,
                            format("`{0}` is number {1} of lane {2}", words(*blocks_[static_cast<size_t>(n)]), at + 1, lane));
        }
    }

    const Lanes& lanes_;
    int stages_;
    int micro_;
    Sink& sink_;
    std::vector<int> lane_of_;
    std::vector<const BlockCall*> blocks_;
    std::vector<std::pair<int, int>> place_; ///< lane and position
    std::map<Key, int> node_;
};

} // namespace

void check_lanes(const Lanes& lanes, int stages, int micro, Sink& sink) {
    Sink found;
    LaneCheck(lanes, stages, micro, found).run();
    for (Diagnostic& diagnostic : found.diagnostics()) {
        sink.add(std::move(diagnostic));
    }
}

} // namespace sspc
