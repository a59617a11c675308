// At least 2,000 seeded mutants of the samples' programs: each is refused by the checker, or shown to mean the same by `equivalent`.
#include "frontend/elaborate/elaborate.h"
#include "ir/check/check.h"
#include "ir/passes/compile.h"
#include "ir/support/render_text.h"
#include "tests/mutation/equivalent.h"
#include "tests/mutation/mutate.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>

namespace sspc::mutation {
namespace {

struct Case {
    std::string file;
    std::string plan;
    std::vector<std::pair<std::string, std::string>> set;
};
const std::vector<Case> cases = {
    {"samples/mlp_digits.ssp", "data_parallel", {}},
    {"samples/mlp_digits.ssp", "tensor_parallel", {}},
    {"samples/mlp_digits.ssp", "pipeline", {}},
    {"samples/gpt.ssp", "megatron", {{"layers", "2"}}},
    {"tests/mutation/plans.ssp", "zero", {}},
    {"tests/mutation/plans.ssp", "zero3", {}},
    {"tests/mutation/plans.ssp", "pipeline", {}},
    {"tests/mutation/plans.ssp", "deep", {}},
    {"tests/mutation/plans.ssp", "sequence", {}},
    {"tests/mutation/plans.ssp", "everything", {}},
};

std::optional<Compiled> compiled(const Case& from) {
    SourceMap sources;
    Sink sink;
    ElaborateOptions options;
    options.plan = from.plan;
    options.set = from.set;
    const std::filesystem::path root(SSPC_SOURCE_DIR);
    options.library_folders = {root / "stdlib"};
    auto elaborated = elaborate(root / from.file, options, sources, sink);
    std::optional<Compiled> result;
    if (elaborated) {
        result = compile(std::move(elaborated->graph), std::move(elaborated->plan), {}, sink);
    }
    EXPECT_TRUE(result) << render_text(sink, sources);
    return result;
}

std::string check(const Compiled& original, const Program& program) {
    Sink sink;
    check_program(program, original.graph, original.plan, sink);
    std::string text;
    for (const Diagnostic& diagnostic : sink.diagnostics()) {
        text += std::string(diagnostic.code) + ": " + diagnostic.message + "\n";
    }
    return text;
}

/// Why a change of this kind may change nothing; `difference_in_meaning` has shown that here it does not.
std::string_view why_equal(Kind kind) {
    switch (kind) {
    case Kind::Drop:
    case Kind::MissingEvent: return "what it did is also done, or ordered, by another instruction";
    case Kind::Duplicate: return "doing it twice leaves the same values";
    case Kind::SwapNeighbours:
    case Kind::EarlyReducer: return "neither of the two reads or writes what the other writes";
    case Kind::SwapAcrossWait: return "what was moved is not what the event orders";
    case Kind::OperandExchanged: return "the operation is the same with its operands exchanged";
    case Kind::EarlyFree: return "nothing between the two places uses the memory";
    case Kind::MovedBuffer:
    case Kind::WrongFrame: return "nothing else that is alive lies at the new place";
    case Kind::SkippedFill: return "everything that is read is written before";
    case Kind::WrongCut:
    case Kind::WrongLayout: return "the parts it names are the same: a mesh axis of size 1, or a size that both cuts leave alike";
    case Kind::WrongGroup: return "the group has the same members";
    case Kind::WrongPeer:
    case Kind::WrongReduction:
    case Kind::WrongCollective:
    case Kind::ConstantChanged:
    case Kind::ChangedMicro:
    case Kind::Count: break;
    }
    return "the values are the same";
}

TEST(Mutation, TheCheckerRefusesEveryMutantThatDoesNotMeanTheSame) {
    const char* given = std::getenv("SSPC_SEED");
    const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
    const char* many = std::getenv("SSPC_MUTANTS");
    const int each = many != nullptr ? std::atoi(many) : 260;
    std::map<Kind, std::array<int, 3>> table; // made, refused, equal
    int made = 0, holes = 0;
    std::vector<std::string> survivors;
    for (size_t n = 0; n < cases.size(); ++n) {
        const auto original = compiled(cases[n]);
        ASSERT_TRUE(original);
        ASSERT_EQ(check(*original, original->program), "") << cases[n].plan;
        ASSERT_EQ(difference_in_meaning(original->program, original->program), "") << cases[n].plan;
        std::mt19937_64 random(seed * 1000 + n);
        for (int i = 0; i < each;) {
            const auto kind = static_cast<Kind>(random() % static_cast<uint64_t>(Kind::Count));
            const auto mutant = mutate(original->program, kind, random);
            if (!mutant) {
                // No such place in this program; another kind is drawn. It counts, so that the loop ends whatever the program has.
                i += random() % 8 == 0 ? 1 : 0;
                continue;
            }
            ++i;
            ++made;
            auto& row = table[kind];
            ++row[0];
            if (!check(*original, mutant->program).empty()) {
                ++row[1];
                continue;
            }
            const std::string difference = difference_in_meaning(original->program, mutant->program);
            if (difference.empty()) {
                ++row[2];
                survivors.push_back(std::string(cases[n].plan) + ": " + std::string(name_of(kind)) + " at " + mutant->what + ": " +
                                    std::string(why_equal(kind)));
                continue;
            }
            ++holes;
            ADD_FAILURE() << "seed " << seed << ", plan " << cases[n].plan << ", mutant " << i << ": " << name_of(kind) << " at "
                          << mutant->what << " is accepted, but " << difference;
            if (holes > 20) {
                return;
            }
        }
    }
    for (const auto& [kind, row] : table) {
        std::cout << name_of(kind) << ": " << row[0] << " made, " << row[1] << " refused, " << row[2] << " shown to mean the same\n";
    }
    std::cout << "accepted, and shown to mean the same (equal value numbers, equal messages, no race):\n";
    for (const std::string& survivor : survivors) {
        std::cout << "  " << survivor << "\n";
    }
    if (many == nullptr) {
        EXPECT_GE(made, 2000);
    }
    EXPECT_GE(table.size(), 14U);
}

} // namespace
} // namespace sspc::mutation
