// Errors: where, how many, in which words.
#include "parse_helpers.h"

#include <gtest/gtest.h>

namespace sspc {
namespace {

using Errors = std::vector<std::string>;

std::string message(const std::string& text) {
    const Parsed parsed(text);
    const auto all = parsed.sink.diagnostics();
    return all.empty() ? "" : all[0].message;
}

TEST(SyntaxErrors, SeveralAreReportedInOneGo) {
    const Parsed parsed("model m {\n"
                        "  x = a b c;\n"
                        "  y = (1 + ;\n"
                        "  block b {\n"
                        "    z = sum[k q * w;\n"
                        "    fine = 1;\n"
                        "  }\n"
                        "  input i f32;\n"
                        "}\n"
                        "plan p for m {\n"
                        "  shard a, over dp for attn.{q,k}, x;\n"
                        "  shard b over tp;\n"
                        "  splt batch into 4;\n"
                        "}\n"
                        "modle n {}\n"
                        "plan q for m { split batch 3; }\n");
    EXPECT_EQ(parsed.errors(), (Errors{"SSP0101@2:9", "SSP0101@3:12", "SSP0101@5:15", "SSP0101@8:11", "SSP0101@11:17", "SSP0101@13:3",
                                       "SSP0101@15:1", "SSP0101@16:28"}))
        << parsed.messages();
    EXPECT_FALSE(parsed.module.has_value());
}

TEST(SyntaxErrors, AForgottenSemicolonCostsNothingElse) {
    const Parsed parsed("model m {\n  x = a\n  y = b;\n  z = = c;\n}\n");
    EXPECT_EQ(parsed.errors(), (Errors{"SSP0101@2:7", "SSP0101@4:7"})) << parsed.messages();
}

TEST(SyntaxErrors, SayWhatIsExpectedInTheUsersWords) {
    EXPECT_EQ(message("model m { x = ; }"), "expected an expression, found `;`");
    EXPECT_EQ(message("model m { param [a]; }"), "expected `=`, found `;`");
    EXPECT_EQ(message("model m { block 3 {} }"), "expected `[`, `=` or a name, found `3`");
    EXPECT_EQ(message("model m { x = a"), "expected `;` or an operator, found the end of the file");
    EXPECT_EQ(message("3"), "expected a declaration such as `model` or `plan`, found `3`");
    EXPECT_EQ(message("model m { ; }"), "expected a statement or `}`, found `;`");
    EXPECT_EQ(message("plan p for m { x; }"), "expected a plan statement or `}`, found `x`");
    EXPECT_EQ(message("plan p for m { split a into 2 }"), "expected `;`, `for` or an operator, found `}`");
    EXPECT_EQ(message("plan p for m { shard a over dp x; }"), "expected `;`, `.`, `for`, `cuts`, `flat` or `with`, found `x`");
    EXPECT_EQ(message("plan p for m { recompute ; }"), "expected a path, found `;`");
    EXPECT_EQ(message("model m { x = f(a b); }"), "expected `)`, `,` or an operator, found `b`");
}

TEST(SyntaxErrors, AnItemThatFailsAtItsFirstTokenDoesNotStopTheParser) {
    EXPECT_EQ(Parsed("plan p for m { stages a over pp balance x; split a b; }").errors(), (Errors{"SSP0101@1:41", "SSP0101@1:52"}));
    EXPECT_EQ(Parsed("model m { block 3; block 4; x = ; }").errors(), (Errors{"SSP0101@1:17", "SSP0101@1:26", "SSP0101@1:33"}));
}

TEST(SyntaxErrors, ReservedWordsAreNoNames) {
    const Parsed parsed("model m { param max[a]; }");
    EXPECT_EQ(parsed.errors(), Errors{"SSP0110@1:17"}) << parsed.messages();
}

TEST(SyntaxErrors, AnOpenBraceIsPointedAtFromTheEndOfTheFile) {
    const Parsed parsed("model m {\n  x = 1;\n");
    ASSERT_EQ(parsed.errors(), Errors{"SSP0101@3:1"}) << parsed.messages();
    const Diagnostic d = parsed.sink.diagnostics()[0];
    ASSERT_EQ(d.notes.size(), 1u);
    EXPECT_EQ(parsed.sources.begin(d.notes[0].span), (Position{1, 9}));
}

TEST(SyntaxErrors, StrayClosingBracesDoNotStopTheParser) {
    const Parsed parsed("model m { }\n}\nplan p for m { ) }\nmodel n { x = ]; }\n");
    EXPECT_EQ(parsed.errors(), (Errors{"SSP0101@2:1", "SSP0101@3:16", "SSP0101@4:15"})) << parsed.messages();
}

TEST(SyntaxErrors, ColumnsCountCharactersNotBytes) {
    EXPECT_EQ(Parsed("/* \xC3\xA9\xE2\x82\xAC */ model m { x = ; }").errors(), Errors{"SSP0101@1:24"});
    EXPECT_EQ(Parsed("// \xF0\x9F\x98\x80\n  model m { x = ; }").errors(), Errors{"SSP0101@2:17"});
}

TEST(LexicalErrors, HaveTheirOwnCodes) {
    EXPECT_EQ(Parsed("model m { x = 1; } /* open").errors(), Errors{"SSP0103@1:20"});
    EXPECT_EQ(Parsed("import \"open;\nmodel m {}").errors(), (Errors{"SSP0104@1:8", "SSP0101@1:13"}));
    EXPECT_EQ(Parsed("model m { x = a @@ \xC3\xA9 ; }").errors(), (Errors{"SSP0102@1:17", "SSP0102@1:20"}));
    EXPECT_EQ(Parsed(std::string("model\0m", 7)).errors(), Errors{"SSP0107@1:6"});
    EXPECT_EQ(Parsed("model \xFF {}").errors(), Errors{"SSP0106@1:7"});
    EXPECT_EQ(Parsed("model \xED\xA0\x80 {}").errors(), Errors{"SSP0106@1:7"}); // a surrogate
    EXPECT_EQ(Parsed(std::string((4u << 20) + 1, ' ')).errors(), Errors{"SSP0111@1:1"});
}

TEST(Limits, DeepNestingIsRefusedAndModestNestingIsNot) {
    const auto repeat = [](const std::string& text, int times) {
        std::string out;
        for (int i = 0; i < times; ++i) {
            out += text;
        }
        return out;
    };
    const auto is_refused = [](const std::string& text) {
        const Errors errors = Parsed(text).errors();
        return errors.size() == 1 && errors[0].starts_with("SSP0105");
    };
    for (int deep : {1000, 20000}) {
        EXPECT_TRUE(is_refused("data d = " + repeat("(", deep) + "1" + repeat(")", deep) + ";"));
        EXPECT_TRUE(is_refused("data d = " + repeat("-", deep) + "1;"));
        EXPECT_TRUE(is_refused("data d = " + repeat("not ", deep) + "1;"));
        EXPECT_TRUE(is_refused("data d = " + repeat("1 ^ ", deep) + "1;"));
        EXPECT_TRUE(is_refused("data d = " + repeat("sum[a] ", deep) + "1;"));
        EXPECT_TRUE(is_refused("data d = " + repeat("f(", deep)));
        EXPECT_TRUE(is_refused("data d = x" + repeat("[a = 1]", deep + 1) + ";"));
        EXPECT_TRUE(is_refused("data d = x" + repeat(".a", deep + 1) + ";"));
        EXPECT_TRUE(is_refused("data d = 1" + repeat(" + 1", deep + 1) + ";"));
        EXPECT_TRUE(is_refused("model m { " + repeat("block b {", deep)));
    }
    EXPECT_TRUE(Parsed("data d = " + repeat("(", 190) + "1" + repeat(")", 190) + ";").module.has_value());
    EXPECT_TRUE(Parsed("data d = 1" + repeat(" - 1", 900) + ";").module.has_value());
    EXPECT_TRUE(Parsed("model m { if a {} " + repeat("else if a {} ", 2000) + " }").module.has_value());
    EXPECT_TRUE(Parsed("model m { " + repeat("x = -1 + sum[a] x;", 2000) + " }").module.has_value());
}

TEST(Limits, APatternOfTooManyNamesIsRefused) {
    EXPECT_EQ(Parsed("plan p for m { recompute {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}; }").errors(), Errors{"SSP0113@1:26"});
}

} // namespace
} // namespace sspc
