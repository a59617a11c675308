// A schedule drawn in the terminal: time runs to the right, one row a lane.
#include "backend/report/table.h"
#include "backend/report/timeline.h"

#include <algorithm>
#include <set>

namespace sspc::backend {

namespace {

using Kind = BlockCall::Kind;

const char* letter(Kind kind) {
    switch (kind) {
    case Kind::Forward:
        return "F";
    case Kind::Backward:
        return "B";
    case Kind::InputGradient:
        return "I";
    case Kind::WeightGradient:
        return "W";
    }
    return "?";
}

/// Stages are shown only where a lane holds several.
std::string label(const BlockCall& block, bool with_stage) {
    return (with_stage ? std::to_string(block.stage) : "") + letter(block.kind) +
           std::to_string(block.micro);
}

} // namespace

std::string timeline_text(const Timeline& timeline, size_t width) {
    bool with_stage = false;
    size_t widest = 1;
    for (const auto& lane : timeline.lanes) {
        std::set<int> stages;
        for (const auto& entry : lane) {
            stages.insert(entry.block.stage);
        }
        with_stage = with_stage || stages.size() > 1;
    }
    for (const auto& lane : timeline.lanes) {
        for (const auto& entry : lane) {
            const size_t length = label(entry.block, with_stage).size();
            // A block of two units has twice the room.
            widest = std::max(widest, (length + static_cast<size_t>(entry.length)) /
                                          static_cast<size_t>(entry.length));
        }
    }
    const size_t cell = std::max<size_t>(widest, 2);
    const std::string first = "lane " + std::to_string(std::max<size_t>(timeline.lanes.size(), 1) - 1);
    const size_t margin = first.size() + 2;
    const size_t per_piece = std::max<size_t>(1, (width - margin - 1) / cell);

    std::vector<std::string> rows;
    for (size_t l = 0; l < timeline.lanes.size(); ++l) {
        std::string row(static_cast<size_t>(timeline.length) * cell, ' ');
        for (size_t unit = 0; unit < static_cast<size_t>(timeline.length); ++unit) {
            row[unit * cell] = '.';
        }
        for (const auto& entry : timeline.lanes[l]) {
            const size_t at = static_cast<size_t>(entry.start) * cell;
            const size_t room = static_cast<size_t>(entry.length) * cell;
            std::string text = label(entry.block, with_stage);
            text.resize(room - 1, entry.length > 1 ? '-' : ' ');
            row.replace(at, room, text + " ");
        }
        rows.push_back(std::move(row));
    }
    std::string out;
    for (size_t from = 0; from < static_cast<size_t>(timeline.length); from += per_piece) {
        out += from > 0 ? "\n" : "";
        for (size_t l = 0; l < rows.size(); ++l) {
            std::string name = "lane " + std::to_string(l);
            name.resize(margin, ' ');
            std::string piece = rows[l].substr(from * cell, per_piece * cell);
            piece.erase(piece.find_last_not_of(' ') + 1);
            out += name + piece + "\n";
        }
    }
    std::string held;
    for (int count : timeline.held) {
        held += (held.empty() ? "" : " ") + std::to_string(count);
    }
    out += "\nlength " + std::to_string(timeline.length) +
           " (a forward is 1, a backward 2), idle " + fixed(100 * timeline.bubble, 1) +
           " %\nactivations held at most, by lane: " + held + "\n";
    for (int lane : timeline.waiting) {
        out += "lane " + std::to_string(lane) + " waits for ever after its last block\n";
    }
    return out;
}

} // namespace sspc::backend
