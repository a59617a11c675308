// Lines and columns of byte offsets.
#include "ir/support/source_map.h"

#include <gtest/gtest.h>

namespace sspc {
namespace {

TEST(SourceMap, ColumnsCountCodePointsFromOne) {
    SourceMap sources;
    const FileId file = sources.add_file("a.ssp", "a\n\xC3\xA9\xE2\x82\xAC x\r\n");
    EXPECT_EQ(sources.position(file, 0), (Position{1, 1}));
    EXPECT_EQ(sources.position(file, 2), (Position{2, 1}));
    EXPECT_EQ(sources.position(file, 8), (Position{2, 4})); // the x, after two characters and a space
    EXPECT_EQ(sources.line_text(file, 2), "\xC3\xA9\xE2\x82\xAC x");
    EXPECT_EQ(sources.position(file, 999), (Position{3, 1}));
    EXPECT_EQ(sources.text(Span{file, 8, 9}), "x");
}

TEST(SourceMap, AnEmptyFileHasOneLine) {
    SourceMap sources;
    const FileId file = sources.add_file("a.ssp", "");
    EXPECT_EQ(sources.position(file, 0), (Position{1, 1}));
    EXPECT_EQ(sources.line_text(file, 1), "");
}

TEST(Span, JoinIgnoresNowhere) {
    const Span a{FileId(0), 3, 5}, b{FileId(0), 9, 12};
    EXPECT_EQ(join(a, b), (Span{FileId(0), 3, 12}));
    EXPECT_EQ(join(Span{}, b), b);
    EXPECT_EQ(join(a, Span{FileId(1), 0, 1}), a);
}

} // namespace
} // namespace sspc
