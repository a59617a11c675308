// Schedules as PyTorch's pipelining writes them, out and in; and as JSON with the same tokens.
#include "backend/report/timeline.h"

#include <nlohmann/json.hpp>

#include <cctype>

namespace sspc::backend {

namespace {

using Kind = BlockCall::Kind;

std::vector<std::string> tokens(const std::vector<BlockCall>& lane) {
    std::vector<std::string> all;
    for (size_t i = 0; i < lane.size(); ++i) {
        if (lane[i].pairs_with_next && i + 1 < lane.size()) {
            all.push_back("(" + to_token(lane[i]) + ";" + to_token(lane[i + 1]) + ")OVERLAP_F_B");
            ++i;
        } else {
            all.push_back(to_token(lane[i]));
        }
    }
    return all;
}

/// `12F3` at the front of `text`, which is shortened by it.
std::optional<BlockCall> take_block(std::string_view& text) {
    const auto number = [&]() -> std::optional<int> {
        int value = 0;
        size_t digits = 0;
        while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits]))) {
            value = value * 10 + (text[digits] - '0');
            if (++digits > 7) {
                return std::nullopt;
            }
        }
        if (digits == 0) {
            return std::nullopt;
        }
        text.remove_prefix(digits);
        return value;
    };
    BlockCall block;
    const auto stage = number();
    if (!stage || text.empty()) {
        return std::nullopt;
    }
    switch (text.front()) {
    case 'F':
        block.kind = Kind::Forward;
        break;
    case 'B':
        block.kind = Kind::Backward;
        break;
    case 'I':
        block.kind = Kind::InputGradient;
        break;
    case 'W':
        block.kind = Kind::WeightGradient;
        break;
    default:
        return std::nullopt;
    }
    text.remove_prefix(1);
    const auto micro = number();
    if (!micro) {
        return std::nullopt;
    }
    block.stage = *stage;
    block.micro = *micro;
    return block;
}

bool take(std::string_view& text, std::string_view expected) {
    if (!text.starts_with(expected)) {
        return false;
    }
    text.remove_prefix(expected.size());
    return true;
}

/// Appends the block or pair that `token` spells.
bool parse_token(std::string_view token, std::vector<BlockCall>& lane) {
    if (take(token, "(")) {
        auto first = take_block(token);
        if (!first || !take(token, ";")) {
            return false;
        }
        const auto second = take_block(token);
        if (!second || token != ")OVERLAP_F_B") {
            return false;
        }
        first->pairs_with_next = true;
        lane.push_back(*first);
        lane.push_back(*second);
        return true;
    }
    const auto block = take_block(token);
    if (!block || !token.empty()) {
        return false;
    }
    lane.push_back(*block);
    return true;
}

} // namespace

std::string to_csv(const Lanes& lanes) {
    std::string text;
    for (const auto& lane : lanes) {
        std::string line;
        for (const std::string& token : tokens(lane)) {
            line += (line.empty() ? "" : ",") + token;
        }
        text += line + "\n";
    }
    return text;
}

std::string lanes_json(const Lanes& lanes) {
    nlohmann::ordered_json document;
    document["lanes"] = nlohmann::ordered_json::array();
    for (const auto& lane : lanes) {
        document["lanes"].push_back(tokens(lane));
    }
    return document.dump() + "\n";
}

std::optional<Lanes> parse_csv(FileId file, std::string_view text, Sink& sink) {
    Lanes lanes;
    bool good = true;
    for (size_t at = 0; at < text.size();) {
        const size_t line_end = std::min(text.find('\n', at), text.size());
        lanes.emplace_back();
        for (size_t from = at; from <= line_end;) {
            const size_t to = std::min(text.substr(0, line_end).find(',', from), line_end);
            size_t begin = from;
            size_t end = to;
            while (begin < end && std::isspace(static_cast<unsigned char>(text[begin]))) {
                ++begin;
            }
            while (end > begin && std::isspace(static_cast<unsigned char>(text[end - 1]))) {
                --end;
            }
            const std::string_view token = text.substr(begin, end - begin);
            // An empty cell is a bubble, which the order does not need.
            if (!token.empty() && !parse_token(token, lanes.back())) {
                const Span span{file, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
                good = false;
                sink.report(diag::NoScheduleToken, span, std::string(token))
                    .help("a token is stage, kind and micro-batch: `0F3` forward, `0B3` backward, "
                          "`0I3` and `0W3` its halves, `(1F1;0B0)OVERLAP_F_B` a pair");
            }
            from = to + 1;
        }
        if (lanes.back().empty() && line_end + 1 >= text.size()) {
            lanes.pop_back(); // a blank last line
        }
        at = line_end + 1;
    }
    if (!good) {
        return std::nullopt;
    }
    return lanes;
}

} // namespace sspc::backend
