// Reductions, index entries (renames, splits, merges, gathers, picks, slices), draws and concatenation.
#include "frontend/elaborate/elaborator.h"

#include "ir/support/format.h"

#include <algorithm>

namespace sspc::elaboration {

namespace {

bool contains(const std::vector<AxisId>& axes, AxisId axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

} // namespace

// ---- axes ----

AxisId Elaborator::find_axis(const syntax::Name& name) {
    if (const auto it = frame_->axes.find(name.text); it != frame_->axes.end()) {
        return it->second;
    }
    std::vector<std::string> candidates;
    for (const auto& [text, axis] : frame_->axes) {
        candidates.push_back(text);
    }
    Diagnostic& diagnostic = sink_.report(diag::UnknownAxis, name.span, name.text);
    if (auto help = did_you_mean(name.text, candidates); !help.empty()) {
        diagnostic.help(std::move(help));
    } else if (!candidates.empty() && candidates.size() <= 12) {
        std::string list;
        for (const std::string& c : candidates) {
            list += (list.empty() ? "" : ", ") + c;
        }
        diagnostic.help("axes here: " + list);
    }
    return {};
}

/// The value's axis of this name; a slice is called by the name of the axis it was cut from.
AxisId Elaborator::axis_in(const syntax::Name& name, const TensorValue& value) {
    const AxisId axis = find_axis(name);
    if (!axis.valid() || contains(value.axes, axis)) {
        return axis;
    }
    for (const AxisId own : value.axes) {
        const auto base = axis_base_.find(own);
        if (base != axis_base_.end() && base->second == axis) {
            return own;
        }
    }
    sink_.report(diag::ValueLacksAxis, name.span, name.text,
                 value.axes.empty() ? "none" : "[" + axis_list(value.axes) + "]");
    return {};
}

/// A new axis; its name in the graph is its own.
AxisId Elaborator::declare_axis(const std::string& name, int64_t size, const Span& span) {
    const auto taken = [&](const std::string& text) {
        return std::any_of(graph_.axes.begin(), graph_.axes.end(), [&](const Axis& a) { return a.name == text; });
    };
    std::string unique = name;
    if (frame_->kind != Frame::Kind::Model && taken(unique)) {
        // One axis for every call of an op: `rope.half`, so that equal calls can meet.
        unique = frame_->name + "." + name;
        for (const AxisId axis : graph_.axes.ids()) {
            if (graph_.axes[axis].name == unique && graph_.axes[axis].size == size) {
                return axis;
            }
        }
    }
    for (int i = 2; taken(unique); ++i) {
        unique = format("{0}.{1}#{2}", frame_->name, name, i);
    }
    return graph_.axes.push_back({unique, size, span});
}

AxisId Elaborator::sliced_axis(AxisId axis, int64_t size) {
    const auto it = axis_base_.find(axis);
    const AxisId base = it == axis_base_.end() ? axis : it->second;
    if (graph_.axes[base].size == size) {
        return base;
    }
    const std::string name = format("{0}:{1}", graph_.axes[base].name, size);
    for (const AxisId other : graph_.axes.ids()) {
        if (graph_.axes[other].name == name) {
            return other;
        }
    }
    const AxisId out = graph_.axes.push_back({name, size, graph_.axes[base].span});
    axis_base_[out] = base;
    return out;
}

/// An axis that a split or merge makes: one that is declared has this size, else it is declared here.
AxisId Elaborator::declared_or_new(const syntax::Name& name, int64_t size, bool) {
    if (const auto it = frame_->axes.find(name.text); it != frame_->axes.end()) {
        if (graph_.axes[it->second].size != size) {
            sink_.report(diag::SizesDiffer, name.span, name.text, graph_.axes[it->second].size, "this part", size);
            return {};
        }
        return it->second;
    }
    const AxisId axis = declare_axis(name.text, size, name.span);
    frame_->axes[name.text] = axis;
    return axis;
}

// ---- reductions ----

Value Elaborator::eval_reduce(const syntax::Reduce& e, const Span& span) {
    const Value operand = eval(e.operand);
    auto value = tensor_of(operand, e.operand->span);
    std::vector<AxisId> reduced;
    bool fine = value.has_value();
    if (value && e.all) {
        reduced = value->axes;
    }
    for (const syntax::Name& name : e.axes) {
        const AxisId axis = value ? axis_in(name, *value) : find_axis(name);
        if (!axis.valid()) {
            fine = false;
        } else if (contains(reduced, axis)) {
            sink_.report(diag::AxisTwice, name.span, name.text, "this reduction");
            fine = false;
        } else {
            reduced.push_back(axis);
        }
    }
    if (!fine) {
        return {};
    }
    if (value->weak != Weak::No) {
        value->body = with_type(value->body, value->weak == Weak::Int ? DType::I64 : DType::F32);
        value->weak = Weak::No;
    }
    const bool mean = e.kind == syntax::ReduceKind::Mean;
    if (value->body->type == DType::Bool || (mean && !is_float(value->body->type))) {
        sink_.report(diag::WrongType, e.operand->span, mean ? "a float value for `mean`" : "numbers to reduce",
                     format("{0}", name_of(value->body->type)))
            .help("cast it: `float(…)`");
        return {};
    }
    if (reduced.empty()) {
        return std::move(*value);
    }
    TensorValue out;
    out.body = value->body;
    for (const AxisId axis : value->axes) {
        if (!contains(reduced, axis)) {
            out.axes.push_back(axis);
        }
    }
    out.reduced = reduced;
    switch (e.kind) {
    case syntax::ReduceKind::Sum:
    case syntax::ReduceKind::Mean: out.reduce = Reduce::Sum, out.pending = "sum"; break;
    case syntax::ReduceKind::Max: out.reduce = Reduce::Max, out.pending = "max"; break;
    case syntax::ReduceKind::Min: out.reduce = Reduce::Min, out.pending = "min"; break;
    case syntax::ReduceKind::Prod: out.reduce = Reduce::Prod, out.pending = "prod"; break;
    }
    if (!mean) {
        return out;
    }
    // A sum with a weight, so that it can be cut and accumulated exactly.
    const double count = static_cast<double>(element_count(graph_, reduced));
    TensorValue total = settled(std::move(out), span);
    total.body = total.body * constant(1 / count, total.body->type);
    return total;
}

// ---- index entries ----

/// What becomes of each axis of the indexed value.
struct Elaborator::Selection {
    struct Step {
        AxisId axis;
        ExprPtr index;             ///< in terms of the new axes
        std::vector<AxisId> axes;  ///< that replace it; empty where another step of the same merge has them
        bool aligned = false;      ///< a gather: the new axes may be axes that the value has
        Span span;
    };
    std::vector<Step> steps;
    ExprPtr otherwise;
    bool plain = true;
    std::string task; ///< name of the task that is not plain
};

bool Elaborator::select(const syntax::RenameAxis& entry, const TensorValue& value, Selection& out) {
    const AxisId axis = axis_in(entry.axis, value);
    const AxisId to = find_axis(entry.to);
    if (!axis.valid() || !to.valid()) {
        return false;
    }
    if (graph_.axes[axis].size != graph_.axes[to].size) {
        sink_.report(diag::SizesDiffer, entry.to.span, entry.axis.text, graph_.axes[axis].size, entry.to.text,
                     graph_.axes[to].size);
        return false;
    }
    out.steps.push_back({axis, iota(to), {to}, false, entry.to.span});
    return true;
}

bool Elaborator::select(const syntax::SplitAxis& entry, const TensorValue& value, Selection& out) {
    const AxisId axis = axis_in(entry.axis, value);
    if (!axis.valid()) {
        return false;
    }
    const int64_t whole = graph_.axes[axis].size;
    int64_t known = 1;
    const syntax::SplitAxis::Part* open = nullptr;
    std::vector<int64_t> sizes;
    bool fine = true;
    for (const auto& part : entry.parts) {
        std::optional<int64_t> size;
        if (part.size != nullptr) {
            size = integer_of(part.size, "the size of a part");
            fine = fine && size.has_value();
            if (size && *size < 1) {
                sink_.report(diag::SizeOutOfRange, part.size->span, format("the size of `{0}`", part.name.text), *size, 1);
                fine = false;
            }
        } else if (const auto it = frame_->axes.find(part.name.text); it != frame_->axes.end()) {
            size = graph_.axes[it->second].size;
        } else if (open == nullptr) {
            open = &part;
        } else {
            sink_.report(diag::MissingArgument, part.name.span, "this split", "the size of", part.name.text);
            fine = false;
        }
        sizes.push_back(size.value_or(0));
        known *= size && *size > 0 ? *size : 1;
    }
    if (!fine) {
        return false;
    }
    if (whole % known != 0 || (open == nullptr && whole != known)) {
        sink_.report(diag::DoesNotDivide, entry.axis.span, whole, known, whole % known);
        return false;
    }
    std::vector<AxisId> axes;
    ExprPtr index;
    for (size_t i = 0; i < entry.parts.size(); ++i) {
        const int64_t size = sizes[i] > 0 ? sizes[i] : whole / known;
        const AxisId part = declared_or_new(entry.parts[i].name, size, true);
        if (!part.valid()) {
            return false;
        }
        axes.push_back(part);
        index = index ? index * constant(static_cast<double>(size), DType::I64) + iota(part) : iota(part);
    }
    out.steps.push_back({axis, index, axes, false, entry.axis.span});
    out.plain = out.plain && entry.parts.size() == 1;
    out.task = "split";
    return true;
}

bool Elaborator::select(const syntax::MergeAxes& entry, const TensorValue& value, Selection& out) {
    std::vector<AxisId> axes;
    int64_t size = 1;
    for (const syntax::Name& name : entry.axes) {
        axes.push_back(axis_in(name, value));
        if (!axes.back().valid()) {
            return false;
        }
        size *= graph_.axes[axes.back()].size;
    }
    const AxisId to = declared_or_new(entry.to, size, true);
    if (!to.valid()) {
        return false;
    }
    int64_t inner = size;
    for (size_t i = 0; i < axes.size(); ++i) {
        const int64_t own = graph_.axes[axes[i]].size;
        inner /= own;
        ExprPtr index = make(ExprOp::FloorDiv, {iota(to), constant(static_cast<double>(inner), DType::I64)});
        if (i > 0) {
            index = make(ExprOp::Mod, {index, constant(static_cast<double>(own), DType::I64)});
        }
        // The merged axis stands where the first of its parts stood.
        out.steps.push_back({axes[i], index, i == 0 ? std::vector{to} : std::vector<AxisId>(), false, entry.to.span});
    }
    out.plain = out.plain && axes.size() == 1;
    out.task = "merge";
    return true;
}

bool Elaborator::select(const syntax::IndexAt& entry, const TensorValue& value, Selection& out) {
    const AxisId axis = axis_in(entry.axis, value);
    const Value at = eval(entry.at);
    bool fine = axis.valid() && !at.poisoned();
    if (entry.otherwise != nullptr) {
        const Value otherwise = eval(entry.otherwise);
        const auto number = otherwise.constant() != nullptr ? number_of(*otherwise.constant()) : std::nullopt;
        if (!number && !otherwise.poisoned()) {
            sink_.report(diag::NotConstant, entry.otherwise->span, "the value outside an axis");
        }
        fine = fine && number.has_value();
        if (number && out.otherwise != nullptr && out.otherwise->number != *number) {
            sink_.report(diag::NotImplemented, entry.otherwise->span, "two values outside the axes of one access");
            fine = false;
        }
        if (number) {
            out.otherwise = constant(*number, value.body->type);
        }
    }
    if (!fine) {
        return false;
    }
    const auto* pick = at.constant() != nullptr ? std::get_if<int64_t>(&at.constant()->value) : nullptr;
    if (at.constant() != nullptr && pick == nullptr) {
        sink_.report(diag::WrongType, entry.at->span, "an integer position", describe(*at.constant()));
        return false;
    }
    if (pick != nullptr && out.otherwise == nullptr && (*pick < 0 || *pick >= graph_.axes[axis].size)) {
        sink_.report(diag::OutsideAxis, entry.at->span, *pick, entry.axis.text, graph_.axes[axis].size);
        return false;
    }
    auto index = tensor_of(at, entry.at->span);
    if (!index) {
        return false;
    }
    if (!is_integer(index->body->type)) {
        sink_.report(diag::WrongType, entry.at->span, "integer positions", format("{0}", name_of(index->body->type)));
        return false;
    }
    bool reads = false;
    for_each(index->body, [&](const Expr& node) { reads = reads || node.op == ExprOp::Access; });
    if (reads && index->body->op != ExprOp::Access) {
        // Positions that are read from memory are a tensor of their own.
        index = read(emit(*index, unique_path(binding_ + ".index"), entry.at->span));
    }
    out.steps.push_back({axis, index->body, index->axes, true, entry.axis.span});
    out.plain = false;
    out.task = pick != nullptr ? "pick" : "gather";
    return true;
}

bool Elaborator::select(const syntax::SliceAxis& entry, const TensorValue& value, Selection& out) {
    const AxisId axis = axis_in(entry.axis, value);
    const auto range = range_of(entry.range);
    if (!axis.valid() || !range) {
        return false;
    }
    const auto [from, to] = *range;
    if (from < 0 || to > graph_.axes[axis].size || from >= to) {
        sink_.report(diag::OutsideAxis, entry.range.span, format("{0}..{1}", from, to), entry.axis.text,
                     graph_.axes[axis].size);
        return false;
    }
    const AxisId sliced = sliced_axis(axis, to - from);
    const bool whole = sliced == axis;
    out.steps.push_back({axis, iota(sliced) + constant(static_cast<double>(from), DType::I64), {sliced}, false,
                         entry.axis.span});
    out.plain = out.plain && whole;
    out.task = "slice";
    return true;
}

Value Elaborator::eval_index(const syntax::Index& e, const Span& span) {
    const Value object = eval(e.object);
    if (object.poisoned()) {
        return {};
    }
    // A rename of a reduction or gather stays part of it.
    const TensorValue* pending = object.tensor();
    const bool renames_only = std::all_of(e.entries.begin(), e.entries.end(), [](const syntax::IndexEntry& entry) {
        return std::holds_alternative<syntax::RenameAxis>(entry.kind);
    });
    std::optional<TensorValue> value =
        pending != nullptr && renames_only ? std::optional(*pending) : tensor_of(object, e.object->span);
    if (!value) {
        return {};
    }
    if (value->weak != Weak::No && !renames_only) {
        value->body = with_type(value->body, value->weak == Weak::Int ? DType::I64 : DType::F32);
        value->weak = Weak::No;
    }
    Selection selection;
    bool fine = true;
    for (const syntax::IndexEntry& entry : e.entries) {
        fine = std::visit([&](const auto& kind) { return select(kind, *value, selection); }, entry.kind) && fine;
    }
    for (size_t i = 0; i < selection.steps.size() && fine; ++i) {
        for (size_t j = 0; j < i; ++j) {
            if (selection.steps[i].axis == selection.steps[j].axis) {
                sink_.report(diag::AxisTwice, selection.steps[i].span, graph_.axes[selection.steps[i].axis].name,
                             "these brackets");
                fine = false;
            }
        }
    }
    if (!fine) {
        return {};
    }
    if (!selection.plain && value->body->op != ExprOp::Access) {
        value = read(emit(std::move(*value), unique_path(binding_ + ".value"), e.object->span));
    }
    std::vector<std::pair<AxisId, ExprPtr>> map;
    for (const auto& step : selection.steps) {
        map.emplace_back(step.axis, step.index);
    }
    TensorValue out;
    for (const AxisId axis : value->axes) {
        const auto step = std::find_if(selection.steps.begin(), selection.steps.end(),
                                       [&](const Selection::Step& s) { return s.axis == axis; });
        const bool kept = step == selection.steps.end();
        for (const AxisId made : kept ? std::vector{axis} : step->axes) {
            if (contains(out.axes, made) || contains(value->reduced, made)) {
                const bool aligned = (!kept && step->aligned) ||
                                     std::any_of(selection.steps.begin(), selection.steps.end(),
                                                 [&](const Selection::Step& s) { return s.aligned && contains(s.axes, made); });
                if (!aligned) {
                    const auto maker = std::find_if(selection.steps.begin(), selection.steps.end(), [&](const auto& s) {
                        return contains(s.axes, made);
                    });
                    sink_.report(diag::AxisTwice, maker == selection.steps.end() ? span : maker->span,
                                 graph_.axes[made].name, "the result");
                    return {};
                }
                continue;
            }
            out.axes.push_back(made);
        }
    }
    out.body = substitute_axes(value->body, map);
    out.weak = value->weak;
    out.pending = value->pending;
    out.reduce = value->reduce;
    out.reduced = value->reduced;
    if (!selection.plain) {
        out.pending = selection.task;
        if (selection.otherwise != nullptr) {
            out.body = access(out.body->slot, out.body->type, out.body->args, selection.otherwise);
        }
    }
    return out;
}

// ---- draws ----

Value Elaborator::draw(DrawKind kind, double parameter, const std::vector<AxisId>& axes) {
    const int count = ++draws_[binding_];
    const std::string path = count == 1 ? binding_ : format("{0}:{1}", binding_, count);
    return TensorValue{random_draw(kind, parameter, path, axes), axes, Weak::No, {}, Reduce::None, {}};
}

Value Elaborator::eval_draw(const syntax::Draw& e, const Span& span) {
    std::vector<AxisId> axes;
    for (const syntax::Name& name : e.axes) {
        const AxisId axis = find_axis(name);
        if (!axis.valid()) {
            return {};
        }
        if (contains(axes, axis)) {
            sink_.report(diag::AxisTwice, name.span, name.text, "this draw");
            return {};
        }
        axes.push_back(axis);
    }
    const auto* name = std::get_if<syntax::NameRef>(&e.distribution->kind);
    const auto* call = std::get_if<syntax::Call>(&e.distribution->kind);
    if (call != nullptr) {
        name = std::get_if<syntax::NameRef>(&call->callee->kind);
    }
    const std::string kind = name != nullptr ? name->name : "";
    if (kind != "uniform" && kind != "normal" && kind != "bernoulli") {
        const Span& at = call != nullptr ? call->callee->span : e.distribution->span;
        sink_.report(diag::UnknownDeclaration, at, "distribution", kind)
            .help("known are `uniform`, `normal` and `bernoulli(p)`; to take parts of a tensor, write `x[a = …]`");
        return {};
    }
    std::vector<double> numbers;
    for (const syntax::Argument& arg : call != nullptr ? call->args : syntax::Arguments{}) {
        const auto number = float_of(arg.value, "a parameter of a distribution");
        if (!number) {
            return {};
        }
        numbers.push_back(*number);
    }
    if (kind == "bernoulli" && numbers.size() != 1) {
        sink_.report(diag::MissingArgument, e.distribution->span, "bernoulli", "the probability", "p");
        return {};
    }
    if (kind != "bernoulli" && !numbers.empty() && numbers.size() != 2) {
        sink_.report(diag::TooManyArguments, e.distribution->span, kind, "none or two numbers",
                     format("{0} are", numbers.size()));
        return {};
    }
    if (kind == "bernoulli") {
        return draw(DrawKind::Bernoulli, numbers[0], axes);
    }
    Value out = draw(kind == "normal" ? DrawKind::Normal : DrawKind::Uniform, 0, axes);
    if (numbers.size() == 2) {
        // normal(mean, std), uniform(from, to)
        const double scale = kind == "normal" ? numbers[1] : numbers[1] - numbers[0];
        TensorValue scaled = *out.tensor();
        scaled.body = scaled.body * constant(scale, DType::F32) + constant(numbers[0], DType::F32);
        return scaled;
    }
    (void)span;
    return out;
}

// ---- concatenation ----

Value Elaborator::eval_concat(const syntax::Concat& e, const Span& span) {
    struct Part {
        TensorValue value;
        AxisId axis;
        int64_t from;
    };
    std::vector<Part> parts;
    int64_t size = 0;
    bool fine = true;
    for (const syntax::ExprPtr& item : e.parts) {
        auto value = tensor_of(eval(item), item->span);
        const AxisId axis = value ? axis_in(e.axis, *value) : AxisId();
        if (!axis.valid()) {
            fine = false;
            continue;
        }
        if (value->weak != Weak::No) {
            value->body = with_type(value->body, value->weak == Weak::Int ? DType::I64 : DType::F32);
            value->weak = Weak::No;
        }
        if (!parts.empty() && parts.front().value.body->type != value->body->type) {
            sink_.report(diag::MixedTypes, item->span, "concat", name_of(parts.front().value.body->type),
                         name_of(value->body->type));
            fine = false;
        }
        if (value->body->op != ExprOp::Access) {
            value = read(emit(std::move(*value), unique_path(binding_ + ".value"), item->span));
        }
        parts.push_back({*value, axis, size});
        size += graph_.axes[axis].size;
    }
    if (!fine || parts.empty()) {
        return {};
    }
    const AxisId whole = sliced_axis(parts.front().axis, size);
    // Each part is laid out over the whole axis, zero outside; then the right one is chosen at each position.
    TensorValue out;
    for (size_t i = parts.size(); i-- > 0;) {
        Part& part = parts[i];
        const ExprPtr at = iota(whole) - constant(static_cast<double>(part.from), DType::I64);
        TensorValue padded;
        const ExprPtr moved = substitute_axes(part.value.body, {{part.axis, at}});
        padded.body = access(moved->slot, moved->type, moved->args, constant(0, moved->type));
        for (const AxisId axis : part.value.axes) {
            padded.axes.push_back(axis == part.axis ? whole : axis);
        }
        padded.pending = "part";
        padded = settled(std::move(padded), span);
        if (out.body == nullptr) {
            out = std::move(padded);
            continue;
        }
        std::vector<AxisId> axes = padded.axes;
        if (!merge_axes(axes, out.axes, span)) {
            return {};
        }
        const double end = static_cast<double>(part.from + graph_.axes[part.axis].size);
        out.body = make(ExprOp::Where,
                        {make(ExprOp::Lt, {iota(whole), constant(end, DType::I64)}), padded.body, out.body});
        out.axes = axes;
    }
    return out;
}

} // namespace sspc::elaboration
