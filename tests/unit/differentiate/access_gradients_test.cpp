// Gradients of gathers, windows, slices, pads, picks, splits and merges.
#include "tests/unit/differentiate/central_differences.h"

namespace sspc {
namespace {

using test::GradientCase;
using test::real;
using test::whole;

ExprPtr divided(const ExprPtr& a, int64_t by) {
    return make(ExprOp::FloorDiv, {a, whole(by)});
}
ExprPtr modulo(const ExprPtr& a, int64_t by) {
    return make(ExprOp::Mod, {a, whole(by)});
}

/// Squares what was read, so that the gradient varies, checks it, and says which statements made the gradient of `x`.
std::string check_read(GradientCase& g, const std::vector<AxisId>& axes, const ExprPtr& read) {
    const TensorId y = g.make_value("y", axes, read);
    const ExprPtr squared = g.at(y) * g.at(y);
    g.finish(g.make_value("z", axes, squared));
    g.check();
    return testing::Test::HasFatalFailure() || g.derived.statements.empty()
               ? ""
               : print_statement(g.derived, g.derived.statements.back());
}

TEST(Gather, AddsWhereIndicesRepeat) {
    GradientCase g;
    const AxisId vocab = g.axis("vocab", 3);
    const AxisId hidden = g.axis("hidden", 4);
    const AxisId seq = g.axis("seq", 7);
    const TensorId tokens = g.index_input("tokens", {seq}, 3);
    const TensorId x = g.random_param("x", {vocab, hidden});
    const ExprPtr read = g.at(x, {g.at(tokens), iota(hidden)});
    EXPECT_EQ(check_read(g, {seq, hidden}, read), "grad x[vocab = tokens, hidden] += sum[seq] grad y");
}

TEST(Gather, OfARenamedAxisKeepsTheOperandsName) {
    GradientCase g;
    const AxisId vocab = g.axis("vocab", 3);
    const AxisId hidden = g.axis("hidden", 4);
    const AxisId other = g.axis("other", 4);
    const AxisId seq = g.axis("seq", 7);
    const TensorId tokens = g.index_input("tokens", {seq}, 3);
    const TensorId x = g.random_param("x", {vocab, hidden});
    const ExprPtr read = g.at(x, {g.at(tokens), iota(other)});
    EXPECT_EQ(check_read(g, {seq, other}, read),
              "grad x[vocab = tokens, hidden] += sum[seq] grad y[seq, other as hidden]");
}

TEST(Gather, OverAnAxisOfTheOperandItself) {
    GradientCase g;
    const AxisId i = g.axis("i", 4);
    const AxisId j = g.axis("j", 4);
    const TensorId order = g.index_input("order", {i}, 4);
    const TensorId x = g.random_param("x", {i, j});
    const ExprPtr read = g.at(x, {g.at(order), iota(i)});
    check_read(g, {i}, read);
}

TEST(Gather, DropsWhatLiesOutside) {
    GradientCase g;
    const AxisId h = g.axis("h", 5);
    const AxisId oh = g.axis("oh", 3);
    const AxisId r = g.axis("r", 3);
    const TensorId x = g.random_param("x", {h});
    const ExprPtr read = g.at(x, {iota(oh) * whole(2) + iota(r) - whole(1)}, real(0));
    check_read(g, {oh, r}, read);
}

TEST(Slice, IsReadBackWithZerosOutside) {
    GradientCase g;
    const AxisId seq = g.axis("seq", 7);
    const AxisId part = g.axis("part", 3);
    const TensorId x = g.random_param("x", {seq});
    const ExprPtr read = g.at(x, {iota(part) + whole(2)});
    EXPECT_EQ(check_read(g, {part}, read), "grad x[seq] = grad y[part = iota(seq) - 2 else 0]");
}

TEST(Slice, FromTheStart) {
    GradientCase g;
    const AxisId seq = g.axis("seq", 7);
    const AxisId part = g.axis("part", 3);
    const TensorId x = g.random_param("x", {seq});
    const ExprPtr read = g.at(x, {iota(part)});
    EXPECT_EQ(check_read(g, {part}, read), "grad x[seq] = grad y[part as seq else 0]");
}

TEST(Pad, IsSlicedBack) {
    GradientCase g;
    const AxisId seq = g.axis("seq", 3);
    const AxisId all = g.axis("all", 7);
    const TensorId x = g.random_param("x", {seq});
    const ExprPtr read = g.at(x, {iota(all) - whole(2)}, real(0));
    EXPECT_EQ(check_read(g, {all}, read), "grad x[seq] = grad y[all = iota(seq) + 2]");
}

TEST(Pick, IsAComparison) {
    GradientCase g;
    const AxisId seq = g.axis("seq", 5);
    const AxisId c = g.axis("c", 3);
    const TensorId x = g.random_param("x", {seq, c});
    const ExprPtr read = g.at(x, {whole(3), iota(c)});
    EXPECT_EQ(check_read(g, {c}, read), "grad x[seq, c] = where(iota(seq) == 3, grad y, 0)");
}

TEST(Split, IsMergedBack) {
    for (const auto& [outer, inner] : {std::pair(2, 3), std::pair(1, 5), std::pair(5, 1)}) {
        GradientCase g;
        const AxisId hd = g.axis("hd", outer * inner);
        const AxisId two = g.axis("two", outer);
        const AxisId half = g.axis("half", inner);
        const AxisId c = g.axis("c", 2);
        const TensorId x = g.random_param("x", {c, hd});
        const ExprPtr read = g.at(x, {iota(c), iota(two) * whole(inner) + iota(half)});
        const std::string made = check_read(g, {two, c, half}, read);
        EXPECT_EQ(made.find("+="), std::string::npos) << made;
        if (outer == 2) {
            EXPECT_EQ(made, "grad x[c, hd] = grad y[two = floordiv(iota(hd), 3), c, half = iota(hd) % 3]");
        }
    }
}

TEST(Merge, IsSplitBack) {
    for (const auto& [outer, inner] : {std::pair(2, 3), std::pair(1, 5), std::pair(5, 1)}) {
        GradientCase g;
        const AxisId heads = g.axis("heads", outer);
        const AxisId hd = g.axis("hd", inner);
        const AxisId hidden = g.axis("hidden", outer * inner);
        const TensorId x = g.random_param("x", {heads, hd});
        const ExprPtr read =
            g.at(x, {divided(iota(hidden), inner), modulo(iota(hidden), inner)});
        const std::string made = check_read(g, {hidden}, read);
        EXPECT_EQ(made.find("+="), std::string::npos) << made;
        if (outer == 2) {
            EXPECT_EQ(made, "grad x[heads, hd] = grad y[hidden = iota(heads) * 3 + iota(hd)]");
        }
    }
}

TEST(Merge, OfThreeAxesInAnotherOrder) {
    GradientCase g;
    const AxisId a = g.axis("a", 2);
    const AxisId b = g.axis("b", 3);
    const AxisId c = g.axis("c", 4);
    const AxisId all = g.axis("all", 24);
    const TensorId x = g.random_param("x", {c, a, b});
    const ExprPtr read = g.at(x, {modulo(iota(all), 4), divided(iota(all), 12),
                                  modulo(divided(iota(all), 4), 3)});
    EXPECT_EQ(check_read(g, {all}, read).find("+="), std::string::npos);
}

TEST(Concat, PassesEachPartItsOwn) {
    GradientCase g;
    const AxisId left = g.axis("left", 2);
    const AxisId right = g.axis("right", 3);
    const AxisId all = g.axis("all", 5);
    const TensorId a = g.random_param("a", {left});
    const TensorId b = g.random_param("b", {right});
    ExprPtr read = g.at(a, {iota(all)}, real(0));
    const TensorId wide_a = g.make_value("wide_a", {all}, read);
    read = g.at(b, {iota(all) - whole(2)}, real(0));
    const TensorId wide_b = g.make_value("wide_b", {all}, read);
    const ExprPtr chosen = make(ExprOp::Where, {make(ExprOp::Lt, {iota(all), whole(2)}),
                                                g.at(wide_a), g.at(wide_b)});
    check_read(g, {all}, chosen);
}

TEST(Accesses, WithAConstantGradient) {
    GradientCase g;
    const AxisId vocab = g.axis("vocab", 3);
    const AxisId seq = g.axis("seq", 5);
    const AxisId part = g.axis("part", 2);
    const TensorId tokens = g.index_input("tokens", {seq}, 3);
    const TensorId x = g.random_param("x", {vocab});
    const TensorId w = g.random_param("w", {seq});
    ExprPtr body = g.at(x, {g.at(tokens)});
    const TensorId y = g.make_value("y", {seq}, body);
    body = g.at(w, {iota(part) + whole(1)});
    const TensorId v = g.make_value("v", {part}, body);
    body = g.at(w, {whole(3)});
    const TensorId u = g.make_value("u", {}, body);
    body = g.at(y);
    const TensorId total_y = g.make_value("total_y", {}, body, Reduce::Sum, {seq});
    body = g.at(v);
    const TensorId total_v = g.make_value("total_v", {}, body, Reduce::Sum, {part});
    body = g.at(total_y) + g.at(total_v) * real(2) + g.at(u);
    g.graph.loss = g.make_value("loss", {}, body);
    g.check();
}

} // namespace
} // namespace sspc
