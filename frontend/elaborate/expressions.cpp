// Names, constants and elementwise operations.
#include "frontend/elaborate/elaborator.h"

#include "ir/support/format.h"
#include "ir/support/match.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sspc::elaboration {

std::string_view describe(Frame::Kind kind) {
    switch (kind) {
    case Frame::Kind::Model: return "a model";
    case Frame::Kind::Module: return "a module";
    case Frame::Kind::Op: return "an op";
    case Frame::Kind::Optimizer: return "an optimizer";
    case Frame::Kind::Constants: return "a plan or schedule";
    }
    return "";
}

Value Elaborator::eval(const syntax::ExprPtr& expr) {
    const Span& span = expr->span;
    return std::visit(
        Match{[&](const syntax::IntLiteral& e) -> Value { return integer(e.value); },
              [&](const syntax::FloatLiteral& e) -> Value { return Constant{e.value}; },
              [&](const syntax::SizeLiteral& e) -> Value { return integer(e.bytes); },
              [&](const syntax::StringLiteral& e) -> Value { return Constant{e.value}; },
              [&](const syntax::BoolLiteral& e) -> Value { return Constant{e.value}; },
              [&](const syntax::InfLiteral&) -> Value { return Constant{std::numeric_limits<double>::infinity()}; },
              [&](const syntax::NameRef& e) -> Value { return eval_name(e, span); },
              [&](const syntax::Member& e) -> Value { return eval_member(e); },
              [&](const syntax::Call& e) -> Value { return eval_call(e, span); },
              [&](const syntax::Unary& e) -> Value { return eval_unary(e, span); },
              [&](const syntax::Binary& e) -> Value { return eval_binary(e, span); },
              [&](const syntax::Reduce& e) -> Value { return eval_reduce(e, span); },
              [&](const syntax::Index& e) -> Value { return eval_index(e, span); },
              [&](const syntax::Draw& e) -> Value { return eval_draw(e, span); },
              [&](const syntax::Concat& e) -> Value { return eval_concat(e, span); },
              [&](const syntax::Tuple& e) -> Value {
                  auto tuple = std::make_shared<TupleValue>();
                  for (const syntax::ExprPtr& item : e.items) {
                      tuple->items.push_back(eval(item));
                      tuple->names.emplace_back();
                  }
                  return Value(std::shared_ptr<const TupleValue>(std::move(tuple)));
              }},
        expr->kind);
}

std::vector<std::string> Elaborator::visible_names() const {
    std::vector<std::string> out;
    for (const auto& [name, binding] : frame_->names) {
        out.push_back(name);
    }
    for (const auto& [name, axis] : frame_->axes) {
        out.push_back(name);
    }
    return out;
}

std::string Elaborator::did_you_mean(std::string_view name, const std::vector<std::string>& candidates) const {
    const auto near = nearest_names(name, candidates, 1);
    return near.empty() ? std::string() : format("did you mean `{0}`?", near.front());
}

std::string Elaborator::block_text() const {
    std::string out;
    for (const std::string& block : blocks_) {
        out += (out.empty() ? "" : ".") + block.substr(0, block.find('['));
    }
    return out;
}

Value Elaborator::eval_name(const syntax::NameRef& name, const Span& span) {
    if (name.name == reading_) {
        reads_itself_ = true;
    }
    if (const auto it = frame_->names.find(name.name); it != frame_->names.end()) {
        const Binding& binding = it->second;
        if (binding.value.tensor() != nullptr && !binding.carried && binding.block != block_text() &&
            name.name != reading_) {
            for (size_t i = 0; i < std::min(loops_.size(), binding.loops.size()); ++i) {
                if (loops_[i].loop != binding.loops[i].loop) {
                    break;
                }
                if (loops_[i].turn != binding.loops[i].turn) {
                    sink_.report(diag::FromPreviousTurn, span, name.name, binding.block)
                        .note(binding.span, "bound here")
                        .help("bind it before it is read in each turn, or give it another name");
                    break;
                }
            }
        }
        return binding.value;
    }
    if (const auto it = frame_->axes.find(name.name); it != frame_->axes.end()) {
        return integer(graph_.axes[it->second].size);
    }
    if (name.name == "step" && frame_->kind == Frame::Kind::Optimizer) {
        return TensorValue{step_number(), {}, Weak::Int, {}, Reduce::None, {}};
    }
    Diagnostic& diagnostic = sink_.report(diag::UnknownName, span, name.name);
    if (is_builtin(name.name) || library_.find(&syntax::Module::ops, name.name, frame_->file) ||
        library_.find(&syntax::Module::modules, name.name, frame_->file)) {
        diagnostic.help(format("`{0}` is called with its arguments: `{0}(…)`", name.name));
    } else if (auto help = did_you_mean(name.name, visible_names()); !help.empty()) {
        diagnostic.help(std::move(help));
    }
    return {};
}

Value Elaborator::eval_member(const syntax::Member& member) {
    const Value object = eval(member.object);
    if (object.poisoned()) {
        return {};
    }
    const TupleValue* tuple = object.tuple();
    if (tuple == nullptr) {
        sink_.report(diag::WrongType, member.object->span, "a call with several results", "one value");
        return {};
    }
    const auto it = std::find(tuple->names.begin(), tuple->names.end(), member.name.text);
    if (it == tuple->names.end()) {
        sink_.report(diag::UnknownDeclaration, member.name.span, "result", member.name.text)
            .help(did_you_mean(member.name.text, tuple->names));
        return {};
    }
    return tuple->items[static_cast<size_t>(it - tuple->names.begin())];
}

// ---- constants ----

std::optional<Constant> Elaborator::constant_of(const syntax::ExprPtr& expr, std::string_view what) {
    const Value value = eval(expr);
    if (value.poisoned()) {
        return std::nullopt;
    }
    if (const Constant* constant = value.constant()) {
        return *constant;
    }
    if (value.tuple() != nullptr) {
        sink_.report(diag::WrongType, expr->span, std::string(what), "several values");
    } else {
        sink_.report(diag::NotConstant, expr->span, std::string(what));
    }
    return std::nullopt;
}

std::optional<int64_t> Elaborator::integer_of(const syntax::ExprPtr& expr, std::string_view what) {
    const auto constant = constant_of(expr, what);
    if (!constant) {
        return std::nullopt;
    }
    if (const auto* i = std::get_if<int64_t>(&constant->value)) {
        return *i;
    }
    sink_.report(diag::WrongType, expr->span, format("an integer for {0}", what), describe(*constant));
    return std::nullopt;
}

std::optional<double> Elaborator::float_of(const syntax::ExprPtr& expr, std::string_view what) {
    const auto constant = constant_of(expr, what);
    if (!constant) {
        return std::nullopt;
    }
    if (const auto number = number_of(*constant)) {
        return number;
    }
    sink_.report(diag::WrongType, expr->span, format("a number for {0}", what), describe(*constant));
    return std::nullopt;
}

std::optional<std::pair<int64_t, int64_t>> Elaborator::range_of(const syntax::Range& range) {
    const auto from = integer_of(range.from, "the start of a range");
    const auto to = integer_of(range.to, "the end of a range");
    if (!from || !to) {
        return std::nullopt;
    }
    constexpr int64_t most = 10'000'000;
    if (*to > *from && static_cast<uint64_t>(*to) - static_cast<uint64_t>(*from) > most) {
        sink_.report(diag::BadConstant, range.span, format("a range of more than {0} numbers", most));
        return std::nullopt;
    }
    return std::pair(*from, *to);
}

namespace {

int64_t negated(int64_t value) {
    return static_cast<int64_t>(uint64_t{0} - static_cast<uint64_t>(value));
}

std::optional<int64_t> fold_integers(ExprOp op, int64_t a, int64_t b, bool& overflow) {
    int64_t out = 0;
    overflow = false;
    switch (op) {
    case ExprOp::Add: overflow = __builtin_add_overflow(a, b, &out); return out;
    case ExprOp::Sub: overflow = __builtin_sub_overflow(a, b, &out); return out;
    case ExprOp::Mul: overflow = __builtin_mul_overflow(a, b, &out); return out;
    case ExprOp::Min: return std::min(a, b);
    case ExprOp::Max: return std::max(a, b);
    case ExprOp::Pow: {
        if (b < 0) {
            return std::nullopt;
        }
        out = 1;
        if (a == 0 || a == 1) {
            return b == 0 ? 1 : a;
        }
        for (int64_t i = 0; i < b && !overflow; ++i) {
            overflow = __builtin_mul_overflow(out, a, &out);
        }
        return out;
    }
    default: return std::nullopt;
    }
}

std::optional<bool> compare(ExprOp op, double a, double b) {
    switch (op) {
    case ExprOp::Eq: return a == b;
    case ExprOp::Ne: return a != b;
    case ExprOp::Lt: return a < b;
    case ExprOp::Le: return a <= b;
    case ExprOp::Gt: return a > b;
    case ExprOp::Ge: return a >= b;
    default: return std::nullopt;
    }
}

} // namespace

/// nullopt: reported.
std::optional<Value> Elaborator::fold(ExprOp op, const Constant& a, const Constant& b, const Span& span) {
    if (op == ExprOp::Eq || op == ExprOp::Ne) {
        if (a.value.index() == b.value.index() && !number_of(a)) {
            return Constant{(a.value == b.value) == (op == ExprOp::Eq)};
        }
    }
    const auto x = number_of(a);
    const auto y = number_of(b);
    if (!x || !y) {
        sink_.report(diag::WrongType, span, "two numbers", describe(x ? b : a));
        return std::nullopt;
    }
    if (const auto truth = compare(op, *x, *y)) {
        return Constant{*truth};
    }
    const auto* i = std::get_if<int64_t>(&a.value);
    const auto* j = std::get_if<int64_t>(&b.value);
    if (i != nullptr && j != nullptr) {
        if (op == ExprOp::Div || op == ExprOp::Mod) {
            if (*j == 0) {
                sink_.report(diag::BadConstant, span, format("{0} divided by 0", *i));
                return std::nullopt;
            }
            if (*j == -1) { // the one division that can overflow
                return op == ExprOp::Mod ? Value(integer(0)) : Value(integer(negated(*i)));
            }
            if (op == ExprOp::Mod) {
                return integer((*i % *j + *j) % *j);
            }
            if (*i % *j != 0) {
                sink_.report(diag::DoesNotDivide, span, *i, *j, *i % *j)
                    .help(format("a float division is `{0}.0 / {1}`", *i, *j));
                return std::nullopt;
            }
            return integer(*i / *j);
        }
        bool overflow = false;
        const auto exact = fold_integers(op, *i, *j, overflow);
        if (overflow) {
            sink_.report(diag::BadConstant, span, "the result does not fit an integer of 64 bits");
            return std::nullopt;
        }
        if (exact) {
            return integer(*exact);
        }
    }
    switch (op) {
    case ExprOp::Add: return Constant{*x + *y};
    case ExprOp::Sub: return Constant{*x - *y};
    case ExprOp::Mul: return Constant{*x * *y};
    case ExprOp::Div: return Constant{*x / *y};
    case ExprOp::Mod: return Constant{*x - *y * std::floor(*x / *y)};
    case ExprOp::Pow: return Constant{std::pow(*x, *y)};
    case ExprOp::Min: return Constant{std::min(*x, *y)};
    case ExprOp::Max: return Constant{std::max(*x, *y)};
    default: return Value{};
    }
}

// ---- tensors ----

std::optional<TensorValue> Elaborator::tensor_of(const Value& value, const Span& span) {
    if (value.poisoned()) {
        return std::nullopt;
    }
    if (const TensorValue* tensor = value.tensor()) {
        return settled(*tensor, span);
    }
    if (value.tuple() != nullptr) {
        sink_.report(diag::WrongType, span, "one value", format("{0} values", value.tuple()->items.size()));
        return std::nullopt;
    }
    const Constant& constant = *value.constant();
    if (const auto* i = std::get_if<int64_t>(&constant.value)) {
        return TensorValue{sspc::constant(static_cast<double>(*i), DType::I64), {}, Weak::Int, {}, Reduce::None, {}};
    }
    if (const auto* d = std::get_if<double>(&constant.value)) {
        return TensorValue{sspc::constant(*d, DType::F64), {}, Weak::Float, {}, Reduce::None, {}};
    }
    if (const auto* b = std::get_if<bool>(&constant.value)) {
        return TensorValue{sspc::constant(*b ? 1 : 0, DType::Bool), {}, Weak::No, {}, Reduce::None, {}};
    }
    sink_.report(diag::WrongType, span, "a number or tensor", describe(constant));
    return std::nullopt;
}

bool Elaborator::merge_axes(std::vector<AxisId>& into, const std::vector<AxisId>& more, const Span& span) {
    const auto base = [&](AxisId axis) {
        const auto it = axis_base_.find(axis);
        return it == axis_base_.end() ? axis : it->second;
    };
    for (const AxisId axis : more) {
        if (std::find(into.begin(), into.end(), axis) != into.end()) {
            continue;
        }
        for (const AxisId other : into) {
            if (base(other) == base(axis)) {
                sink_.report(diag::SizesDiffer, span, graph_.axes[base(axis)].name, graph_.axes[other].size,
                             graph_.axes[base(axis)].name, graph_.axes[axis].size)
                    .help("one of them is a slice; rename its axis with `as` to keep them apart");
                return false;
            }
        }
        into.push_back(axis);
    }
    return true;
}

bool Elaborator::unify(TensorValue& a, TensorValue& b, std::string_view word, const Span& span) {
    if (a.weak == Weak::No && b.weak == Weak::No) {
        if (a.body->type == b.body->type) {
            return true;
        }
        sink_.report(diag::MixedTypes, span, std::string(word), name_of(a.body->type), name_of(b.body->type))
            .help(format("cast one of them: `{0}(…)`", name_of(is_float(b.body->type) ? b.body->type : a.body->type)));
        return false;
    }
    if (a.weak != Weak::No && b.weak != Weak::No) {
        if (a.weak != b.weak) {
            TensorValue& narrow = a.weak == Weak::Int ? a : b;
            narrow.body = with_type(narrow.body, DType::F64);
            narrow.weak = Weak::Float;
        }
        return true;
    }
    TensorValue& weak = a.weak != Weak::No ? a : b;
    const DType type = (a.weak != Weak::No ? b : a).body->type;
    if (type == DType::Bool || (weak.weak == Weak::Float && !is_float(type))) {
        sink_.report(diag::MixedTypes, span, std::string(word), name_of(type),
                     weak.weak == Weak::Float ? "a fraction" : "a number")
            .help(format("cast the {0} operand: `float(…)`", name_of(type)));
        return false;
    }
    weak.body = with_type(weak.body, type);
    weak.weak = Weak::No;
    return true;
}

Value Elaborator::arithmetic(ExprOp op, std::string_view word, TensorValue a, TensorValue b, const Span& span) {
    if (op == ExprOp::Pow && b.body->op == ExprOp::Constant && b.weak == Weak::Int) {
        // Small whole powers are products: exact, and their derivatives short.
        const double power = b.body->number;
        if (power == 1) {
            return a;
        }
        if (power == 2 || power == 3) {
            TensorValue out = a;
            out.body = power == 2 ? a.body * a.body : a.body * a.body * a.body;
            return out;
        }
    }
    if (!unify(a, b, word, span)) {
        return {};
    }
    TensorValue out;
    out.axes = a.axes;
    if (!merge_axes(out.axes, b.axes, span)) {
        return {};
    }
    if (a.body->type == DType::Bool) {
        sink_.report(diag::WrongType, span, format("numbers for `{0}`", word), "a truth value");
        return {};
    }
    out.weak = a.weak;
    const bool integers = is_integer(a.body->type);
    if (integers && (op == ExprOp::Div || op == ExprOp::Pow)) {
        const DType type = out.weak == Weak::No ? DType::F32 : DType::F64;
        out.weak = out.weak == Weak::No ? Weak::No : Weak::Float;
        a.body = with_type(a.body, type);
        b.body = with_type(b.body, type);
        a.body = a.body->type == type ? a.body : cast(a.body, type);
        b.body = b.body->type == type ? b.body : cast(b.body, type);
    }
    out.body = make(op, {a.body, b.body});
    return out;
}

Value Elaborator::logic(ExprOp op, std::string_view word, TensorValue a, TensorValue b, const Span& left,
                        const Span& right) {
    bool fine = true;
    for (const auto& [operand, span] : {std::pair(&a, left), std::pair(&b, right)}) {
        if (operand->body->type != DType::Bool) {
            sink_.report(diag::WrongType, span, format("truth values for `{0}`", word),
                         format("{0}", name_of(operand->body->type)));
            fine = false;
        }
    }
    TensorValue out;
    out.axes = a.axes;
    if (!fine || !merge_axes(out.axes, b.axes, join(left, right))) {
        return {};
    }
    out.body = make(op, {a.body, b.body});
    return out;
}

Value Elaborator::binary(ExprOp op, std::string_view word, const Value& a, const Value& b, const Span& left,
                         const Span& right, const Span& span) {
    const bool logical = op == ExprOp::And || op == ExprOp::Or;
    if (a.constant() != nullptr && b.constant() != nullptr) {
        const auto* x = std::get_if<bool>(&a.constant()->value);
        const auto* y = std::get_if<bool>(&b.constant()->value);
        if (logical && x != nullptr && y != nullptr) {
            return Constant{op == ExprOp::And ? *x && *y : *x || *y};
        }
        if (!logical) {
            return fold(op, *a.constant(), *b.constant(), span).value_or(Value{});
        }
    }
    auto p = tensor_of(a, left);
    auto q = tensor_of(b, right);
    if (!p || !q) {
        return {};
    }
    if (logical) {
        return logic(op, word, std::move(*p), std::move(*q), left, right);
    }
    if (op >= ExprOp::Eq && op <= ExprOp::Ge) {
        if (!unify(*p, *q, word, span)) {
            return {};
        }
        TensorValue out;
        out.axes = p->axes;
        if (!merge_axes(out.axes, q->axes, span)) {
            return {};
        }
        out.body = make(op, {p->body, q->body});
        return out;
    }
    return arithmetic(op, word, std::move(*p), std::move(*q), span);
}

Value Elaborator::eval_binary(const syntax::Binary& e, const Span& span) {
    const Value a = eval(e.left);
    const Value b = eval(e.right);
    if (a.poisoned() || b.poisoned()) {
        return {};
    }
    using Op = syntax::BinaryOp;
    const Span& l = e.left->span;
    const Span& r = e.right->span;
    switch (e.op) {
    case Op::Add: return binary(ExprOp::Add, "+", a, b, l, r, span);
    case Op::Sub: return binary(ExprOp::Sub, "-", a, b, l, r, span);
    case Op::Mul: return binary(ExprOp::Mul, "*", a, b, l, r, span);
    case Op::Div: return binary(ExprOp::Div, "/", a, b, l, r, span);
    case Op::Mod: return binary(ExprOp::Mod, "%", a, b, l, r, span);
    case Op::Pow: return binary(ExprOp::Pow, "^", a, b, l, r, span);
    case Op::Eq: return binary(ExprOp::Eq, "==", a, b, l, r, span);
    case Op::Ne: return binary(ExprOp::Ne, "!=", a, b, l, r, span);
    case Op::Lt: return binary(ExprOp::Lt, "<", a, b, l, r, span);
    case Op::Le: return binary(ExprOp::Le, "<=", a, b, l, r, span);
    case Op::Gt: return binary(ExprOp::Gt, ">", a, b, l, r, span);
    case Op::Ge: return binary(ExprOp::Ge, ">=", a, b, l, r, span);
    case Op::And: return binary(ExprOp::And, "and", a, b, l, r, span);
    case Op::Or: return binary(ExprOp::Or, "or", a, b, l, r, span);
    case Op::ShiftLeft:
    case Op::ShiftRight: break;
    }
    const auto* x = a.constant() != nullptr ? std::get_if<int64_t>(&a.constant()->value) : nullptr;
    const auto* y = b.constant() != nullptr ? std::get_if<int64_t>(&b.constant()->value) : nullptr;
    if (x == nullptr || y == nullptr) {
        sink_.report(diag::WrongType, x == nullptr ? l : r, "a constant integer for a shift", "something else");
        return {};
    }
    if (*y < 0 || *y > 62 || (e.op == Op::ShiftLeft && (*x < 0 || (*x << *y) >> *y != *x))) {
        sink_.report(diag::BadConstant, span, "the result does not fit an integer of 64 bits");
        return {};
    }
    return integer(e.op == Op::ShiftLeft ? *x << *y : *x >> *y);
}

Value Elaborator::eval_unary(const syntax::Unary& e, const Span& span) {
    const Value value = eval(e.operand);
    if (value.poisoned()) {
        return {};
    }
    if (const Constant* constant = value.constant()) {
        if (const auto* b = std::get_if<bool>(&constant->value); b != nullptr && e.op == syntax::UnaryOp::Not) {
            return Constant{!*b};
        }
        if (e.op == syntax::UnaryOp::Neg && number_of(*constant)) {
            const auto* i = std::get_if<int64_t>(&constant->value);
            return i != nullptr ? integer(negated(*i)) : Value(Constant{-*number_of(*constant)});
        }
    }
    auto tensor = tensor_of(value, e.operand->span);
    if (!tensor) {
        return {};
    }
    const bool truth = tensor->body->type == DType::Bool;
    if (truth != (e.op == syntax::UnaryOp::Not)) {
        sink_.report(diag::WrongType, span, truth ? "a number for `-`" : "a truth value for `not`",
                     truth ? "a truth value" : "a number");
        return {};
    }
    tensor->body = make(truth ? ExprOp::Not : ExprOp::Neg, {tensor->body});
    return std::move(*tensor);
}

} // namespace sspc::elaboration
