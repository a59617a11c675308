// The sink and the two renderings.
#include "ir/support/render_json.h"
#include "ir/support/render_text.h"
#include "ir/support/sink.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>

namespace sspc {
namespace {

struct Fixture : testing::Test {
    SourceMap sources;
    FileId file = sources.add_file("gpt.ssp", "plan p for m {\n\tshard hd over tp;\n}\n");
    Sink sink;
    Span hd{file, 22, 24};
};
using Diagnostics = Fixture;

TEST_F(Diagnostics, AreSortedByPlaceWithoutDuplicates) {
    sink.report(diag::NotImplemented, Span{}, "nowhere");
    sink.report(diag::UnknownName, hd, "hd");
    sink.report(diag::UnknownName, Span{file, 5, 6}, "p");
    sink.report(diag::UnknownName, hd, "hd");
    const auto all = sink.diagnostics();
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].span.begin, 5u);
    EXPECT_EQ(all[1].span, hd);
    EXPECT_EQ(all[2].code, "SSP0001");
    EXPECT_EQ(sink.error_count(), 4u);
}

TEST_F(Diagnostics, TextHasTheLineTheCaretTheNotesAndHelpLast) {
    sink.report(diag::UnknownName, hd, "hd").help("axes: batch").note(Span{file, 0, 40}, "in this plan");
    EXPECT_EQ(render_text(sink, sources), "gpt.ssp:2:8: error[SSP0201]: `hd` is not declared\n"
                                          "    2 |     shard hd over tp;\n"
                                          "      |           ^~\n"
                                          "gpt.ssp:1:1: note: in this plan\n"
                                          "    1 | plan p for m {\n"
                                          "      | ^~~~~~~~~~~~~~ \xE2\x80\xA6 to line 3\n"
                                          "help: axes: batch\n");
    EXPECT_NE(render_text(sink, sources, Color::Always).find("\x1b[1;31merror[SSP0201]:\x1b[0m"),
              std::string::npos);
}

TEST_F(Diagnostics, JsonHasTheKeysOfTheContractInOrder) {
    sink.report(diag::UnknownName, hd, "h\xFF").note(Span{}, "n");
    EXPECT_EQ(diagnostics_json(sink, sources).dump(),
              R"([{"code":"SSP0201","severity":"error","message":"`h)"
              "\xEF\xBF\xBD"
              R"(` is not declared","file":"gpt.ssp","line":2,"column":8,"notes":[{"message":"n","file":null,"line":null,"column":null}]}])");
}

TEST_F(Diagnostics, PastTheLimitAreCountedOnly) {
    Sink small(2);
    for (int i = 0; i < 5; ++i) {
        small.report(diag::NotImplemented, Span{}, i).note(hd, "n");
    }
    EXPECT_EQ(small.error_count(), 5u);
    EXPECT_EQ(small.diagnostics().size(), 2u);
}

TEST_F(Diagnostics, LongLinesAreShownAroundTheCaret) {
    SourceMap map;
    const FileId wide = map.add_file("w.ssp", std::string(1000, 'a') + "!" + std::string(1000, 'b'));
    sink.report(diag::UnknownName, Span{wide, 1000, 1001}, "!");
    const std::string text = render_text(sink, map);
    EXPECT_LT(text.size(), 500u);
    EXPECT_NE(text.find("a!b"), std::string::npos);
}

TEST(Registry, CodesAndNamesAreUniqueAndCodesAreWellFormed) {
    std::set<std::string_view> codes, names;
    for (const RegisteredDiagnostic& d : registered_diagnostics()) {
        EXPECT_TRUE(codes.insert(d.code).second) << d.code;
        EXPECT_TRUE(names.insert(d.name).second) << d.name;
        EXPECT_EQ(d.code.size(), 7u) << d.code;
        EXPECT_EQ(d.code.substr(0, 3), "SSP");
        EXPECT_NE(d.format.back(), '.') << d.code;
    }
}

} // namespace
} // namespace sspc
