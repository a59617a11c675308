// What an expression of a plan file is while it is elaborated.
#pragma once

#include "ir/graph/graph.h"

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace sspc::elaboration {

/// Known when compiling.
struct Constant {
    std::variant<int64_t, double, bool, std::string> value;
};

/// A type that follows the other operand's: of literals, constants, `iota` and `step`.
enum class Weak { No, Int, Float };

/// An expression that is no statement yet: elementwise over tensors, or, where `pending`, one reduction or one access at computed
/// positions, which becomes a statement of its own as soon as anything is done with it. Access::slot holds the tensor's id.
struct TensorValue {
    ExprPtr body;
    std::vector<AxisId> axes;
    Weak weak = Weak::No;
    std::string pending; ///< `sum`, `gather`, …: the task's name inside a larger expression; empty: elementwise
    Reduce reduce = Reduce::None;
    std::vector<AxisId> reduced;
};

struct TupleValue;
/// The value of something wrong, which was reported: nothing more is said of what is made of it.
struct Poison {};

struct Value {
    std::variant<Poison, Constant, TensorValue, std::shared_ptr<const TupleValue>> kind;

    Value() = default;
    Value(Constant constant) : kind(std::move(constant)) {}
    Value(TensorValue tensor) : kind(std::move(tensor)) {}
    Value(std::shared_ptr<const TupleValue> tuple) : kind(std::move(tuple)) {}

    bool poisoned() const { return std::holds_alternative<Poison>(kind); }
    const Constant* constant() const { return std::get_if<Constant>(&kind); }
    const TensorValue* tensor() const { return std::get_if<TensorValue>(&kind); }
    const TupleValue* tuple() const {
        const auto* p = std::get_if<std::shared_ptr<const TupleValue>>(&kind);
        return p == nullptr ? nullptr : p->get();
    }
};

struct TupleValue {
    std::vector<Value> items;
    std::vector<std::string> names; ///< one for each item; empty where it has none
};

inline Value integer(int64_t value) { return Constant{value}; }

/// `an integer`, `a float tensor [batch, seq]`: for messages.
std::string describe(const Constant& constant);
/// The number of an integer or float constant.
std::optional<double> number_of(const Constant& constant);
/// The expression in the type `type`; for values of a weak type.
ExprPtr with_type(const ExprPtr& expr, DType type);
/// Nodes of the tree, shared ones once, counted up to `limit`.
size_t count_nodes(const ExprPtr& expr);

} // namespace sspc::elaboration
