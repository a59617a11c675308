// Fusion, memory and streams of small device programs.
#include "ir/passes/allocate.h"
#include "ir/passes/fuse.h"
#include "ir/passes/kernel_shape.h"
#include "ir/passes/streams.h"

#include <gtest/gtest.h>

namespace sspc {
namespace {

struct OneBlock {
    Program program;
    AxisId rows, columns;

    OneBlock() {
        program.mesh.axes = {{"micro", 1, AxisRole::Micro, {}}, {"dp", 2, AxisRole::Device, {}}};
        rows = program.axes.push_back({"rows", 8, {}});
        columns = program.axes.push_back({"columns", 16, {}});
        program.classes.emplace_back();
        stage().blocks.emplace_back();
        stage().order.push_back(RunBlock{0, 0});
    }
    Class& stage() { return program.classes[0]; }
    std::vector<Instruction>& code() { return stage().blocks[0].instructions; }
    BufferId buffer(const std::string& name, std::vector<AxisId> axes) {
        Buffer buffer;
        buffer.name = buffer.tensor = name;
        buffer.axes = std::move(axes);
        buffer.layout = replicated_layout(program.mesh);
        return stage().buffers.push_back(buffer);
    }
    void compute(BufferId out, std::vector<BufferId> reads, ExprPtr body, Reduce reduce = Reduce::None,
                 std::vector<AxisId> reduced = {}) {
        Compute compute;
        compute.path = stage().buffers[out].name;
        compute.cut = Cut(program.mesh.axes.size());
        compute.out = out;
        compute.reads = std::move(reads);
        compute.body = std::move(body);
        compute.reduce = reduce;
        compute.reduced = std::move(reduced);
        code().push_back(compute);
    }
    ExprPtr at(int slot, std::vector<AxisId> axes) const { return access(slot, DType::F32, axes); }
};

TEST(Fuse, ASoftmaxIsOneKernelWhoseInnerValuesAreNotStored) {
    OneBlock p;
    const auto all = std::vector<AxisId>{p.rows, p.columns};
    const auto x = p.buffer("x", all), m = p.buffer("m", {p.rows}), e = p.buffer("e", all), sum = p.buffer("sum", {p.rows}),
               y = p.buffer("y", all);
    p.stage().buffers[x].life = p.stage().buffers[y].life = Life::Persistent;
    p.compute(m, {x}, p.at(0, all), Reduce::Max, {p.columns});
    p.compute(e, {x, m}, make(ExprOp::Exp, {p.at(0, all) - p.at(1, {p.rows})}));
    p.compute(sum, {e}, p.at(0, all), Reduce::Sum, {p.columns});
    p.compute(y, {e, sum}, p.at(0, all) / p.at(1, {p.rows}));
    const Program fused = fuse(p.program);
    for (const Instruction& instruction : fused.classes[0].blocks[0].instructions) {
        EXPECT_EQ(std::get<Compute>(instruction).kernel, 0);
    }
    EXPECT_EQ(fused.classes[0].buffers[e].space, Space::Register);
    EXPECT_EQ(fused.classes[0].buffers[m].space, Space::Register);
    EXPECT_NE(fused.classes[0].buffers[y].space, Space::Register);
}

TEST(Fuse, AStatementThatReadsOtherPointsStartsANewKernel) {
    OneBlock p;
    const auto a = p.buffer("a", {p.rows}), b = p.buffer("b", {p.rows}), c = p.buffer("c", {p.rows});
    p.compute(b, {a}, p.at(0, {p.rows}) * constant(2, DType::F32));
    const auto mirrored = constant(7, DType::I64) - iota(p.rows);
    p.compute(c, {b}, access(0, DType::F32, std::vector<ExprPtr>{mirrored}));
    const Program fused = fuse(p.program);
    EXPECT_NE(std::get<Compute>(fused.classes[0].blocks[0].instructions[0]).kernel,
              std::get<Compute>(fused.classes[0].blocks[0].instructions[1]).kernel);
}

TEST(Allocate, ValuesThatAreNeverAliveTogetherShareMemory) {
    OneBlock p;
    const auto a = p.buffer("a", {p.rows}), b = p.buffer("b", {p.rows}), c = p.buffer("c", {p.rows});
    p.code() = {Allocate{a}, Fill{a, 0}, Allocate{b}, Copy{a, b}, Free{a}, Allocate{c}, Copy{b, c}, Free{b}, Free{c}};
    const Program placed = allocate(p.program);
    const auto& buffers = placed.classes[0].buffers;
    EXPECT_EQ(buffers[a].space, Space::Scratch);
    EXPECT_NE(buffers[a].offset, buffers[b].offset);
    EXPECT_NE(buffers[b].offset, buffers[c].offset);
    EXPECT_EQ(buffers[a].offset, buffers[c].offset);
    EXPECT_EQ(placed.classes[0].scratch_bytes, 512);
}

TEST(Streams, AValueThatIsReducedAndReadAgainHasTwoEvents) {
    OneBlock p;
    const auto a = p.buffer("a", {p.rows}), b = p.buffer("b", {p.rows}), c = p.buffer("c", {p.rows});
    Communicate reduce;
    reduce.kind = MoveKind::AllReduce;
    reduce.mesh_axes = {1};
    reduce.parts = {{a, b, {}, {}}};
    p.code() = {Fill{a, 1}, reduce, Copy{b, c}};
    const Program ordered = streams(allocate(p.program));
    const auto& code = ordered.classes[0].blocks[0].instructions;
    ASSERT_EQ(code.size(), 7u);
    EXPECT_EQ(std::get<Record>(code[1]).stream, Stream::Compute);
    EXPECT_EQ(std::get<Wait>(code[2]).stream, Stream::Communication);
    EXPECT_EQ(std::get<Record>(code[4]).stream, Stream::Communication);
    EXPECT_EQ(std::get<Wait>(code[5]).stream, Stream::Compute);
    EXPECT_EQ(ordered.classes[0].events, 2);
}

TEST(KernelShape, ABiasGradientIsAColumnSum) {
    OneBlock p;
    const auto dy = p.buffer("dy", {p.rows, p.columns}), db = p.buffer("db", {p.columns});
    p.compute(db, {dy}, p.at(0, {p.rows, p.columns}), Reduce::Sum, {p.rows});
    EXPECT_EQ(shape_of(p.stage(), std::get<Compute>(p.code()[0])).form, KernelForm::Columns);
}

} // namespace
} // namespace sspc
