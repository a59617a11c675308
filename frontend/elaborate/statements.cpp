// Statements of models, modules, ops and optimizers, carried out in order.
#include "frontend/elaborate/elaborator.h"

#include "ir/support/format.h"
#include "ir/support/match.h"

#include <algorithm>
#include <set>

namespace sspc::elaboration {

std::optional<Binding> Elaborator::save(const std::string& name) const {
    const auto it = frame_->names.find(name);
    return it == frame_->names.end() ? std::nullopt : std::optional(it->second);
}

void Elaborator::restore(const std::string& name, const std::optional<Binding>& saved) {
    if (saved) {
        frame_->names[name] = *saved;
    } else {
        frame_->names.erase(name);
    }
}

void Elaborator::bind(const std::string& name, Value value, const Span& span) {
    frame_->names[name] = Binding{std::move(value), span, block_text(), loops_, reads_itself_};
}

void Elaborator::run_let(const syntax::Let& let) {
    const auto constant = constant_of(let.value, format("`{0}`", let.name.text));
    set_constant(*frame_, let.name.text, constant ? Value(*constant) : Value(), let.name.span);
}

void Elaborator::run(const std::vector<syntax::Statement>& body) {
    for (const syntax::Statement& statement : body) {
        if (stopped()) {
            return;
        }
        run(statement);
    }
}

bool Elaborator::allowed(const syntax::Statement& statement) {
    using Kind = Frame::Kind;
    const Kind kind = frame_->kind;
    std::string_view what;
    const bool fine = std::visit(
        Match{[&](const syntax::Param&) { return what = "`param`", kind == Kind::Model || kind == Kind::Module; },
              [&](const syntax::Input&) { return what = "`input`", kind == Kind::Model; },
              [&](const syntax::State&) { return what = "`state`", kind == Kind::Optimizer; },
              [&](const syntax::Pass&) { return what = "`pass`", kind == Kind::Model || kind == Kind::Module; },
              [&](const syntax::Return&) { return what = "`return`", kind == Kind::Op || kind == Kind::Module; },
              [&](const syntax::Minimize&) { return what = "`minimize`", kind == Kind::Model; },
              [&](const syntax::Override&) { return what = "`override`", kind == Kind::Model; },
              [&](const syntax::Update&) { return what = "`update`", kind == Kind::Model; },
              [&](const syntax::Output&) { return what = "`output`", kind == Kind::Model; },
              [&](const auto&) { return true; }},
        statement.kind);
    if (!fine) {
        sink_.report(diag::NotHere, statement.span, std::string(what), describe(kind));
    }
    return fine;
}

void Elaborator::run(const syntax::Statement& statement) {
    if (!allowed(statement)) {
        return;
    }
    const Span& span = statement.span;
    std::visit(Match{[&](const syntax::Assign& s) { run_assign(s, span); },
                     [&](const syntax::Param& s) { run_param(s, span); },
                     [&](const syntax::Input& s) { run_input(s, span); },
                     [&](const syntax::State& s) { run_state(s, span); },
                     [&](const syntax::Dim& s) { run_dim(s, span); },
                     [&](const syntax::Let& s) { run_let(s); },
                     [&](const syntax::Block& s) { run_block(s.name, s.index, s.body, false); },
                     [&](const syntax::Pass& s) { run_block(s.name, s.index, s.body, true); },
                     [&](const syntax::For<syntax::Statement>& s) { run_for(s, [this](const auto& body) { run(body); }); },
                     [&](const syntax::If<syntax::Statement>& s) { run_if(s, [this](const auto& body) { run(body); }); },
                     [&](const syntax::Return& s) { run_return(s, span); },
                     [&](const syntax::Minimize& s) { run_minimize(s, span); },
                     [&](const syntax::Override& s) { overrides_.emplace_back(&s, span); },
                     [&](const syntax::Update& s) { run_update(s, span); },
                     [&](const syntax::Output& s) { run_output(s, span); }},
               statement.kind);
}

// ---- declarations ----

std::vector<AxisId> Elaborator::axes_of_names(const std::vector<syntax::Name>& names, std::string_view what) {
    std::vector<AxisId> out;
    for (const syntax::Name& name : names) {
        const AxisId axis = find_axis(name);
        if (axis.valid() && std::find(out.begin(), out.end(), axis) != out.end()) {
            sink_.report(diag::AxisTwice, name.span, name.text, std::string(what));
            continue;
        }
        out.push_back(axis);
    }
    return out;
}

namespace {

bool all_valid(const std::vector<AxisId>& axes) {
    return std::all_of(axes.begin(), axes.end(), [](AxisId a) { return a.valid(); });
}

} // namespace

void Elaborator::run_dim(const syntax::Dim& dim, const Span&) {
    const auto size = integer_of(dim.size, format("the size of `{0}`", dim.name.text));
    const auto it = frame_->axes.find(dim.name.text);
    if (it != frame_->axes.end() && frame_->kind == Frame::Kind::Model) {
        sink_.report(diag::DeclaredTwice, dim.name.span, "axis", dim.name.text)
            .note(graph_.axes[it->second].span, "the first one is here");
        return;
    }
    if (size && *size < 1) {
        sink_.report(diag::SizeOutOfRange, dim.size->span, format("the size of `{0}`", dim.name.text), *size, 1);
    }
    // A wrong size is reported once; the axis exists all the same.
    frame_->axes[dim.name.text] = declare_axis(dim.name.text, size && *size > 0 ? *size : 1, dim.name.span);
}

Init Elaborator::init_of(const syntax::ExprPtr& expr, std::vector<AxisId>* like) {
    Init init;
    const auto* ref = std::get_if<syntax::NameRef>(&expr->kind);
    const auto* call = std::get_if<syntax::Call>(&expr->kind);
    if (call != nullptr) {
        ref = std::get_if<syntax::NameRef>(&call->callee->kind);
    }
    const std::string kind = ref != nullptr ? ref->name : "";
    if (kind == "zeros" || kind == "ones") {
        init.kind = kind == "zeros" ? Init::Kind::Zeros : Init::Kind::Ones;
        if (call != nullptr && call->args.size() == 1 && like != nullptr) {
            if (const auto tensor = tensor_of(eval(call->args[0].value), call->args[0].span)) {
                *like = tensor->axes;
            }
        }
        return init;
    }
    if (call != nullptr && (kind == "normal" || kind == "uniform" || kind == "truncated_normal")) {
        const bool uniform = kind == "uniform";
        init.kind = uniform ? Init::Kind::Uniform : kind == "normal" ? Init::Kind::Normal : Init::Kind::TruncatedNormal;
        init.a = 0;
        init.b = 1;
        const std::string first = uniform ? "from" : "mean";
        const std::string second = uniform ? "to" : "std";
        size_t position = 0;
        for (const syntax::Argument& arg : call->args) {
            const std::string name = arg.name ? arg.name->text : position++ == 0 ? first : second;
            const auto number = float_of(arg.value, format("`{0}`", name));
            if (name == first) {
                init.a = number.value_or(0);
            } else if (name == second) {
                init.b = number.value_or(1);
            } else {
                sink_.report(diag::UnknownArgument, arg.name->span, kind, "parameter", name)
                    .help(format("`{0}({1}: …, {2}: …)`", kind, first, second));
            }
        }
        return init;
    }
    init.kind = Init::Kind::Constant;
    const Value value = eval(expr);
    if (value.poisoned()) {
        return init;
    }
    const auto number = value.constant() != nullptr ? number_of(*value.constant()) : std::nullopt;
    if (!number) {
        sink_.report(diag::NotConstant, expr->span, "an initial value")
            .help("known are `zeros`, `ones`, `normal(std: …)`, `uniform(…)`, `truncated_normal(std: …)` and numbers");
        return init;
    }
    init.a = *number;
    return init;
}

void Elaborator::run_param(const syntax::Param& param, const Span& span) {
    const std::string path = parameter_prefix_ + param.name.text;
    Tensor tensor;
    tensor.path = path;
    tensor.kind = TensorKind::Parameter;
    tensor.axes = axes_of_names(param.axes, "this parameter");
    tensor.span = param.name.span;
    const auto dtype = param.dtype ? dtype_of(*param.dtype) : DType::F32;
    tensor.dtype = dtype.value_or(DType::F32);
    if (dtype && !is_float(*dtype)) {
        sink_.report(diag::WrongType, param.dtype->span, "a float type, as parameters are trained", param.dtype->text);
    }
    if (param.init != nullptr) {
        tensor.init = init_of(param.init, nullptr);
    }
    if (!all_valid(tensor.axes)) {
        bind(param.name.text, {}, param.name.span);
        return;
    }
    if (const auto it = parameter_index_.find(path); it != parameter_index_.end()) {
        const ParameterInfo& info = parameters_[it->second];
        const Tensor& first = graph_.tensors[info.tensor];
        if (info.pass == pass_) {
            sink_.report(diag::DeclaredTwice, param.name.span, "parameter", path).note(first.span, "the first one is here");
        } else if (first.axes != tensor.axes) {
            sink_.report(diag::AxesMissing, param.name.span, axis_list(tensor.axes), path, axis_list(first.axes))
                .note(first.span, "declared here, for another pass");
        }
        bind(param.name.text, read(info.tensor), span);
        return;
    }
    if (path_counts_[path]++ > 0) {
        sink_.report(diag::DeclaredTwice, param.name.span, "the path", path);
        return;
    }
    const TensorId id = graph_.tensors.push_back(std::move(tensor));
    parameter_index_[path] = parameters_.size();
    parameters_.push_back({id, path, pass_, blocks_, false});
    bind(param.name.text, read(id), span);
}

void Elaborator::run_input(const syntax::Input& input, const Span& span) {
    Tensor tensor;
    tensor.path = input.name.text;
    tensor.kind = TensorKind::Input;
    tensor.axes = axes_of_names(input.axes, "this input");
    tensor.span = input.name.span;
    const auto dtype = input.dtype ? dtype_of(*input.dtype) : DType::F32;
    if (!dtype || !all_valid(tensor.axes)) {
        bind(input.name.text, {}, span);
        return;
    }
    tensor.dtype = *dtype;
    if (path_counts_[tensor.path]++ > 0) {
        sink_.report(diag::DeclaredTwice, input.name.span, "the path", tensor.path);
        return;
    }
    bind(input.name.text, read(graph_.tensors.push_back(std::move(tensor))), span);
}

void Elaborator::run_block(const syntax::Name& name, const std::optional<syntax::BlockIndex>& index,
                           const std::vector<syntax::Statement>& body, bool pass) {
    const auto once = [&](const std::string& component, const std::string& dotted) {
        const std::string path = prefix_ + component;
        const auto [seen, fresh] = instances_.emplace(path, name.span);
        if (!fresh) {
            sink_.report(diag::DeclaredTwice, name.span, pass ? "pass" : "block", path)
                .note(seen->second, "the first one is here");
            return;
        }
        const std::string prefix = prefix_;
        const std::string parameter_prefix = parameter_prefix_;
        const std::string outer_pass = pass_;
        prefix_ = path + ".";
        blocks_.push_back(component);
        if (pass) {
            pass_ += component + ".";
            if (std::find(passes_.begin(), passes_.end(), name.text) == passes_.end()) {
                passes_.push_back(name.text);
            }
        } else {
            parameter_prefix_ += dotted + ".";
        }
        run(body);
        blocks_.pop_back();
        prefix_ = prefix;
        parameter_prefix_ = parameter_prefix;
        pass_ = outer_pass;
    };
    if (!index) {
        once(name.text, name.text);
        return;
    }
    const auto range = range_of(index->range);
    if (!range) {
        return;
    }
    if (range->first < 0 && range->first < range->second) {
        sink_.report(diag::SizeOutOfRange, index->range.span, "the index of a block", range->first, 0);
        return;
    }
    const int id = ++loop_count_;
    const std::string& variable = index->variable.text;
    const auto saved = save(variable);
    loops_.push_back({id, 0});
    const size_t errors = sink_.error_count();
    for (int64_t i = range->first; i < range->second && !stopped(); ++i) {
        if (i > range->first && sink_.error_count() > errors) {
            break; // the other turns have the same errors
        }
        loops_.back().turn = static_cast<int>(i - range->first);
        set_constant(*frame_, variable, integer(i), index->variable.span);
        once(format("{0}[{1}]", name.text, i), format("{0}.{1}", name.text, i));
    }
    loops_.pop_back();
    restore(variable, saved);
}

// ---- assignments ----

/// What the name stands for: a tensor, made by a statement at `path` unless the value is one already.
Value Elaborator::bind_result(const syntax::Target& target, const std::string& path, Value value, const Span& span) {
    std::optional<std::vector<AxisId>> order;
    if (target.axes) {
        order = axes_of_names(*target.axes, "the left side");
        if (!all_valid(*order)) {
            return {};
        }
    }
    const bool optimizer = frame_->kind == Frame::Kind::Optimizer;
    const bool stored = optimizer && (target.name.text == frame_->parameter_name || frame_->states.contains(target.name.text));
    if (value.constant() != nullptr && (order || stored)) {
        if (auto tensor = tensor_of(value, span)) {
            value = std::move(*tensor);
        }
    }
    if (const TupleValue* tuple = value.tuple()) {
        if (order) {
            sink_.report(diag::WrongType, target.span, "one value", format("{0} values", tuple->items.size()));
            return {};
        }
        auto out = std::make_shared<TupleValue>(*tuple);
        for (size_t i = 0; i < out->items.size(); ++i) {
            const std::string word = out->names[i].empty() ? format("{0}", i) : out->names[i];
            if (const TensorValue* t = out->items[i].tensor(); t != nullptr && !whole_tensor(*t).valid()) {
                out->items[i] = read(emit(*t, unique_path(path + "." + word), span));
            }
        }
        return std::shared_ptr<const TupleValue>(std::move(out));
    }
    const TensorValue* tensor = value.tensor();
    if (tensor == nullptr) {
        return value; // a constant, or wrong
    }
    if (stored) {
        const Tensor& goal = graph_.tensors[target.name.text == frame_->parameter_name
                                                ? frame_->parameter
                                                : frame_->states.at(target.name.text)];
        const bool within = std::all_of(tensor->axes.begin(), tensor->axes.end(), [&](AxisId a) {
            return std::find(goal.axes.begin(), goal.axes.end(), a) != goal.axes.end();
        });
        if (!within) {
            sink_.report(diag::AxesMissing, target.span, axis_list(tensor->axes), target.name.text, axis_list(goal.axes));
            return {};
        }
        TensorValue out = *tensor;
        if (out.weak != Weak::No && (out.weak == Weak::Int || is_float(goal.dtype))) {
            out.body = with_type(out.body, goal.dtype);
            out.weak = Weak::No;
        }
        if (out.body->type != goal.dtype) {
            sink_.report(diag::MixedTypes, target.span, target.name.text, name_of(goal.dtype), name_of(out.body->type));
            return {};
        }
        return read(emit(std::move(out), path, span, goal.axes));
    }
    if (order) {
        const std::set<AxisId> left(order->begin(), order->end());
        const std::set<AxisId> right(tensor->axes.begin(), tensor->axes.end());
        if (left != right) {
            sink_.report(diag::LeftAxesDiffer, target.span, axis_list(*order), axis_list(tensor->axes));
            return {};
        }
    }
    if (const TensorId whole = whole_tensor(*tensor); whole.valid() && (!order || *order == tensor->axes)) {
        if (graph_.tensors[whole].path != path) {
            aliases_.emplace_back(path, graph_.tensors[whole].path);
        }
        return value;
    }
    return read(emit(*tensor, path, span, order));
}

void Elaborator::run_assign(const syntax::Assign& assign, const Span& span) {
    const std::string outer = binding_;
    const std::string reading = reading_;
    const bool read_before = reads_itself_;
    std::vector<std::string> paths;
    for (const syntax::Target& target : assign.targets) {
        std::string path = prefix_ + target.name.text;
        if (frame_->kind == Frame::Kind::Optimizer && target.name.text == frame_->parameter_name) {
            path = prefix_.substr(0, prefix_.size() - 1);
        }
        paths.push_back(unique_path(path));
    }
    binding_ = paths.front();
    reading_ = assign.targets.front().name.text;
    reads_itself_ = false;
    Value value = eval(assign.value);
    reading_ = reading;
    for (const syntax::Target& target : assign.targets) {
        if (const auto it = frame_->axes.find(target.name.text); it != frame_->axes.end()) {
            sink_.report(diag::DeclaredTwice, target.name.span, "the axis", target.name.text)
                .note(graph_.axes[it->second].span, "the axis is declared here");
            value = {};
        }
    }
    if (!assign.tuple) {
        const syntax::Target& target = assign.targets.front();
        bind(target.name.text, bind_result(target, paths.front(), std::move(value), span), span);
    } else {
        const TupleValue* tuple = value.tuple();
        const bool fits = tuple != nullptr && tuple->items.size() == assign.targets.size();
        if (!fits && !value.poisoned()) {
            sink_.report(diag::WrongNumberOfResults, join(assign.targets.front().span, assign.targets.back().span),
                         assign.targets.size(),
                         tuple == nullptr ? std::string("one value") : format("{0} values", tuple->items.size()));
        }
        const auto keep = value; // `tuple` points into it
        for (size_t i = 0; i < assign.targets.size(); ++i) {
            const syntax::Target& target = assign.targets[i];
            binding_ = paths[i];
            bind(target.name.text, fits ? bind_result(target, paths[i], tuple->items[i], span) : Value(), span);
        }
    }
    binding_ = outer;
    reads_itself_ = read_before;
}

void Elaborator::run_return(const syntax::Return& statement, const Span& span) {
    frame_->returned = finish_results(statement);
    if (const Constant* constant = frame_->returned->constant(); constant != nullptr) {
        (void)span; // a constant result is fine: `return 1;`
    }
}

void Elaborator::run_output(const syntax::Output& output, const Span& span) {
    const std::string outer = binding_;
    const auto* ref = std::get_if<syntax::NameRef>(&output.value->kind);
    const std::string path = ref != nullptr ? prefix_ + ref->name : unique_path(prefix_ + "output");
    binding_ = path;
    const auto value = tensor_of(eval(output.value), output.value->span);
    if (value) {
        TensorId tensor = whole_tensor(*value);
        if (!tensor.valid() || graph_.tensors[tensor].kind != TensorKind::Value) {
            tensor = emit(*value, ref != nullptr ? unique_path(prefix_ + "output") : path, span);
        }
        graph_.outputs.push_back(tensor);
    }
    binding_ = outer;
}

} // namespace sspc::elaboration
