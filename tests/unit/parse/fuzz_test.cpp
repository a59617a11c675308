// Any bytes give a tree or an error, and end.
#include "parse_helpers.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

namespace sspc {
namespace {

/// Words, numbers, signs and spaces: enough to cut a text where tokens meet.
std::vector<std::string> pieces_of(const std::string& text) {
    std::vector<std::string> pieces;
    const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    for (size_t i = 0; i < text.size();) {
        size_t end = i + 1;
        while (is_word(text[i]) && end < text.size() && is_word(text[end])) {
            ++end;
        }
        pieces.push_back(text.substr(i, end - i));
        i = end;
    }
    return pieces;
}

void check(const std::string& text) {
    const Parsed parsed(text);
    ASSERT_NE(parsed.module.has_value(), parsed.sink.has_errors()) << text;
    for (const Diagnostic& d : parsed.sink.diagnostics()) {
        ASSERT_LE(d.span.begin, d.span.end) << text;
        ASSERT_LE(d.span.end, text.size()) << text;
    }
    if (parsed.module) {
        syntax::print_ast(*parsed.module);
    } else {
        parsed.messages();
    }
}

TEST(Fuzz, BrokenSamplesAndRandomBytesGiveATreeOrAnError) {
    const char* given = std::getenv("SSPC_SEED");
    const auto seed = static_cast<uint32_t>(given != nullptr ? std::atoi(given) : 1);
    SCOPED_TRACE("SSPC_SEED=" + std::to_string(seed));
    std::mt19937 random(seed);
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    std::vector<std::vector<std::string>> samples;
    for (const auto& path : sample_files()) {
        samples.push_back(pieces_of(read_text(path)));
    }
    for (int round = 0; round < 2000; ++round) {
        std::string text;
        if (round % 10 == 0) {
            for (size_t n = below(300); n > 0; --n) {
                text += static_cast<char>(random() % (round % 20 == 0 ? 256 : 128));
            }
        } else {
            const auto& all = samples[below(samples.size())];
            const size_t length = std::min<size_t>(all.size(), 50 + below(400));
            const size_t first = below(all.size() - length + 1);
            std::vector<std::string> pieces(all.begin() + static_cast<std::ptrdiff_t>(first),
                                            all.begin() + static_cast<std::ptrdiff_t>(first + length));
            if (round % 3 != 0) {
                pieces.insert(pieces.begin(), round % 2 == 0 ? "model m { " : "plan p for m { ");
            }
            for (size_t n = 1 + below(5); n > 0 && !pieces.empty(); --n) {
                const auto at = static_cast<std::ptrdiff_t>(below(pieces.size()));
                switch (below(3)) {
                case 0: pieces.erase(pieces.begin() + at); break;
                case 1: pieces.insert(pieces.begin() + at, pieces[static_cast<size_t>(at)]); break;
                default: std::swap(pieces[static_cast<size_t>(at)], pieces[below(pieces.size())]); break;
                }
            }
            for (const std::string& piece : pieces) {
                text += piece;
            }
        }
        check(text);
        if (HasFatalFailure()) {
            return;
        }
    }
}

} // namespace
} // namespace sspc
