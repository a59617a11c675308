// Path patterns against paths, and the suggestions of error messages.
#include "ir/graph/selector.h"

#include <gtest/gtest.h>

namespace sspc {
namespace {

using Component = Selector::Component;

Component name(std::vector<std::string> names) {
    Component c;
    c.names = std::move(names);
    return c;
}
Component any_depth() {
    Component c;
    c.any_depth = true;
    return c;
}
Component range(std::string text, int first, int last) {
    Component c = name({std::move(text)});
    c.index = Component::Index::Range;
    c.first = first;
    c.last = last;
    return c;
}
Component starred(std::string text) {
    Component c = name({std::move(text)});
    c.index = Component::Index::Any;
    return c;
}
Selector selector(std::vector<Component> components) {
    Selector s;
    s.components = std::move(components);
    return s;
}

TEST(Selector, TakesThePathAndWhatLiesBelow) {
    const Selector s = selector({starred("layer"), name({"attn"})});
    EXPECT_TRUE(matches(s, "layer[3].attn"));
    EXPECT_TRUE(matches(s, "layer[3].attn.q.sum"));
    EXPECT_FALSE(matches(s, "layer[3].mlp"));
    EXPECT_FALSE(matches(s, "layer[3]"));
    EXPECT_FALSE(matches(s, "stack.layer[3].attn"));
}

TEST(Selector, ExactTakesOnlyTheTask) {
    Selector s = selector({name({"q"})});
    s.exact = true;
    EXPECT_TRUE(matches(s, "q"));
    EXPECT_FALSE(matches(s, "q.sum"));
}

TEST(Selector, TakesTheDottedPathsOfParameters) {
    const Selector s = selector({range("layer", 1, 3), name({"attn"}), name({"w*"})});
    EXPECT_TRUE(matches(s, "layer.1.attn.wq"));
    EXPECT_TRUE(matches(s, "layer[2].attn.wq"));
    EXPECT_FALSE(matches(s, "layer.3.attn.wq"));
    EXPECT_FALSE(matches(s, "layer.1.attn.bq"));
    EXPECT_TRUE(matches(s, "grad layer.1.attn.wq"));
}

TEST(Selector, StarStarTakesAnyDepth) {
    const Selector s = selector({any_depth(), name({"b*"})});
    EXPECT_TRUE(matches(s, "b1"));
    EXPECT_TRUE(matches(s, "layer.1.attn.bq"));
    EXPECT_FALSE(matches(s, "layer.1.attn.wq"));
    EXPECT_TRUE(matches(selector({any_depth()}), "anything.at[3].all"));
}

TEST(Selector, AlternativesAndOccurrences) {
    const Selector s = selector({name({"q", "k"})});
    EXPECT_TRUE(matches(s, "q"));
    EXPECT_TRUE(matches(s, "k.sum"));
    EXPECT_FALSE(matches(s, "v"));
    Selector second = selector({name({"msa"})});
    EXPECT_TRUE(matches(second, "msa#2.sum"));
    second.components[0].occurrence = 2;
    EXPECT_TRUE(matches(second, "msa#2"));
    EXPECT_FALSE(matches(second, "msa"));
}

TEST(Selector, ANameWithoutIndexTakesEveryIndex) {
    EXPECT_TRUE(matches(selector({name({"layer"})}), "layer[7].x"));
}

TEST(Selector, NearestPathsLeaveIndicesOut) {
    const Selector s = selector({starred("layer"), name({"atn"}), name({"q"})});
    const auto near = nearest_paths(s, {"embed.x", "layer[0].attn.q", "layer[1].attn.q", "layer[0].mlp.h"});
    ASSERT_FALSE(near.empty());
    EXPECT_EQ(near.front(), "layer[*].attn.q");
}

TEST(Selector, NearestNamesAreNear) {
    EXPECT_EQ(nearest_names("hiden", {"heads", "hidden", "vocab"}), std::vector<std::string>{"hidden"});
    EXPECT_TRUE(nearest_names("zzzz", {"heads", "hidden"}).empty());
}

} // namespace
} // namespace sspc
