// Each fault seeded into the compiler is caught: by the checker, by the numbers, or by both.
#include "tests/random/run_case.h"

#include <gtest/gtest.h>

#include <iomanip>
#include <iostream>
#include <set>

namespace sspc::random {

namespace {

const std::string file = std::string(SSPC_SOURCE_DIR) + "/tests/random/faults.ssp";

/// `SSP0507, SSP0511`
std::string codes_in(const std::string& text) {
    std::set<std::string> codes;
    for (size_t at = text.find("error[SSP"); at != text.npos; at = text.find("error[SSP", at + 1)) {
        codes.insert(text.substr(at + 6, 7));
    }
    std::string out;
    for (const std::string& code : codes) {
        out += (out.empty() ? "" : ", ") + code;
    }
    return out;
}

} // namespace

TEST(SeededFaults, NoneIsFoundWhereNoneIsSeeded) {
    const Outcome outcome = run_case(file);
    EXPECT_TRUE(outcome.fine()) << outcome.diagnostics << outcome.rejected << outcome.different;
}

TEST(SeededFaults, EachIsCaught) {
    EXPECT_GE(seeded_faults.size(), 20u);
    for (const NamedFault& named : seeded_faults) {
        CaseOptions options;
        options.fault = named.fault;
        const Outcome outcome = run_case(file, options);
        std::string number = outcome.different.substr(0, outcome.different.find('\n'));
        std::cout << "  " << std::left << std::setw(22) << named.name << (outcome.rejected.empty() ? "" : "checker: ")
                  << codes_in(outcome.rejected) << (outcome.rejected.empty() || number.empty() ? "" : "; ")
                  << (number.empty() ? "" : "numbers: ") << number << "\n";
        EXPECT_TRUE(outcome.refused.empty()) << named.name << ": the plan was refused\n" << outcome.diagnostics;
        EXPECT_EQ(outcome.different.find("internal error"), std::string::npos) << named.name << ": " << outcome.different;
        EXPECT_FALSE(outcome.fine()) << "nobody sees that " << named.text << " (" << named.name << ")";
        EXPECT_FALSE(outcome.rejected.empty()) << "the checker does not see that " << named.text << " (" << named.name << ")";
    }
}

} // namespace sspc::random
