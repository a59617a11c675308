// Recognises the injective index maps of the language and turns them round.
#include "ir/passes/inverse_access.h"

#include <algorithm>
#include <map>

namespace sspc {
namespace {

ExprPtr integer(int64_t value) {
    return constant(static_cast<double>(value), DType::I64);
}

/// offset + sum of factor * coordinate.
struct Linear {
    std::vector<std::pair<AxisId, int64_t>> terms;
    int64_t offset = 0;
};

std::optional<Linear> scaled(std::optional<Linear> linear, int64_t factor) {
    if (linear) {
        linear->offset *= factor;
        for (auto& term : linear->terms) {
            term.second *= factor;
        }
    }
    return linear;
}

std::optional<Linear> linear_of(const ExprPtr& expr);

std::optional<Linear> linear_sum(const ExprPtr& a, const ExprPtr& b, int64_t sign) {
    auto x = linear_of(a);
    const auto y = scaled(linear_of(b), sign);
    if (!x || !y) {
        return std::nullopt;
    }
    x->offset += y->offset;
    x->terms.insert(x->terms.end(), y->terms.begin(), y->terms.end());
    return x;
}

std::optional<Linear> linear_of(const ExprPtr& expr) {
    switch (expr->op) {
    case ExprOp::Constant: return Linear{{}, static_cast<int64_t>(expr->number)};
    case ExprOp::Iota: return Linear{{{expr->axis, 1}}, 0};
    case ExprOp::Cast: return is_integer(expr->type) ? linear_of(expr->args[0]) : std::nullopt;
    case ExprOp::Neg: return scaled(linear_of(expr->args[0]), -1);
    case ExprOp::Add: return linear_sum(expr->args[0], expr->args[1], 1);
    case ExprOp::Sub: return linear_sum(expr->args[0], expr->args[1], -1);
    case ExprOp::Mul:
        if (expr->args[1]->op == ExprOp::Constant) {
            return scaled(linear_of(expr->args[0]),
                          static_cast<int64_t>(expr->args[1]->number));
        }
        return std::nullopt;
    default: return std::nullopt;
    }
}

/// (coordinate // divisor) % modulus; modulus 0: none.
struct Digit {
    AxisId axis;
    int64_t divisor = 1;
    int64_t modulus = 0;
};

std::optional<Digit> digit_of(const ExprPtr& expr) {
    if (expr->op == ExprOp::Iota) {
        return Digit{expr->axis};
    }
    if ((expr->op != ExprOp::FloorDiv && expr->op != ExprOp::Mod) ||
        expr->args[1]->op != ExprOp::Constant) {
        return std::nullopt;
    }
    auto digit = digit_of(expr->args[0]);
    const auto number = static_cast<int64_t>(expr->args[1]->number);
    if (!digit || number <= 0) {
        return std::nullopt;
    }
    if (expr->op == ExprOp::Mod) {
        if (digit->modulus != 0) {
            return std::nullopt;
        }
        digit->modulus = number;
        return digit;
    }
    if (digit->modulus % number != 0) { // (x % m) // d is a digit where d divides m
        return std::nullopt;
    }
    digit->modulus /= number;
    digit->divisor *= number;
    return digit;
}

class Inverter {
public:
    Inverter(const Graph& graph, const std::vector<AxisId>& operand_axes)
        : graph_(graph), operand_axes_(operand_axes) {}

    bool add(size_t position, const ExprPtr& index) {
        if (const auto linear = linear_of(index)) {
            return add_linear(operand_axes_[position], *linear);
        }
        if (const auto digit = digit_of(index)) {
            digits_[digit->axis].push_back({position, *digit});
            return true;
        }
        return false;
    }

    std::optional<InverseAccess> finish(const std::vector<AxisId>& space) {
        for (auto& [axis, digits] : digits_) {
            if (!merge(axis, digits)) {
                return std::nullopt;
            }
        }
        for (const AxisId axis : space) {
            const auto it = coordinate_.find(axis);
            if (it == coordinate_.end()) {
                return std::nullopt;
            }
            result_.index.push_back(it->second);
        }
        if (!result_.picked.empty() && !all_plain_) {
            return std::nullopt;
        }
        return result_;
    }

private:
    int64_t size(AxisId axis) const { return graph_.axes[axis].size; }

    bool set(AxisId axis, ExprPtr coordinate) {
        return coordinate_.emplace(axis, std::move(coordinate)).second;
    }

    bool add_linear(AxisId own, Linear linear) {
        if (linear.terms.empty()) {
            if (size(own) == 1 && linear.offset == 0) {
                return true; // its only element
            }
            result_.picked.emplace_back(own, linear.offset);
            return true;
        }
        if (linear.terms.size() == 1 && linear.terms[0].second == 1) {
            const AxisId axis = linear.terms[0].first;
            const int64_t first = -linear.offset;
            const bool inside = first >= 0 && first + size(own) <= size(axis);
            result_.covers = result_.covers && inside;
            all_plain_ = all_plain_ && linear.offset == 0 && size(own) == size(axis);
            return set(axis, iota(own) - integer(linear.offset));
        }
        all_plain_ = false;
        return linear.offset == 0 && split(own, std::move(linear.terms));
    }

    /// own = the mixed-radix number whose digits are the terms.
    bool split(AxisId own, std::vector<std::pair<AxisId, int64_t>> terms) {
        std::sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) {
            return std::pair(a.second, a.first) < std::pair(b.second, b.first);
        });
        int64_t radix = 1;
        for (const auto& [axis, factor] : terms) {
            if (size(axis) == 1) { // its only coordinate is 0, whatever the factor
                if (!set(axis, integer(0))) {
                    return false;
                }
                continue;
            }
            if (factor != radix) {
                return false;
            }
            radix *= size(axis);
            ExprPtr digit = make(ExprOp::FloorDiv, {iota(own), integer(factor)});
            if (radix != size(own)) {
                digit = make(ExprOp::Mod, {digit, integer(size(axis))});
            }
            if (!set(axis, digit)) {
                return false;
            }
        }
        return radix == size(own);
    }

    struct Placed {
        size_t position;
        Digit digit;
    };

    /// axis = the mixed-radix number whose digits are the operand's axes.
    bool merge(AxisId axis, std::vector<Placed>& digits) {
        all_plain_ = false;
        std::stable_sort(digits.begin(), digits.end(), [&](const Placed& a, const Placed& b) {
            return std::pair(a.digit.divisor, size(operand_axes_[a.position])) <
                   std::pair(b.digit.divisor, size(operand_axes_[b.position]));
        });
        int64_t radix = 1;
        ExprPtr sum = integer(0);
        for (const Placed& placed : digits) {
            const AxisId own = operand_axes_[placed.position];
            if (size(own) == 1 && placed.digit.modulus == 1) {
                continue;
            }
            const bool last = radix * size(own) == size(axis);
            if (placed.digit.divisor != radix ||
                (placed.digit.modulus != size(own) && !(last && placed.digit.modulus == 0))) {
                return false;
            }
            sum = iota(own) * integer(radix) + sum;
            radix *= size(own);
        }
        return radix == size(axis) && set(axis, sum);
    }

    const Graph& graph_;
    const std::vector<AxisId>& operand_axes_;
    std::map<AxisId, ExprPtr> coordinate_;
    std::map<AxisId, std::vector<Placed>> digits_;
    InverseAccess result_;
    bool all_plain_ = true;
};

} // namespace

std::optional<InverseAccess> invert_access(const Graph& graph, const std::vector<ExprPtr>& index,
                                           const std::vector<AxisId>& operand_axes,
                                           const std::vector<AxisId>& space) {
    Inverter inverter(graph, operand_axes);
    for (size_t i = 0; i < index.size(); ++i) {
        if (!inverter.add(i, index[i])) {
            return std::nullopt;
        }
    }
    return inverter.finish(space);
}

} // namespace sspc
