// Whole files, and what their trees hold.
#include "parse_helpers.h"

#include <gtest/gtest.h>

#include <chrono>

namespace sspc {
namespace {

TEST(Parser, EverySampleParses) {
    ASSERT_EQ(sample_files().size(), 8u);
    for (const auto& path : sample_files()) {
        const Parsed parsed(read_text(path));
        EXPECT_TRUE(parsed.module.has_value()) << path.filename() << "\n" << parsed.messages();
        EXPECT_EQ(parsed.sink.error_count(), 0u);
    }
}

TEST(Parser, TheTreeOfEveryStatementPrintsAsExpected) {
    const std::string folder = std::string(SSPC_SOURCE_DIR) + "/tests/data/parse/";
    const Parsed parsed(read_text(folder + "every_statement.ssp"));
    ASSERT_TRUE(parsed.module.has_value()) << parsed.messages();
    const std::string printed = syntax::print_ast(*parsed.module);
    if (std::getenv("SSPC_UPDATE_GOLDENS") != nullptr) {
        std::ofstream(folder + "every_statement.ast.expected", std::ios::binary) << printed;
    }
    EXPECT_EQ(printed, read_text(folder + "every_statement.ast.expected"));
}

TEST(Parser, SpansAreBytesOfTheFile) {
    const std::string text = "\xEF\xBB\xBF// caf\xC3\xA9 \xF0\x9F\x98\x80\nmodel m { x = a + bb; }\n";
    const Parsed parsed(text);
    ASSERT_TRUE(parsed.module.has_value()) << parsed.messages();
    const auto& assign = std::get<syntax::Assign>(parsed.module->models[0].body[0].kind);
    const auto& sum = std::get<syntax::Binary>(assign.value->kind);
    EXPECT_EQ(parsed.sources.text(sum.right->span), "bb");
    EXPECT_EQ(parsed.sources.text(sum.op_span), "+");
    EXPECT_EQ(parsed.sources.text(assign.value->span), "a + bb");
    EXPECT_EQ(parsed.sources.text(parsed.module->models[0].body[0].span), "x = a + bb;");
    EXPECT_EQ(parsed.sources.begin(sum.right->span), (Position{2, 19}));
}

TEST(Parser, DocumentationGoesWithTheNextDeclaration) {
    const Parsed parsed("/// one\n///two\nmodel a {}\n/// three\n\n// four\ndefault plan p for a {}\nplan q for a {}");
    ASSERT_TRUE(parsed.module.has_value()) << parsed.messages();
    EXPECT_EQ(parsed.module->models[0].doc, "one\ntwo");
    EXPECT_EQ(parsed.module->plans[0].doc, "three");
    EXPECT_TRUE(parsed.module->plans[0].is_default);
    EXPECT_EQ(parsed.module->plans[1].doc, "");
}

TEST(Parser, APatternEndsAtASpace) {
    const auto selectors = [](const std::string& text) {
        const Parsed parsed("plan p for m { recompute " + text + "; }");
        if (!parsed.module) {
            return parsed.messages();
        }
        std::string out;
        for (const auto& s : std::get<syntax::Recompute>(parsed.module->plans[0].body[0].kind).tasks) {
            out += (out.empty() ? "" : " | ") + syntax::print_ast(s) + (s.text == syntax::print_ast(s) ? "" : " from " + s.text);
        }
        return out;
    };
    EXPECT_EQ(selectors("grad *, grad*, grad, grad.x"), "grad * | grad* | grad | grad.x");
    EXPECT_EQ(selectors("comm(grad a, update b), update **"), "comm(grad a) | comm(update b) | update **");
    EXPECT_EQ(selectors("w{q,k}{1,2}.x!"), "{wq1, wq2, wk1, wk2}.x! from w{q,k}{1,2}.x!");
    EXPECT_EQ(selectors("a*b.*_norm#3"), "a*b.*_norm#3");
}

TEST(Parser, AnEmptyFileIsAnEmptyModule) {
    for (const char* text : {"", "\n", "// only a comment", "/* a **/ /***/", "\xEF\xBB\xBF"}) {
        EXPECT_TRUE(Parsed(text).module.has_value()) << text;
    }
}

TEST(Parser, AHundredLinesTakeFewMilliseconds) {
    const std::string text = read_text(std::string(SSPC_SOURCE_DIR) + "/tests/data/parse/gpt.ssp");
    const auto start = std::chrono::steady_clock::now();
    const Parsed parsed(text);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    RecordProperty("milliseconds", std::to_string(took.count()));
    std::cout << "parsed in " << took.count() << " ms\n";
    EXPECT_LT(took.count(), 2000); // a guard against explosion; unoptimised and sanitized builds run this too
}

} // namespace
} // namespace sspc
