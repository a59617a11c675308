// The functions that every file knows: elementary functions, casts, `where`, `iota`, `size`, `stop_gradient`, draws like a tensor.
#include "frontend/elaborate/elaborator.h"

#include "ir/support/format.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sspc::elaboration {

namespace {

struct Elementary {
    std::string_view name;
    ExprOp op;
};
constexpr std::array elementary{
    Elementary{"exp", ExprOp::Exp},     Elementary{"log", ExprOp::Log},   Elementary{"sqrt", ExprOp::Sqrt},
    Elementary{"rsqrt", ExprOp::Rsqrt}, Elementary{"tanh", ExprOp::Tanh}, Elementary{"sigmoid", ExprOp::Sigmoid},
    Elementary{"erf", ExprOp::Erf},     Elementary{"sin", ExprOp::Sin},   Elementary{"cos", ExprOp::Cos},
    Elementary{"abs", ExprOp::Abs},     Elementary{"sign", ExprOp::Sign}, Elementary{"floor", ExprOp::Floor},
    Elementary{"ceil", ExprOp::Ceil},   Elementary{"round", ExprOp::Round}, Elementary{"is_nan", ExprOp::IsNan},
};
constexpr std::array others{"where", "iota", "size",  "stop_gradient", "min",   "max",   "uniform", "normal",
                            "bernoulli", "zeros", "ones", "float", "f64", "f32", "i64", "i32", "i8", "u8", "bool",
                            "bf16", "f16", "f8e4m3", "f8e5m2"};

const Elementary* find_elementary(const std::string& name) {
    const auto it = std::find_if(elementary.begin(), elementary.end(), [&](const Elementary& e) { return e.name == name; });
    return it == elementary.end() ? nullptr : &*it;
}

} // namespace

bool Elaborator::is_builtin(const std::string& name) const {
    return find_elementary(name) != nullptr || std::find(others.begin(), others.end(), name) != others.end();
}

std::vector<std::string> Elaborator::builtin_names() const {
    std::vector<std::string> out;
    for (const Elementary& e : elementary) {
        out.emplace_back(e.name);
    }
    out.insert(out.end(), others.begin(), others.end());
    return out;
}

/// The element type that a name means; `float` is f32, the type where `precision` says nothing.
std::optional<DType> Elaborator::dtype_of(const syntax::Name& name) {
    if (name.text == "float") {
        return DType::F32;
    }
    const auto type = find_dtype(name.text);
    if (!type) {
        const std::vector<std::string> known{"float", "f64", "f32", "bf16", "f16", "f8e4m3", "f8e5m2",
                                             "i64",   "i32", "i8",  "u8",   "bool"};
        sink_.report(diag::UnknownDeclaration, name.span, "element type", name.text).help(did_you_mean(name.text, known));
        return std::nullopt;
    }
    switch (*type) {
    case DType::F64: case DType::F32: case DType::I64: case DType::I32: case DType::U8: case DType::Bool:
        return type;
    case DType::BF16: case DType::F16: case DType::F8E4M3: case DType::F8E5M2: case DType::I8:
        sink_.report(diag::NotImplemented, name.span, format("tensors of type `{0}`", name.text));
        return std::nullopt;
    }
    return std::nullopt;
}

Value Elaborator::cast_to(DType type, const Value& value, const Span& span) {
    if (const Constant* constant = value.constant(); constant != nullptr && number_of(*constant)) {
        const double number = *number_of(*constant);
        if (is_float(type)) {
            return Constant{number};
        }
        const bool whole = std::holds_alternative<int64_t>(constant->value);
        return whole || !(std::abs(number) < 9e18) ? value : integer(static_cast<int64_t>(number));
    }
    auto tensor = tensor_of(value, span);
    if (!tensor) {
        return {};
    }
    tensor->body = tensor->weak != Weak::No && is_float(type) ? with_type(tensor->body, type) : tensor->body;
    tensor->body = tensor->body->type == type ? tensor->body : cast(tensor->body, type);
    tensor->weak = Weak::No;
    return std::move(*tensor);
}

/// `uniform(like: x)`, `bernoulli(p, like: x)`: a draw with x's axes, for ops that do not know them.
Value Elaborator::call_like(const std::string& name, const syntax::Call& call, const Span& span) {
    std::optional<TensorValue> like;
    std::vector<double> numbers;
    for (const syntax::Argument& arg : call.args) {
        if (arg.name && arg.name->text == "like") {
            like = tensor_of(eval(arg.value), arg.value->span);
            if (!like) {
                return {};
            }
        } else if (const auto number = float_of(arg.value, "a parameter of a distribution")) {
            numbers.push_back(*number);
        } else {
            return {};
        }
    }
    if (!like) {
        sink_.report(diag::MissingArgument, span, name, "the axes to draw over, as `[…]` after it or as", "like");
        return {};
    }
    if (name == "bernoulli") {
        if (numbers.size() != 1) {
            sink_.report(diag::MissingArgument, span, name, "the probability", "p");
            return {};
        }
        return draw(DrawKind::Bernoulli, numbers[0], like->axes);
    }
    if (!numbers.empty()) {
        sink_.report(diag::TooManyArguments, span, name, "only `like`", format("{0} more are", numbers.size()));
        return {};
    }
    return draw(name == "normal" ? DrawKind::Normal : DrawKind::Uniform, 0, like->axes);
}

Value Elaborator::call_builtin(const std::string& name, const syntax::Call& call, const Span& span) {
    if (name == "uniform" || name == "normal" || name == "bernoulli") {
        return call_like(name, call, span);
    }
    for (const syntax::Argument& arg : call.args) {
        if (arg.name || arg.over) {
            sink_.report(diag::UnknownArgument, arg.span, name, "parameter", arg.name ? arg.name->text : "over");
            return {};
        }
    }
    const size_t least = name == "where" ? 3 : name == "min" || name == "max" ? 2 : 1;
    const size_t most = name == "min" || name == "max" ? 64 : least;
    if (call.args.size() < least || call.args.size() > most) {
        sink_.report(diag::TooManyArguments, span, name,
                     least == 1 ? "1 argument" : format("{0} arguments", least), format("{0} are", call.args.size()));
        return {};
    }
    if (name == "iota" || name == "size") {
        const auto* ref = std::get_if<syntax::NameRef>(&call.args[0].value->kind);
        if (ref == nullptr) {
            sink_.report(diag::WrongType, call.args[0].value->span, "the name of an axis", "an expression");
            return {};
        }
        const AxisId axis = find_axis({ref->name, call.args[0].value->span});
        if (!axis.valid()) {
            return {};
        }
        return name == "size" ? integer(graph_.axes[axis].size)
                              : Value(TensorValue{iota(axis), {axis}, Weak::Int, {}, Reduce::None, {}});
    }
    std::vector<Value> values;
    for (const syntax::Argument& arg : call.args) {
        values.push_back(eval(arg.value));
    }
    if (std::any_of(values.begin(), values.end(), [](const Value& v) { return v.poisoned(); })) {
        return {};
    }
    const auto at = [&](size_t i) { return call.args[i].value->span; };
    if (name == "min" || name == "max") {
        Value out = values[0];
        for (size_t i = 1; i < values.size() && !out.poisoned(); ++i) {
            out = binary(name == "min" ? ExprOp::Min : ExprOp::Max, name, out, values[i], at(0), at(i), span);
        }
        return out;
    }
    if (name == "where") {
        if (const auto* c = values[0].constant(); c != nullptr && std::holds_alternative<bool>(c->value)) {
            return std::get<bool>(c->value) ? values[1] : values[2];
        }
        auto condition = tensor_of(values[0], at(0));
        auto yes = tensor_of(values[1], at(1));
        auto no = tensor_of(values[2], at(2));
        if (!condition || !yes || !no) {
            return {};
        }
        if (condition->body->type != DType::Bool) {
            sink_.report(diag::WrongType, at(0), "a condition", format("{0}", name_of(condition->body->type)));
            return {};
        }
        if (!unify(*yes, *no, "where", join(at(1), at(2)))) {
            return {};
        }
        TensorValue out;
        out.axes = condition->axes;
        // Memory order follows the values: a mask is usually of fewer axes.
        std::vector<AxisId> axes = yes->axes;
        if (!merge_axes(axes, no->axes, span) || !merge_axes(axes, condition->axes, span)) {
            return {};
        }
        out.axes = axes;
        out.weak = yes->weak;
        out.body = make(ExprOp::Where, {condition->body, yes->body, no->body});
        return out;
    }
    if (name == "stop_gradient") {
        auto value = tensor_of(values[0], at(0));
        if (!value) {
            return {};
        }
        value->body = make(ExprOp::StopGradient, {value->body});
        return std::move(*value);
    }
    if (name == "zeros" || name == "ones") {
        auto value = tensor_of(values[0], at(0));
        if (!value) {
            return {};
        }
        const DType type = value->weak == Weak::No ? value->body->type : DType::F32;
        return TensorValue{constant(name == "ones" ? 1 : 0, type), value->axes, Weak::No, {}, Reduce::None, {}};
    }
    if (const Elementary* function = find_elementary(name)) {
        if (const auto* c = values[0].constant(); c != nullptr && number_of(*c)) {
            const ExprPtr folded = make(function->op, {constant(*number_of(*c), DType::F64)});
            return function->op == ExprOp::IsNan ? Value(Constant{folded->number != 0}) : Value(Constant{folded->number});
        }
        auto value = tensor_of(values[0], at(0));
        if (!value) {
            return {};
        }
        if (value->weak == Weak::Int) {
            value->body = with_type(value->body, DType::F64);
            value->weak = Weak::Float;
        }
        const bool keeps_integers = function->op == ExprOp::Abs || function->op == ExprOp::Sign;
        if (!is_float(value->body->type) && !(keeps_integers && is_integer(value->body->type))) {
            sink_.report(diag::WrongType, at(0), format("a float value for `{0}`", name),
                         format("{0}", name_of(value->body->type)))
                .help("cast it: `float(…)`");
            return {};
        }
        value->body = make(function->op, {value->body});
        value->weak = function->op == ExprOp::IsNan ? Weak::No : value->weak;
        return std::move(*value);
    }
    const auto type = dtype_of({name, call.callee->span});
    return type ? cast_to(*type, values[0], at(0)) : Value{};
}

} // namespace sspc::elaboration
