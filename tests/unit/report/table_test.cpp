// Tables and numbers for the terminal.
#include "backend/report/table.h"

#include <gtest/gtest.h>

namespace sspc::backend {
namespace {

TEST(Table, ColumnsAreAsWideAsTheirWidestCell) {
    Table table({{"name"}, {"bytes", Table::Align::Right}});
    table.row({"a", "1"});
    table.row({"longer name", "12345"});
    EXPECT_EQ(table.text(), "  name         bytes\n"
                            "  a                1\n"
                            "  longer name  12345\n");
}

TEST(Table, ShrinksWhatMayShrink) {
    Table table({{"path", Table::Align::Left, true}, {"n", Table::Align::Right}});
    table.row({"layer[0].attn.a_very_long_name", "7"});
    EXPECT_EQ(table.text(24), "  path                 n\n"
                              "  layer[0].…long_name  7\n");
}

TEST(Table, NumbersHaveUnits) {
    EXPECT_EQ(in_bytes(640), "640 B");
    EXPECT_EQ(in_bytes(1536), "1.5 KiB");
    EXPECT_EQ(in_bytes(25 << 20), "25.0 MiB");
    EXPECT_EQ(in_bytes(int64_t{300} << 30), "300 GiB");
    EXPECT_EQ(in_units(1.25e9), "1.2 G");
}

TEST(Table, WidthCountsColumnsNotBytes) {
    EXPECT_EQ(text_width("a×b"), 3u);
    EXPECT_EQ(shorten("0123456789", 5), "01…89");
    EXPECT_EQ(shorten("ööööö", 4), "ö…öö");
}

} // namespace
} // namespace sspc::backend
