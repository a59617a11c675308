// Scalar expressions as C++ text.
#pragma once

#include "ir/graph/graph.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sspc::backend {

/// The C++ type that holds elements of this type in memory, and the one that computes with them.
std::string storage_type(DType type);
std::string compute_type(DType type);

/// A constant of the type that computes.
std::string constant_text(double value, DType type);

/// Where an expression's leaves come from.
struct Leaves {
    std::function<std::string(const Expr&)> access; ///< of type compute_type
    std::function<std::string(AxisId)> iota;
    std::function<std::string()> step;
    std::function<std::string(const Expr&)> random;
    /// Names a value that occurs more than once, and returns its name.
    std::function<std::string(const std::string& type, const std::string& text)> bind;
};

/// The text of an expression; values that are used more than once are bound.
class ExpressionText {
public:
    explicit ExpressionText(Leaves leaves) : leaves_(std::move(leaves)) {}
    std::string text(const ExprPtr& expr);

private:
    void count(const Expr& expr);
    std::string write(const Expr& expr);
    std::string node(const Expr& expr);

    Leaves leaves_;
    std::map<const Expr*, int> uses_;
    std::map<const Expr*, std::string> bound_;
};

/// The least and greatest value of an integer expression over whole axes, if its form shows them.
std::optional<std::pair<int64_t, int64_t>> range_of(const ExprPtr& expr, const IdVector<AxisId, Axis>& axes);

} // namespace sspc::backend
