// Shortest chains of moves by brute force: every layout, every move between two, Floyd and Warshall. Written apart from ir/collective, from the
// table in docs/language.md and from boxes of devices alone.
#pragma once

#include "ir/collective/move.h"

#include <compare>
#include <map>
#include <optional>
#include <vector>

namespace sspc::test {

struct Case {
    IdVector<AxisId, Axis> axes;
    TensorShape shape;
    Mesh mesh;
};
inline Case make_case(const std::vector<int64_t>& sizes, const std::vector<int>& mesh_sizes) {
    Case result;
    for (size_t k = 0; k < sizes.size(); ++k) {
        result.shape.axes.push_back(result.axes.push_back({std::string(1, static_cast<char>('a' + k)), sizes[k], {}}));
    }
    for (size_t m = 0; m < mesh_sizes.size(); ++m) {
        result.mesh.axes.push_back({std::string(1, static_cast<char>('x' + m)), mesh_sizes[m], AxisRole::Device, {}});
    }
    return result;
}

/// Every layout of the case's tensor on its mesh, Partial under `reduction` included.
inline std::vector<Layout> all_layouts(const Case& c, Reduce reduction) {
    std::vector<Layout> layouts{Layout()};
    for (size_t m = 0; m < c.mesh.axes.size(); ++m) {
        std::vector<Placement> choices{Placement::replicated()};
        if (c.mesh.axes[m].size > 1) {
            choices.push_back(Placement::partial(reduction));
            for (AxisId axis : c.shape.axes) {
                choices.push_back(Placement::sharded(axis));
            }
        }
        std::vector<Layout> longer;
        for (const Layout& layout : layouts) {
            for (const Placement& choice : choices) {
                longer.push_back(layout);
                longer.back().push_back(choice);
            }
        }
        layouts = longer;
    }
    return layouts;
}

struct Price {
    int64_t bytes = 0;
    std::vector<int> kinds; ///< their number counts before their order
    friend bool operator<(const Price& a, const Price& b) {
        if (a.bytes != b.bytes) {
            return a.bytes < b.bytes;
        }
        if (a.kinds.size() != b.kinds.size()) {
            return a.kinds.size() < b.kinds.size();
        }
        return a.kinds < b.kinds;
    }
    friend bool operator==(const Price&, const Price&) = default;
};

/// The first kind of the table, if any, that turns `a` into `b` in one step along the axes that differ (Exchange: along all), with its bytes.
inline std::optional<Price> one_move(const Case& c, const Layout& a, const Layout& b) {
    using Kind = Placement::Kind;
    const int64_t element = size_of(c.shape.dtype);
    int64_t group = 1;
    bool all_reduce = true, reduce_scatter = true, all_gather = true, all_to_all = true, slice = true, to_partial = true;
    bool exchange = true;
    std::vector<int> along;
    for (size_t m = 0; m < a.size(); ++m) {
        if (a[m] == b[m]) {
            continue;
        }
        along.push_back(static_cast<int>(m));
        group *= c.mesh.axes[m].size;
        const Kind x = a[m].kind, y = b[m].kind;
        all_reduce = all_reduce && x == Kind::Partial && y == Kind::Replicated;
        reduce_scatter = reduce_scatter && x == Kind::Partial && y == Kind::Sharded;
        all_gather = all_gather && x == Kind::Sharded && y == Kind::Replicated;
        all_to_all = all_to_all && x == Kind::Sharded && y == Kind::Sharded;
        slice = slice && x == Kind::Replicated && y == Kind::Sharded;
        to_partial = to_partial && x == Kind::Replicated && y == Kind::Partial;
        exchange = exchange && x != Kind::Partial && y != Kind::Partial;
    }
    bool own_suffices = true;   // each new box within the device's own old one
    bool group_suffices = true; // each element of a new box in an old box of the group
    int64_t most_missing = 0;
    int64_t largest_old = 0, largest_new = 0;
    for (int device = 0; device < device_count(c.mesh); ++device) {
        const Box old_box = region(c.axes, c.shape.axes, c.mesh, a, coordinates(c.mesh, device));
        const Box new_box = region(c.axes, c.shape.axes, c.mesh, b, coordinates(c.mesh, device));
        const auto kept = intersect(old_box, new_box);
        const int64_t missing = volume(new_box) - (kept ? volume(*kept) : 0);
        own_suffices = own_suffices && missing == 0;
        most_missing = std::max(most_missing, missing);
        largest_old = std::max(largest_old, volume(old_box));
        largest_new = std::max(largest_new, volume(new_box));
        if (missing > 0 && (all_gather || all_to_all)) {
            // Members hold equal boxes or disjoint ones, so different boxes' shares add up.
            std::vector<Box> seen;
            int64_t held = 0;
            for (int member : group_of(c.mesh, device, along)) {
                const Box theirs = region(c.axes, c.shape.axes, c.mesh, a, coordinates(c.mesh, member));
                const auto common = intersect(theirs, new_box);
                if (common && std::find(seen.begin(), seen.end(), theirs) == seen.end()) {
                    seen.push_back(theirs);
                    held += volume(*common);
                }
            }
            group_suffices = group_suffices && held == volume(new_box);
        }
    }
    const auto price = [](int64_t bytes, MoveKind kind) { return Price{bytes, {static_cast<int>(kind)}}; };
    if (all_reduce && own_suffices) {
        const int64_t twice = 2 * largest_old * element * (group - 1);
        return price(twice / group + (twice % group != 0), MoveKind::AllReduce);
    }
    if (reduce_scatter && own_suffices) {
        return price(largest_new * element * (group - 1), MoveKind::ReduceScatter);
    }
    if (all_gather && group_suffices) {
        return price(most_missing * element, MoveKind::AllGather);
    }
    if (all_to_all && group_suffices) {
        return price(most_missing * element, MoveKind::AllToAll);
    }
    if (slice && own_suffices) {
        return price(0, MoveKind::Slice);
    }
    if (to_partial) {
        return price(0, MoveKind::ToPartial);
    }
    if (exchange) {
        return price(most_missing * element, MoveKind::Exchange);
    }
    return std::nullopt;
}

/// For each pair of layouts the price of the cheapest chain.
inline std::vector<std::vector<std::optional<Price>>> all_prices(const Case& c, const std::vector<Layout>& layouts) {
    const size_t n = layouts.size();
    std::vector<std::vector<std::optional<Price>>> best(n, std::vector<std::optional<Price>>(n));
    for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < n; ++j) {
            best[i][j] = i == j ? Price{} : one_move(c, layouts[i], layouts[j]);
        }
    }
    for (size_t via = 0; via < n; ++via) {
        for (size_t i = 0; i < n; ++i) {
            if (i == via || !best[i][via]) {
                continue;
            }
            for (size_t j = 0; j < n; ++j) {
                const auto& first = best[i][via];
                const auto& second = best[via][j];
                if (j == via || !second) {
                    continue;
                }
                if (best[i][j] && (best[i][j]->bytes < first->bytes + second->bytes ||
                                   (best[i][j]->bytes == first->bytes + second->bytes &&
                                    best[i][j]->kinds.size() < first->kinds.size() + second->kinds.size()))) {
                    continue;
                }
                Price chained{first->bytes + second->bytes, first->kinds};
                chained.kinds.insert(chained.kinds.end(), second->kinds.begin(), second->kinds.end());
                if (!best[i][j] || chained < *best[i][j]) {
                    best[i][j] = chained;
                }
            }
        }
    }
    return best;
}

} // namespace sspc::test
