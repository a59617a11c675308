// Every pair of layouts: the chain found, carried out on numbers, gives the tensor; its price is that of the shortest chain by brute force.
#include "brute_force.h"

#include "ir/collective/move_search.h"
#include "ir/interpret/moves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>

namespace sspc {
namespace {

using test::Case;
using test::make_case;
using test::Price;

struct Tally {
    int64_t pairs = 0;
    int64_t cases = 0;
    int64_t moves = 0;
    std::map<MoveKind, int64_t> kinds;
    void print(std::string_view title) const {
        std::cout << title << ": " << pairs << " pairs of layouts in " << cases << " cases, " << moves << " moves (";
        for (const auto& [kind, count] : kinds) {
            std::cout << (kind == kinds.begin()->first ? "" : ", ") << count << " " << name_of(kind);
        }
        std::cout << ")\n";
    }
};

std::string in_words(const Case& c, const Layout& from, const Layout& to) {
    std::string text;
    for (AxisId axis : c.shape.axes) {
        text += c.axes[axis].name + ": " + std::to_string(c.axes[axis].size) + " ";
    }
    for (const MeshAxis& axis : c.mesh.axes) {
        text += axis.name + ": " + std::to_string(axis.size) + " ";
    }
    return text + to_text(from, c.mesh, c.axes) + " -> " + to_text(to, c.mesh, c.axes);
}
std::string in_words(const Case& c, const std::vector<Move>& chain) {
    std::string text;
    for (const Move& move : chain) {
        text += std::string(name_of(move.kind)) + " to " + to_text(move.to, c.mesh, c.axes) + " for " +
                std::to_string(move.bytes) + " bytes; ";
    }
    return text;
}

Price price_of(const std::vector<Move>& chain) {
    Price price;
    for (const Move& move : chain) {
        price.bytes += move.bytes;
        price.kinds.push_back(static_cast<int>(move.kind));
    }
    return price;
}

class Prover {
public:
    explicit Prover(Reduce reduction) : reduction_(reduction) {}

    /// All pairs, or, where `one_in` is more than 1, about one pair in so many.
    void prove(const Case& c, int one_in = 1) {
        const std::vector<Layout> layouts = test::all_layouts(c, reduction_);
        const auto prices = test::all_prices(c, layouts);
        ++tally.cases;
        for (size_t i = 0; i < layouts.size(); ++i) {
            std::vector<double> whole;
            Box box;
            for (AxisId axis : c.shape.axes) {
                box.push_back({0, c.axes[axis].size});
            }
            for (int64_t k = 0; k < volume(box); ++k) {
                whole.push_back(draw());
            }
            const auto start = scatter_whole(c.axes, c.shape, c.mesh, whole, layouts[i], 0,
                                             random_terms([this] { return draw(); }));
            for (size_t j = 0; j < layouts.size(); ++j) {
                if (one_in > 1 && random_() % one_in != 0) {
                    continue;
                }
                ++tally.pairs;
                prove_pair(c, layouts[i], layouts[j], prices[i][j], start, whole);
                if (::testing::Test::HasFailure()) {
                    return;
                }
            }
        }
    }

    Tally tally;

private:
    double draw() { return static_cast<double>(random_() % 2001) / 1000 - 1; }

    void prove_pair(const Case& c, const Layout& from, const Layout& to, const std::optional<Price>& shortest,
                    std::vector<LocalTensor> locals, const std::vector<double>& whole) {
        const auto chain = cheapest_moves(c.axes, c.shape, c.mesh, from, to);
        ASSERT_EQ(chain.has_value(), shortest.has_value()) << in_words(c, from, to);
        ASSERT_TRUE(price_of(*chain) == *shortest)
            << in_words(c, from, to) << "\n found " << in_words(c, *chain) << "\n brute force "
            << shortest->bytes << " bytes by " << ::testing::PrintToString(shortest->kinds);
        std::string error;
        Layout at = from;
        for (const Move& move : *chain) {
            ASSERT_EQ(move.from, at) << in_words(c, from, to);
            ASSERT_EQ(move.bytes, move_bytes(c.axes, c.shape, c.mesh, move)) << in_words(c, from, to);
            locals = carry_out(c.axes, c.shape, c.mesh, move, locals, 0, error);
            ASSERT_EQ(error, "") << in_words(c, from, to) << " by " << in_words(c, *chain);
            at = move.to;
            ++tally.moves;
            ++tally.kinds[move.kind];
        }
        ASSERT_EQ(at, to) << in_words(c, from, to);
        const auto result = gather_whole(c.axes, c.shape, c.mesh, locals, to, 0, error);
        ASSERT_TRUE(result.has_value()) << error << "\n" << in_words(c, from, to) << " by " << in_words(c, *chain);
        ASSERT_EQ(result->data.size(), whole.size());
        for (size_t k = 0; k < whole.size(); ++k) {
            ASSERT_NEAR(result->data[k], whole[k], 1e-9) << in_words(c, from, to) << " by " << in_words(c, *chain);
        }
        if (from != to) {
            MoveSpace space(c.axes, c.shape, c.mesh, from, to, MoveScope::AllAxes);
            const auto searched = search_moves(space);
            ASSERT_TRUE(searched.has_value());
            ASSERT_TRUE(price_of(*searched) == *shortest) << "the search alone: " << in_words(c, from, to) << " by "
                                                          << in_words(c, *searched);
        }
    }

    Reduce reduction_;
    std::mt19937_64 random_{7};
};

/// One mesh axis, and every way to write the number of devices as a product of two.
std::vector<std::vector<int>> meshes() {
    std::vector<std::vector<int>> result;
    for (int devices : {2, 3, 4, 6, 8, 12}) {
        result.push_back({devices});
        for (int outer = 2; outer <= devices / 2; ++outer) {
            if (devices % outer == 0) {
                result.push_back({outer, devices / outer});
            }
        }
    }
    return result;
}

constexpr int64_t some_sizes[] = {1, 2, 3, 4, 5, 7, 8, 12, 13, 24};

TEST(EveryPair, OfOneAxisTensors) {
    Prover prover(Reduce::Sum);
    for (const auto& mesh : meshes()) {
        for (int64_t a : some_sizes) {
            prover.prove(make_case({a}, mesh));
        }
    }
    prover.tally.print("one axis");
}

TEST(EveryPair, OfTwoAxisTensors) {
    Prover prover(Reduce::Sum);
    for (const auto& mesh : meshes()) {
        for (int64_t a : {1, 2, 5, 8, 12}) {
            for (int64_t b : {1, 3, 4, 7, 12}) {
                prover.prove(make_case({a, b}, mesh));
            }
        }
    }
    prover.tally.print("two axes");
}

TEST(EveryPair, OfThreeAxisTensors) {
    Prover prover(Reduce::Sum);
    const std::vector<std::vector<int64_t>> shapes = {{4, 6, 8}, {12, 12, 12}, {1, 5, 12}, {7, 3, 2}, {13, 1, 4}};
    for (const auto& mesh : meshes()) {
        for (const auto& sizes : shapes) {
            prover.prove(make_case(sizes, mesh), volume({{0, sizes[0]}, {0, sizes[1]}, {0, sizes[2]}}) > 1000 ? 5 : 1);
        }
    }
    prover.tally.print("three axes");
}

TEST(EveryPair, OnThreeMeshAxes) {
    Prover prover(Reduce::Sum);
    for (const auto& mesh : {std::vector<int>{2, 2, 2}, {2, 3, 2}, {3, 2, 2}}) {
        for (int64_t a : {1, 3, 7, 8, 12}) {
            prover.prove(make_case({a}, mesh));
        }
        prover.prove(make_case({8, 12}, mesh));
        prover.prove(make_case({5, 4}, mesh));
        prover.prove(make_case({4, 6, 4}, mesh), 20);
    }
    prover.tally.print("three mesh axes");
}

TEST(EveryPair, OfScalarsAndOtherReductions) {
    for (Reduce reduction : {Reduce::Sum, Reduce::Max, Reduce::Min, Reduce::Prod}) {
        Prover prover(reduction);
        for (const auto& mesh : meshes()) {
            prover.prove(make_case({}, mesh));
            prover.prove(make_case({7}, mesh));
            prover.prove(make_case({4, 3}, mesh));
        }
        prover.tally.print("scalars and others");
    }
}

} // namespace
} // namespace sspc
