// Compares two runs tensor by tensor, each against its own largest value.
#include "backend/report/compare.h"

#include "backend/report/table.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace sspc::backend {

namespace {

/// The largest finite magnitude.
double largest_of(const StoredTensor& tensor) {
    double largest = 0;
    for (double value : tensor.values) {
        largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
    }
    return largest;
}

Comparison compare_one(const StoredTensor& reference, const StoredTensor& other, double tolerance,
                       double floor) {
    Comparison result;
    if (reference.shape != other.shape) {
        result.ok = false;
        result.problem = "the shapes differ";
        result.max_abs = result.max_rel = std::numeric_limits<double>::infinity();
        return result;
    }
    for (size_t i = 0; i < reference.values.size(); ++i) {
        const double a = reference.values[i];
        const double b = other.values[i];
        if (a == b || (std::isnan(a) && std::isnan(b))) { // equal infinities too
            continue;
        }
        const double difference = std::abs(a - b);
        result.max_abs = std::isnan(difference) ? std::numeric_limits<double>::infinity()
                                                : std::max(result.max_abs, difference);
    }
    const double scale = std::max(largest_of(reference), floor);
    result.max_rel = result.max_abs == 0 ? 0
                     : scale == 0        ? std::numeric_limits<double>::infinity()
                                         : result.max_abs / scale;
    result.ok = result.max_rel <= tolerance;
    return result;
}

} // namespace

std::vector<Comparison> compare(const std::map<std::string, StoredTensor>& reference,
                                const std::map<std::string, StoredTensor>& other,
                                const Tolerance& tolerance, const std::string& prefix) {
    std::vector<Comparison> all;
    double floor = 0;
    for (const auto& [name, tensor] : reference) {
        floor = std::max(floor, largest_of(tensor) * tolerance.floor_share);
    }
    const auto absent = [&](const std::string& name, const char* where) {
        all.push_back({prefix + name, std::numeric_limits<double>::infinity(),
                       std::numeric_limits<double>::infinity(), false, where});
    };
    for (const auto& [name, tensor] : reference) {
        const auto match = other.find(name);
        if (match == other.end()) {
            absent(name, "absent under the plan");
            continue;
        }
        Comparison result = compare_one(tensor, match->second, tolerance.relative, floor);
        result.path = prefix + name;
        all.push_back(std::move(result));
    }
    for (const auto& [name, tensor] : other) {
        if (!reference.contains(name)) {
            absent(name, "absent without the plan");
        }
    }
    return all;
}

void worst_first(std::vector<Comparison>& comparisons) {
    std::stable_sort(comparisons.begin(), comparisons.end(),
                     [](const Comparison& a, const Comparison& b) {
                         return std::tuple(a.ok, -a.max_rel) < std::tuple(b.ok, -b.max_rel);
                     });
}

bool all_ok(const std::vector<Comparison>& comparisons) {
    return std::all_of(comparisons.begin(), comparisons.end(),
                       [](const Comparison& c) { return c.ok; });
}

std::string comparison_json(const std::vector<Comparison>& comparisons, double tolerance) {
    using Json = nlohmann::ordered_json;
    // JSON has no infinity: what cannot be compared has null.
    const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
    Json document;
    document["ok"] = all_ok(comparisons);
    document["tensors"] = Json::array();
    for (const Comparison& c : comparisons) {
        Json object;
        object["path"] = c.path;
        object["max_abs"] = number(c.max_abs);
        object["max_rel"] = number(c.max_rel);
        object["ok"] = c.ok;
        document["tensors"].push_back(std::move(object));
    }
    document["tolerance"] = tolerance;
    return document.dump(2) + "\n";
}

std::string comparison_text(const std::vector<Comparison>& comparisons, double tolerance,
                            size_t most) {
    const auto wrong = std::count_if(comparisons.begin(), comparisons.end(),
                                     [](const Comparison& c) { return !c.ok; });
    Table table({{"compared", Table::Align::Left, true}, {"largest difference", Table::Align::Right},
                 {"of the largest value", Table::Align::Right}, {"", Table::Align::Left}});
    for (size_t i = 0; i < std::min(most, comparisons.size()); ++i) {
        const Comparison& c = comparisons[i];
        table.row({c.path, scientific(c.max_abs), scientific(c.max_rel),
                   c.ok ? "" : c.problem.empty() ? "differs" : c.problem});
    }
    std::string text = table.text();
    if (comparisons.size() > most) {
        text += "  and " + std::to_string(comparisons.size() - most) + " more\n";
    }
    const std::string total = std::to_string(comparisons.size());
    text += wrong == 0 ? "the plan gives the uncut model's numbers: all " + total
                       : std::to_string(wrong) + " of " + total + " differ by more than";
    return text + (wrong == 0 ? " agree within " : " ") + scientific(tolerance) +
           " of their largest value\n";
}

} // namespace sspc::backend
