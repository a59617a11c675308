// Contractions as GEMMs without copies.
#include "backend/emit/contraction.h"

#include <gtest/gtest.h>

namespace sspc::backend {
namespace {

struct Fixture {
    Program program;
    Class stage;
    Compute compute;

    AxisId axis(const std::string& name, int64_t size) { return program.axes.push_back({name, size, {}}); }
    BufferId buffer(const std::string& name, std::vector<AxisId> axes) {
        Buffer buffer;
        buffer.name = buffer.tensor = name;
        buffer.axes = std::move(axes);
        buffer.layout = {Placement::replicated()};
        return stage.buffers.push_back(buffer);
    }
    std::optional<GemmMapping> map(Parts& parts, std::vector<AxisId> a, std::vector<AxisId> b, std::vector<AxisId> out,
                                   std::vector<AxisId> summed) {
        program.mesh.axes = {{"micro", 1, AxisRole::Micro, {}}};
        compute.cut = {AxisId()};
        compute.reads = {buffer("a", a), buffer("b", b)};
        compute.out = buffer("c", out);
        compute.reduce = Reduce::Sum;
        compute.reduced = std::move(summed);
        compute.body = access(0, DType::F32, a) * access(1, DType::F32, b) * constant(0.5, DType::F32);
        return map_contraction(parts, stage, compute);
    }
};

TEST(Contraction, ALinearLayerIsOneProductOverAllRows) {
    Fixture f;
    const AxisId batch = f.axis("batch", 4), seq = f.axis("seq", 8), in = f.axis("in", 16), out = f.axis("out", 32);
    Parts parts(f.program);
    const auto map = f.map(parts, {batch, seq, in}, {out, in}, {batch, seq, out}, {in});
    ASSERT_TRUE(map);
    EXPECT_EQ(map->m.text(), "32");
    EXPECT_EQ(map->n.text(), "32");
    EXPECT_EQ(map->k.text(), "16");
    EXPECT_TRUE(map->transpose_b);
    EXPECT_TRUE(map->loops.empty());
    EXPECT_EQ(map->scale, 0.5);
}

TEST(Contraction, AttentionScoresAreABatchOfProductsInPlace) {
    Fixture f;
    const AxisId batch = f.axis("batch", 2), seq = f.axis("seq", 8), heads = f.axis("heads", 4), hd = f.axis("hd", 16),
                 kv = f.axis("kv", 8);
    Parts parts(f.program);
    const auto map = f.map(parts, {batch, seq, heads, hd}, {batch, kv, heads, hd}, {batch, seq, heads, kv}, {hd});
    ASSERT_TRUE(map);
    EXPECT_EQ(map->m.text(), "8");
    EXPECT_EQ(map->k.text(), "16");
    EXPECT_EQ(map->lda.text(), "64");
    EXPECT_EQ(map->ldc.text(), "32");
    ASSERT_EQ(map->loops.size(), 2u);
    EXPECT_EQ(map->loops[1].count.text(), "4");
    EXPECT_EQ(map->loops[1].a.text(), "16");
    EXPECT_EQ(map->loops[1].c.text(), "8");
}

TEST(Contraction, ASumOverTwoSeparateAxesLoopsOverOne) {
    Fixture f;
    const AxisId m = f.axis("m", 4), n = f.axis("n", 5), k1 = f.axis("k1", 6), k2 = f.axis("k2", 7);
    Parts parts(f.program);
    const auto map = f.map(parts, {k1, m, k2}, {k2, k1, n}, {m, n}, {k1, k2});
    ASSERT_TRUE(map);
    ASSERT_EQ(map->loops.size(), 1u);
    EXPECT_TRUE(map->loops[0].sums);
}

TEST(Contraction, ASumOfOneFactorAloneIsNoGemm) {
    Fixture f;
    const AxisId m = f.axis("m", 4), k = f.axis("k", 6);
    Parts parts(f.program);
    EXPECT_FALSE(f.map(parts, {m, k}, {k}, {m}, {k}));
}

} // namespace
} // namespace sspc::backend
