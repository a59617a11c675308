// What is wrong with a file is said by code, line and column; several things in one go.
#include "tests/unit/elaborate/helper.h"

namespace sspc {
namespace {

using testing::run_text;
using testing::TempFolder;

/// Codes of a model over x[a: 4, b: 6] with this body, which begins on line 5.
std::string in_model(const std::string& body, const std::string& before = "") {
    return run_text("import std.nn; import std.optim;" + before +
                    "\nmodel t(a: dim = 4, b: dim = 6) {\n  dim c = b;\n  input x: float[a, b];\n" + body + "\n}\n")
        .codes();
}

/// Codes of a plan of the same model; the statements begin on line 8.
std::string in_plan(const std::string& statements) {
    return run_text("import std.nn; import std.schedules;\nmodel t(a: dim = 4, b: dim = 6) {\n  input x: float[a, b];\n"
                    "  block first { y = x * 2; }\n  block last { z = y + 1; output z; }\n}\nplan p(n: int = 2) for t {\n" +
                    statements + "\n}\n")
        .codes();
}

TEST(Names, UnknownOnesAreNotDeclared) {
    EXPECT_EQ(in_model("y = xx * 2;\noutput y;"), "SSP0201 5:5\n");
    EXPECT_EQ(in_model("y = exp;"), "SSP0201 5:5\n");
}

TEST(Names, WhatIsMadeOfAWrongValueIsNotReported) {
    EXPECT_EQ(in_model("y = xx * 2;\nz = y + 1;\nw = sum[a] z;\noutput w;"), "SSP0201 5:5\n");
}

TEST(Names, AllErrorsAreFoundInOneGo) {
    EXPECT_EQ(in_model("y = xx;\nz = sum[q] x;\nw = nope(x);\noutput x;"), "SSP0201 5:5\nSSP0202 6:9\nSSP0204 7:5\n");
}

TEST(Names, SuggestionsAreGiven) {
    const auto result = run_text("model t(hidden: dim = 4) {\n  input x: float[hidden];\n  y = sum[hiden] x;\n  output y;\n}\n");
    EXPECT_EQ(result.codes(), "SSP0202 3:11\n");
    EXPECT_NE(result.text().find("did you mean `hidden`?"), std::string::npos) << result.text();
}

TEST(Axes, StandOnceInATensor) {
    EXPECT_EQ(in_model("param w[a, a] = zeros;"), "SSP0203 5:12\n");
    EXPECT_EQ(in_model("y = x * x[b as c];\nz = y[b as c];\noutput z;"), "SSP0203 6:12\n");
    EXPECT_EQ(in_model("y = sum[a, a] x;"), "SSP0203 5:12\n");
}

TEST(Axes, AreThoseOfTheValue) {
    EXPECT_EQ(in_model("y = sum[c] x;"), "SSP0215 5:9\n");
    EXPECT_EQ(in_model("y = x[a as b];"), "SSP0216 5:12\n");
    EXPECT_EQ(in_model("y[a, c] = x * 2;"), "SSP0212 5:1\n");
    EXPECT_EQ(in_model("y = x[b = 9];"), "SSP0228 5:11\n");
    EXPECT_EQ(in_model("y = x[b = 2..9];"), "SSP0228 5:11\n");
    EXPECT_EQ(in_model("y = x[b as (two: 4, rest)];"), "SSP0214 5:7\n");
    EXPECT_EQ(in_model("y = x[b = 0..3] + x;"), "SSP0216 5:5\n");
}

TEST(Types, DoNotMix) {
    EXPECT_EQ(in_model("k = i64(x);\ny = x + k;"), "SSP0209 6:5\n");
    EXPECT_EQ(in_model("y = x and true;"), "SSP0210 5:5\n");
    EXPECT_EQ(in_model("y = f64(x) * x;"), "SSP0209 5:5\n");
    EXPECT_EQ(in_model("k = i64(x);\ny = k * 0.5;"), "SSP0209 6:5\n");
    EXPECT_EQ(in_model("y = exp(i64(x));"), "SSP0210 5:9\n");
    EXPECT_EQ(in_model("y = where(x, x, 0);"), "SSP0210 5:11\n");
}

TEST(Types, ThatAreNotBuiltAreRefused) {
    EXPECT_EQ(in_model("param w: bf16[a] = zeros;"), "SSP0001 5:10\n");
    EXPECT_EQ(in_model("param w: f31[a] = zeros;"), "SSP0204 5:10\n");
}

TEST(Calls, ArgumentsFitTheParameters) {
    EXPECT_EQ(in_model("y = softmax(x);"), "SSP0207 5:5\n");
    EXPECT_EQ(in_model("y = softmax(x, x, over: b);"), "SSP0205 5:16\n");
    EXPECT_EQ(in_model("y = softmax(x, over d: b);"), "SSP0206 5:21\n");
    EXPECT_EQ(in_model("y = dropout(x, rat: 0.1);"), "SSP0206 5:16\n");
    EXPECT_EQ(in_model("y = dropout(x, rate: 0.1, rate: 0.2);").substr(0, 7), "SSP0208");
    EXPECT_EQ(in_model("y = dropout(x, rate: x);"), "SSP0211 5:22\n");
    EXPECT_EQ(in_model("y = dropout(x, rate: \"much\");"), "SSP0210 5:22\n");
    EXPECT_EQ(in_model("y = softmax(x, over: d);"), "SSP0202 5:22\n");
    EXPECT_EQ(in_model("y = where(x > 0, x);"), "SSP0205 5:5\n");
}

TEST(Calls, ModulesSayTheirInstance) {
    EXPECT_EQ(in_model("y = layer_norm(x, over: b);"), "SSP0226 5:5\n");
    EXPECT_EQ(in_model("y = layer_norm(x, over: b) as n;\nz = layer_norm(x, over: b) as n;"), "SSP0213 6:28\n");
}

TEST(Calls, NothingUsesItself) {
    EXPECT_EQ(in_model("y = f(x);", "op f(x) { return g(x); } op g(x) { return f(x); }"), "SSP0220 1:75\n");
}

TEST(Calls, AnOpReturns) {
    EXPECT_EQ(in_model("y = f(x);", "op f(x) { y = x; }"), "SSP0229 1:36\n");
    EXPECT_EQ(in_model("(y, z) = relu(x);"), "SSP0230 5:2\n");
}

TEST(Declarations, StandWhereTheyMean) {
    EXPECT_EQ(in_model("y = f(x);", "op f(x) { param w = zeros; return x; }"), "SSP0227 1:43\n");
    EXPECT_EQ(in_model("state s = 0;"), "SSP0227 5:1\n");
}

TEST(Declarations, OfOnePathAreErrors) {
    EXPECT_EQ(in_model("param w[a] = zeros;\nparam w[a] = zeros;"), "SSP0213 6:7\n");
    EXPECT_EQ(in_model("block q { y = x; }\nblock q { y = x; }"), "SSP0213 6:7\n");
    EXPECT_EQ(in_model("dim a = 3;"), "SSP0213 5:5\n");
    EXPECT_EQ(run_text("op f(x) { return x; }\nop f(x) { return x; }\nmodel t() {}\n").codes(), "SSP0213 2:4\n");
}

TEST(Constants, DivideExactlyAndAreKnown) {
    EXPECT_EQ(in_model("dim d = b / 4;"), "SSP0214 5:9\n");
    EXPECT_EQ(in_model("dim d = b / 0;"), "SSP0231 5:9\n");
    EXPECT_EQ(in_model("dim d = 2 - a;"), "SSP0218 5:9\n");
    EXPECT_EQ(in_model("y = sum[*] x;\ndim d = y;"), "SSP0211 6:9\n");
    EXPECT_EQ(in_model("let n = 1 << 80;"), "SSP0231 5:9\n");
}

TEST(Loops, ReadingANameOfThePreviousTurnIsWarnedOf) {
    EXPECT_EQ(in_model("y = x;\nblock l[i in 0..2] {\n  block p { z = y * 2; }\n  block q { y = z + x; }\n}\noutput y;"),
              "SSP0217 7:17\n");
    // A value that is carried on is meant.
    EXPECT_EQ(in_model("y = x;\nblock l[i in 0..3] {\n  block p { y = y * 2; }\n  block q { y = y + x; }\n}\noutput y;"), "");
}

TEST(Training, ALossIsANumber) {
    EXPECT_EQ(in_model("param w[a] = ones;\nminimize w * x using adamw(lr: 1.0);"), "SSP0233 6:10\n");
    EXPECT_EQ(in_model("param w[a] = ones;\nloss = sum[*] w * x;\nminimize loss using adamv(lr: 1.0);"), "SSP0204 7:21\n");
    EXPECT_EQ(in_model("param w[a] = ones;\nloss = sum[*] w * x;\nminimize loss using adamw();"), "SSP0207 7:21\n");
    EXPECT_EQ(in_model("param w[a] = ones;\nloss = sum[*] w * x;\nminimize loss using sgd(lr: 1.0);\n"
                       "override sgd(lr: 0.5) for ww;"),
              "SSP0219 8:27\n");
}

TEST(Imports, AreFoundAndDoNotTurnInCircles) {
    EXPECT_EQ(run_text("import std.nm;\nmodel t() {}\n").codes(), "SSP0204 1:1\n");
    EXPECT_EQ(run_text("import \"nothing.ssp\";\nmodel t() {}\n").codes(), "SSP0002 1:1\n");
    const TempFolder folder;
    const auto a = folder.write("a.ssp", "import \"b.ssp\";\nmodel t() {}\n");
    folder.write("b.ssp", "import \"a.ssp\";\n");
    EXPECT_EQ(testing::run_file(a).codes(), "SSP0221 1:1\n");
    EXPECT_EQ(testing::run_file("no_such_file.ssp").codes(), "SSP0002\n");
}

TEST(Plans, NameWhatExists) {
    EXPECT_EQ(in_plan("  mesh g[d: n];\n  shard a over e;"), "SSP0204 9:16\n");
    EXPECT_EQ(in_plan("  shard a over d;"), "SSP0235 8:16\n");
    EXPECT_EQ(in_plan("  mesh g[d: n];\n  shard q over d;"), "SSP0202 9:9\n");
    EXPECT_EQ(in_plan("  mesh g[d: n];\n  shard a over d for frist;"), "SSP0219 9:22\n");
    EXPECT_EQ(in_plan("  mesh g[d: 0];"), "SSP0218 8:13\n");
    EXPECT_EQ(in_plan("  mesh g[dd];"), "SSP0201 8:10\n");
    EXPECT_EQ(in_plan("  mesh g[d: n];\n  stages first, last over d;\n  schedule gpip;"), "SSP0204 10:12\n");
    EXPECT_EQ(in_plan("  use q(3);"), "SSP0204 8:7\n");
    EXPECT_EQ(in_plan("  use p(3);"), "SSP0220 8:7\n");
    EXPECT_EQ(in_plan("  output zz whole;"), "SSP0204 8:10\n");
    EXPECT_EQ(run_text("model t() {}\nplan p for u {}\n").codes(), "SSP0204 2:12\n");
}

TEST(Plans, AScheduleNeedsStagesAndASplit) {
    EXPECT_EQ(in_plan("  mesh g[d: n];\n  stages first, last over d;\n  schedule gpipe;"), "SSP0225 10:12\n");
    EXPECT_EQ(in_plan("  mesh g[d: n];\n  split a into 2;\n  schedule gpipe;"), "SSP0225 10:12\n");
}

TEST(Plans, WhatIsNotBuiltIsRefusedByName) {
    for (const std::string statement :
         {"offload first to host;", "precision compute bf16;", "place first on g[d = 0];", "order first before last;",
          "lower comm(first) as ring;", "fuse first, last;", "prefetch params of first by 1;", "ring b over d;",
          "shard a over d cuts [1, 3];", "shard optimizer over d flat;", "stages first, last over d chunks 2;",
          "schedule csv(\"f.csv\");"}) {
        const std::string codes = in_plan("  mesh g[d: n];\n  " + statement);
        EXPECT_EQ(codes.substr(0, 9), "SSP0001 9") << statement << "\n" << codes;
    }
    EXPECT_EQ(in_plan("  mesh g[d: n] at 1 - iota(d);").substr(0, 9), "SSP0001 8");
    EXPECT_EQ(in_plan("  mesh g[d: n];\n  mesh h[e: n];").substr(0, 9), "SSP0001 9");
}

TEST(Plans, SeveralErrorsAreFoundInOneGo) {
    EXPECT_EQ(in_plan("  mesh g[d: n];\n  shard q over d;\n  shard a over e;\n  recompute nothing;"),
              "SSP0202 9:9\nSSP0204 10:16\nSSP0219 11:13\n");
}

} // namespace
} // namespace sspc
