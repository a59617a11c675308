// Ids, tables, formats and checks.
#include "ir/support/check.h"
#include "ir/support/format.h"
#include "ir/support/id.h"
#include "ir/support/match.h"

#include <gtest/gtest.h>

#include <unordered_set>

namespace sspc {
namespace {

struct ThingTag;
using ThingId = Id<ThingTag>;

TEST(Id, IsInvalidUntilATableGivesIt) {
    EXPECT_FALSE(ThingId().valid());
    IdVector<ThingId, std::string> things;
    const ThingId a = things.push_back("a");
    const ThingId b = things.push_back("b");
    EXPECT_LT(a, b);
    EXPECT_EQ(things[b], "b");
    std::vector<ThingId> all;
    for (ThingId id : things.ids()) {
        all.push_back(id);
    }
    EXPECT_EQ(all, (std::vector{a, b}));
    EXPECT_TRUE(std::unordered_set<ThingId>({a, b, a}).size() == 2);
}

TEST(Format, PlacesAreNumberedAndOtherBracesStay) {
    EXPECT_EQ(format("{1} of {0}, {q,k} {2} {", 3, "two"), "two of 3, {q,k} {2} {");
    EXPECT_EQ(format("{0} {1} {2}", 0.1, true, 'c'), "0.1 true c");
    static_assert(count_arguments("{0} and {2} {x} {") == 3);
}

TEST(Check, FailureThrowsWithTheConditionAndThePlace) {
    try {
        SSPC_CHECK(1 + 1 == 3, "sums are wrong");
        FAIL();
    } catch (const InternalError& e) {
        EXPECT_EQ(e.file, "id_test.cpp");
        EXPECT_NE(e.message.find("1 + 1 == 3"), std::string::npos);
    }
}

TEST(Match, CallsTheFunctionOfTheAlternative) {
    const std::variant<int, std::string> v = std::string("x");
    EXPECT_EQ(std::visit(Match{[](int) { return 1; }, [](const std::string&) { return 2; }}, v), 2);
}

} // namespace
} // namespace sspc
