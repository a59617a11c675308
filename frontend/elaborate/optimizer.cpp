// Training: `minimize`, `update`, states, and the optimizer's body carried out for each parameter.
#include "frontend/elaborate/elaborator.h"

#include "ir/support/check.h"
#include "ir/support/format.h"

#include <algorithm>

namespace sspc::elaboration {

void Elaborator::run_minimize(const syntax::Minimize& minimize, const Span& span) {
    if (minimize_ != nullptr) {
        sink_.report(diag::DeclaredTwice, span, "the model's", "minimize").note(minimize_span_, "the first one is here");
        return;
    }
    const std::string outer = binding_;
    binding_ = unique_path(prefix_ + "minimized");
    const auto value = tensor_of(eval(minimize.loss), minimize.loss->span);
    // Overrides may follow, so the optimizer runs at the end of the model.
    minimize_ = &minimize;
    minimize_span_ = span;
    if (value && !value->axes.empty()) {
        sink_.report(diag::NotScalar, minimize.loss->span, "what is minimized", axis_list(value->axes))
            .help(format("take its mean: `mean[{0}] …`", axis_list(value->axes)));
    } else if (value && !is_float(value->body->type)) {
        sink_.report(diag::WrongType, minimize.loss->span, "a float to minimize", format("{0}", name_of(value->body->type)));
    } else if (value) {
        TensorId loss = whole_tensor(*value);
        if (!loss.valid() || graph_.tensors[loss].kind != TensorKind::Value) {
            loss = emit(*value, binding_, minimize.loss->span);
        }
        graph_.loss = loss;
    }
    binding_ = outer;
}

void Elaborator::run_state(const syntax::State& state, const Span& span) {
    const std::string& name = state.name.text;
    Tensor tensor;
    tensor.path = graph_.tensors[frame_->parameter].path + "." + name;
    tensor.kind = TensorKind::State;
    tensor.parameter = frame_->parameter;
    tensor.span = state.name.span;
    tensor.dtype = graph_.tensors[frame_->parameter].dtype;
    if (state.dtype) {
        if (const auto dtype = dtype_of(*state.dtype)) {
            tensor.dtype = *dtype;
        }
    }
    std::vector<AxisId> like = graph_.tensors[frame_->parameter].axes;
    if (state.init != nullptr) {
        const auto* call = std::get_if<syntax::Call>(&state.init->kind);
        if (call == nullptr && state.axes.empty()) {
            like.clear(); // `state t = 0;`: one number
        }
        tensor.init = init_of(state.init, &like);
    }
    tensor.axes = state.axes.empty() ? like : axes_of_names(state.axes, "this state");
    if (frame_->states.contains(name) || name == frame_->parameter_name) {
        sink_.report(diag::DeclaredTwice, state.name.span, "state", name);
        return;
    }
    if (path_counts_[tensor.path]++ > 0) {
        sink_.report(diag::DeclaredTwice, state.name.span, "the path", tensor.path);
        return;
    }
    const TensorId id = graph_.tensors.push_back(std::move(tensor));
    frame_->states[name] = id;
    bind(name, read(id), span);
}

void Elaborator::apply_optimizer(const syntax::NamedCall& call, const syntax::Arguments& args,
                                 const ParameterInfo& parameter, TensorValue gradient, const Span& span) {
    const auto found = library_.find(&syntax::Module::optimizers, call.name.text, frame_->file);
    if (!found) {
        Diagnostic& diagnostic = sink_.report(diag::UnknownDeclaration, call.name.span, "optimizer", call.name.text);
        if (auto help = did_you_mean(call.name.text, library_.names(&syntax::Module::optimizers, frame_->file)); !help.empty()) {
            diagnostic.help(std::move(help));
        } else {
            diagnostic.help("the library's are in `std.optim`: `import std.optim;`");
        }
        return;
    }
    const syntax::Optimizer& optimizer = *found.declaration;
    if (optimizer.params.size() < 2 || optimizer.params[0].type || optimizer.params[1].type) {
        sink_.report(diag::MissingArgument, optimizer.name.span, optimizer.name.text, "two parameters first, as in",
                     "(p, g, …)");
        return;
    }
    Frame frame;
    frame.kind = Frame::Kind::Optimizer;
    frame.file = found.file;
    frame.name = optimizer.name.text;
    frame.parameter_name = optimizer.params[0].name.text;
    frame.parameter = parameter.tensor;
    if (!bind_parameters(optimizer.params, args, call.span, optimizer.name.text, 2, frame)) {
        return;
    }
    const Tensor& tensor = graph_.tensors[parameter.tensor];
    const bool within = std::all_of(gradient.axes.begin(), gradient.axes.end(), [&](AxisId a) {
        return std::find(tensor.axes.begin(), tensor.axes.end(), a) != tensor.axes.end();
    });
    if (!within) {
        sink_.report(diag::AxesMissing, span, axis_list(gradient.axes), tensor.path, axis_list(tensor.axes));
        return;
    }
    if (gradient.weak != Weak::No) {
        gradient.body = with_type(gradient.body, tensor.dtype);
        gradient.weak = Weak::No;
    }
    if (gradient.body->type != tensor.dtype) {
        sink_.report(diag::MixedTypes, span, "update", name_of(tensor.dtype), name_of(gradient.body->type));
        return;
    }
    set_constant(frame, frame.parameter_name, read(parameter.tensor), span);
    set_constant(frame, optimizer.params[1].name.text, std::move(gradient), span);

    const auto outer = std::tuple(prefix_, binding_, blocks_, phase_, update_of_, loops_);
    prefix_ = "update " + parameter.path + ".";
    binding_ = "update " + parameter.path;
    blocks_ = parameter.blocks;
    phase_ = Phase::Update;
    update_of_ = parameter.tensor;
    {
        InFrame in(*this, frame);
        run(optimizer.body);
    }
    std::tie(prefix_, binding_, blocks_, phase_, update_of_, loops_) = outer;

    const auto updated = [&](const std::string& name, TensorId target) {
        const TensorValue* value = frame.names.at(name).value.tensor();
        const TensorId tensor = value != nullptr ? whole_tensor(*value) : TensorId();
        if (tensor.valid() && tensor != target) {
            graph_.updates.push_back({target, tensor});
        }
    };
    updated(frame.parameter_name, parameter.tensor);
    for (const auto& [name, state] : frame.states) {
        updated(name, state);
    }
}

void Elaborator::run_update(const syntax::Update& update, const Span& span) {
    const auto it = frame_->names.find(update.parameter.text);
    const TensorValue* value = it == frame_->names.end() ? nullptr : it->second.value.tensor();
    const TensorId tensor = value != nullptr ? whole_tensor(*value) : TensorId();
    const auto info = std::find_if(parameters_.begin(), parameters_.end(),
                                   [&](const ParameterInfo& p) { return p.tensor == tensor; });
    if (info == parameters_.end()) {
        if (it == frame_->names.end() || !it->second.value.poisoned()) {
            std::vector<std::string> names;
            for (const ParameterInfo& p : parameters_) {
                names.push_back(p.path);
            }
            Diagnostic& d = sink_.report(diag::UnknownDeclaration, update.parameter.span, "parameter", update.parameter.text);
            if (auto help = did_you_mean(update.parameter.text, names); !help.empty()) {
                d.help(std::move(help));
            }
        }
        return;
    }
    if (info->updated_by_hand) {
        sink_.report(diag::DeclaredTwice, update.parameter.span, "the update of", info->path);
        return;
    }
    info->updated_by_hand = true;
    syntax::Arguments args = update.optimizer.args;
    const auto first = std::find_if(args.begin(), args.end(), [](const auto& a) { return !a.name && !a.over; });
    if (first == args.end()) {
        sink_.report(diag::MissingArgument, update.optimizer.span, update.optimizer.name.text, "as its first argument", "the gradient");
        return;
    }
    const std::string outer = binding_;
    binding_ = unique_path(prefix_ + update.parameter.text + ".gradient");
    const auto gradient = tensor_of(eval(first->value), first->value->span);
    binding_ = outer;
    const Span at = first->value->span;
    args.erase(first);
    if (gradient) {
        apply_optimizer(update.optimizer, args, *info, *gradient, at);
    }
    (void)span;
}

/// The square root of the sum of all gradients' squares: a statement for each parameter, one that adds them, and the root.
TensorId Elaborator::global_norm(const Span& span) {
    TensorValue total;
    for (const Graph::Gradient& gradient : graph_.gradients) {
        const auto info = std::find_if(parameters_.begin(), parameters_.end(),
                                       [&](const ParameterInfo& p) { return p.tensor == gradient.parameter; });
        SSPC_CHECK(info != parameters_.end(), "a gradient of no parameter");
        update_of_ = gradient.parameter;
        blocks_ = info->blocks;
        TensorValue square = read(gradient.gradient);
        square.body = square.body * square.body;
        square.reduced = square.axes;
        square.axes.clear();
        square.reduce = square.reduced.empty() ? Reduce::None : Reduce::Sum;
        TensorValue term = read(emit(std::move(square), unique_path("norm." + info->path), span));
        term.body = term.body->type == DType::F32 ? term.body : cast(term.body, DType::F32);
        if (total.body == nullptr) {
            total = std::move(term);
        } else {
            total.body = total.body + term.body;
        }
    }
    update_of_ = {};
    blocks_.clear();
    TensorValue norm = read(emit(std::move(total), unique_path("norm.sum"), span));
    norm.body = make(ExprOp::Sqrt, {norm.body});
    return emit(std::move(norm), unique_path("grad_norm"), span);
}

/// At the end of a model with `minimize`: gradients, their norm, and each parameter's update.
void Elaborator::run_overrides() {
    if (minimize_ == nullptr) {
        for (const auto& [override, span] : overrides_) {
            sink_.report(diag::NotHere, span, "`override`", "a model without `minimize`");
        }
        return;
    }
    if (!graph_.loss.valid()) {
        return;
    }
    const syntax::NamedCall& base = minimize_->optimizer;
    std::vector<ParameterInfo> trained;
    std::vector<std::string> paths;
    for (const ParameterInfo& info : parameters_) {
        if (!info.updated_by_hand) {
            trained.push_back(info);
            paths.push_back(info.path);
        }
    }
    std::vector<std::pair<const syntax::Override*, std::vector<Selector>>> overrides;
    for (const auto& [override, span] : overrides_) {
        if (override->optimizer.name.text != base.name.text) {
            sink_.report(diag::NotImplemented, override->optimizer.name.span,
                         format("an override with another optimizer than `{0}`", base.name.text));
            continue;
        }
        for (const syntax::Argument& arg : override->optimizer.args) {
            if (!arg.name) {
                sink_.report(diag::MissingArgument, arg.span, override->optimizer.name.text,
                             "its arguments by name in an override, as in", "weight_decay: 0");
            }
        }
        std::vector<Selector> selectors;
        for (const syntax::Selector& s : override->only) {
            auto selector = evaluate_selector(*this, s);
            if (!selector) {
                continue;
            }
            if (std::none_of(paths.begin(), paths.end(), [&](const auto& p) { return matches(*selector, p); })) {
                Diagnostic& d = sink_.report(diag::SelectsNothing, s.span, s.text);
                std::string list;
                for (const std::string& near : nearest_paths(*selector, paths)) {
                    list += (list.empty() ? "nearest are `" : ", `") + near + "`";
                }
                d.help(std::move(list));
                continue;
            }
            selectors.push_back(std::move(*selector));
        }
        overrides.emplace_back(override, std::move(selectors));
    }
    std::optional<double> clip;
    if (minimize_->clip_norm != nullptr) {
        clip = float_of(minimize_->clip_norm, "`clip_norm`");
        if (clip && !(*clip > 0)) {
            sink_.report(diag::BadConstant, minimize_->clip_norm->span, "`clip_norm` is a positive number");
        }
    }
    for (const ParameterInfo& info : trained) {
        const Tensor& parameter = graph_.tensors[info.tensor];
        Tensor gradient;
        gradient.path = "grad " + info.path;
        gradient.axes = parameter.axes;
        gradient.dtype = parameter.dtype;
        gradient.parameter = info.tensor;
        gradient.span = parameter.span;
        graph_.gradients.push_back({info.tensor, graph_.tensors.push_back(std::move(gradient))});
    }
    if (graph_.gradients.empty()) {
        sink_.report(diag::MissingArgument, minimize_span_, "minimize", "something to train:", "param");
        return;
    }
    phase_ = Phase::Update;
    graph_.grad_norm = global_norm(minimize_span_);
    TensorId scale;
    if (clip) {
        TensorValue value = read(graph_.grad_norm);
        value.body = make(ExprOp::Min, {constant(1, DType::F32),
                                        constant(*clip, DType::F32) / (value.body + constant(1e-6, DType::F32))});
        scale = emit(std::move(value), unique_path("clip"), minimize_->clip_norm->span);
    }
    for (size_t i = 0; i < trained.size(); ++i) {
        syntax::Arguments args = base.args;
        for (const auto& [override, selectors] : overrides) {
            if (!matches_any(selectors, trained[i].path)) {
                continue;
            }
            for (const syntax::Argument& arg : override->optimizer.args) {
                std::erase_if(args, [&](const syntax::Argument& a) {
                    return a.name && arg.name && a.name->text == arg.name->text;
                });
                args.push_back(arg);
            }
        }
        TensorValue gradient = read(graph_.gradients[i].gradient);
        if (scale.valid()) {
            const ExprPtr factor = read(scale).body;
            gradient.body = gradient.body * (gradient.body->type == DType::F32 ? factor : cast(factor, gradient.body->type));
        }
        const size_t errors = sink_.error_count();
        apply_optimizer(base, args, trained[i], std::move(gradient), minimize_span_);
        if (sink_.error_count() > errors) {
            break; // the other parameters have the same errors
        }
    }
    phase_ = Phase::Forward;
}

} // namespace sspc::elaboration
