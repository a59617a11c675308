// The `.sspd` text: what is printed is read back, and bad text is refused without a crash.
#include "ir/program/parse_program.h"
#include "ir/support/render_text.h"

#include <gtest/gtest.h>

#include <random>

namespace sspc {
namespace {

constexpr std::string_view sample = R"(sspd 1
model gpt
plan "two stages"
mesh g [micro: 4 micro, pp: 2 stage, dp: 2 device]
split batch
axes
  batch: 8
  hidden: 16
  out: 12
  "odd name": 3
messages
  "y>1" forward 0 -> 1 tensor y bytes 256 each_micro
  "w>1" update 0 -> 1 tensor w bytes 768 once
class stage 0
  memory static 1024 scratch 512 frame 256 frames 2 slots [0, 1, 0, 1] events 3
  buffers
    %x = x f32[batch, hidden] {micro: S(batch), dp: S(batch)} micro scratch at 0 bytes 64
    %layer[0].w = layer.0.w f32[out, hidden] {} persistent static at 0 bytes 768
    %y = y f32[batch, out] {micro: S(batch), dp: S(batch)} micro frame at 0 bytes 48
    %"grad w" = "grad w" f32[out, hidden] {micro: P(sum), dp: P(sum)} step static at 768 bytes 768
    %"grad w@2" = "grad w" f32[out, hidden] {} step static at 768 bytes 768
    %t = t i64[batch] {} micro scratch at 0 bytes 64
  block start start stage 0
    fill %"grad w" with 0.0
  block F0 forward stage 0
    allocate %x
    load %x
    compute y.sum forward cut {micro: batch, dp: batch} chunk 1 of 4 along out kernel 3: %y = sum[hidden] %x * %layer[0].w
    compute z forward cut {}: %y reads (%x, %x, %t) = %x * exp(neg(%x$1)) + (1.0:bf16 - (%x - 3:i32)) / 2.5e-07 - -inf * f32(step)
    compute g forward cut {dp: hidden}: %y = %x(%t, floor_div(iota(hidden), 2) else 0.0)
    compute r forward cut {}: %y = where(iota("odd name") < 3 and true or not(false), draw(bernoulli, f32, 0.5, "layer[0].drop"; batch, hidden), max(%x, nan))
    compute s backward cut {}: %"grad w" scatter (%t, hidden) += sum[batch] (%x + 1):f64
    record 0 on compute
    wait 0 on communication
    free %x
  block finish finish stage 0
    communicate all_reduce along [dp] backward bytes 768: %"grad w" {dp: P(sum)} -> %"grad w@2" {}
    communicate reduce_scatter along [pp, dp] update bytes 768 chunk 0 of 2 along out: %"grad w" {dp: P(sum)} +> %"grad w@2" {dp: S(out)}, %y {} +> %x {}
    copy %"grad w@2" -> %layer[0].w
  order
    run start
    allocate %y micro 0
    run F0 micro 0
    post grouped (send "y>1" %y micro 0, receive "w>1" %x)
    record 2 on compute
    wait 2 on communication
    post ()
    free %y micro 0
    run finish
results
  output y stage 0 %y
  loss l stage 0 %x
stored
  parameter layer.0.w normal(0.0, 0.02) stage 0 %layer[0].w copy stage 0 %x
end
)";

std::optional<Program> read(std::string_view text, std::string* errors = nullptr) {
    SourceMap sources;
    const FileId file = sources.add_file("test.sspd", std::string(text));
    Sink sink;
    auto program = parse_program(file, text, sink);
    if (errors != nullptr) {
        *errors = render_text(sink, sources);
    }
    EXPECT_EQ(program.has_value(), !sink.has_errors());
    return program;
}

TEST(ProgramText, WhatIsPrintedIsReadBack) {
    std::string errors;
    const auto program = read(sample, &errors);
    ASSERT_TRUE(program) << errors;
    EXPECT_EQ(print_program(*program), sample);
}

TEST(ProgramText, ErrorsNameLineAndColumn) {
    std::string text(sample);
    text.replace(text.find("all_reduce"), 10, "all_red");
    std::string errors;
    EXPECT_FALSE(read(text, &errors));
    EXPECT_NE(errors.find("test.sspd:37:17: error[SSP0101]"), std::string::npos) << errors;
}

TEST(ProgramText, DeepNestingIsRefused) {
    std::string deep(sample);
    deep.replace(deep.find("%x * %layer"), 2, std::string(100000, '(') + "%x");
    EXPECT_FALSE(read(deep));
    std::string chain(sample);
    std::string sum = "%x";
    for (int i = 0; i < 200000; ++i) {
        sum += "+1";
    }
    chain.replace(chain.find("%x * %layer"), 2, sum);
    EXPECT_FALSE(read(chain));
}

TEST(ProgramText, MutatedTextNeverCrashesAndWhatIsReadRoundTrips) {
    const std::string text(sample);
    const std::string pool = "%\"[](){},:;=<>+-*/$#@.aZ09 \n\\e\xff\0";
    int read_back = 0;
    for (unsigned seed = 0; seed < 4000; ++seed) {
        std::mt19937 random(seed);
        std::string bad = text;
        const int edits = 1 + static_cast<int>(random() % 4);
        for (int i = 0; i < edits; ++i) {
            const size_t at = random() % bad.size();
            const size_t length = std::min<size_t>(random() % 12, bad.size() - at);
            switch (random() % 4) {
            case 0: bad.erase(at, length); break;
            case 1: bad.insert(at, 1, pool[random() % pool.size()]); break;
            case 2: bad[at] = pool[random() % pool.size()]; break;
            default: bad.insert(random() % bad.size(), bad.substr(at, length)); break;
            }
        }
        if (const auto program = read(bad)) {
            ++read_back;
            const std::string once = print_program(*program);
            const auto again = read(once);
            ASSERT_TRUE(again) << "seed " << seed << "\n" << once;
            EXPECT_EQ(print_program(*again), once) << "seed " << seed;
        }
    }
    EXPECT_GT(read_back, 10);
}

} // namespace
} // namespace sspc
