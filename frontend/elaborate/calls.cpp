// Calls of ops and modules: arguments to parameters, then the body in place.
#include "frontend/elaborate/elaborator.h"

#include "ir/support/format.h"
#include "ir/support/match.h"

#include <algorithm>
#include <set>

namespace sspc::elaboration {

namespace {

/// How often the names occur in a body.
struct NameCounts {
    std::map<std::string, int> counts;

    void expr(const syntax::ExprPtr& e) {
        if (e == nullptr) {
            return;
        }
        std::visit(Match{[&](const syntax::NameRef& n) { ++counts[n.name]; },
                         [&](const syntax::Member& m) { expr(m.object); },
                         [&](const syntax::Call& c) {
                             for (const auto& arg : c.args) {
                                 expr(arg.value);
                             }
                         },
                         [&](const syntax::Unary& u) { expr(u.operand); },
                         [&](const syntax::Binary& b) { expr(b.left), expr(b.right); },
                         [&](const syntax::Reduce& r) { expr(r.operand); },
                         [&](const syntax::Index& i) { expr(i.object); },
                         [&](const syntax::Concat& c) { std::for_each(c.parts.begin(), c.parts.end(), [&](const auto& p) { expr(p); }); },
                         [&](const syntax::Tuple& t) { std::for_each(t.items.begin(), t.items.end(), [&](const auto& i) { expr(i); }); },
                         [](const auto&) {}},
                   e->kind);
    }
    void body(const std::vector<syntax::Statement>& statements) {
        for (const syntax::Statement& s : statements) {
            if (const auto* assign = std::get_if<syntax::Assign>(&s.kind)) {
                expr(assign->value);
            } else if (const auto* result = std::get_if<syntax::Return>(&s.kind)) {
                for (const auto& r : result->results) {
                    expr(r.value);
                }
            } else if (const auto* block = std::get_if<syntax::Block>(&s.kind)) {
                body(block->body);
            } else if (const auto* loop = std::get_if<syntax::For<syntax::Statement>>(&s.kind)) {
                body(loop->body), body(loop->body);
            } else if (const auto* choice = std::get_if<syntax::If<syntax::Statement>>(&s.kind)) {
                for (const auto& branch : choice->branches) {
                    body(branch.body);
                }
                body(choice->otherwise);
            }
        }
    }
};

std::set<std::string> read_repeatedly(const std::vector<syntax::Statement>& body) {
    NameCounts counts;
    counts.body(body);
    std::set<std::string> out;
    for (const auto& [name, count] : counts.counts) {
        if (count > 1) {
            out.insert(name);
        }
    }
    return out;
}

} // namespace

bool Elaborator::check_recursion(const void* declaration, std::string_view kind, const std::string& name,
                                 const Span& span) {
    if (std::find(active_.begin(), active_.end(), declaration) != active_.end()) {
        sink_.report(diag::UsesItself, span, std::string(kind), name);
        return false;
    }
    active_.push_back(declaration);
    return true;
}

void Elaborator::set_constant(Frame& frame, const std::string& name, Value value, const Span& span) {
    frame.names[name] = Binding{std::move(value), span, {}, {}, true};
}

bool Elaborator::bind_value(const syntax::Parameter& param, Value value, const Span& span, Frame& into) {
    const std::string& name = param.name.text;
    if (value.poisoned()) {
        set_constant(into, name, {}, param.name.span);
        return false;
    }
    const auto wrong = [&](std::string_view wanted) {
        if (const Constant* c = value.constant()) {
            sink_.report(diag::WrongType, span, format("{0} for `{1}`", wanted, name), describe(*c));
        } else if (value.tuple() != nullptr) {
            sink_.report(diag::WrongType, span, format("{0} for `{1}`", wanted, name), "several values");
        } else {
            sink_.report(diag::NotConstant, span, format("`{0}`", name));
        }
        set_constant(into, name, {}, param.name.span);
        return false;
    };
    if (!param.type) {
        set_constant(into, name, std::move(value), param.name.span);
        return true;
    }
    const Constant* constant = value.constant();
    if (!param.type->tuple.empty()) {
        const TupleValue* tuple = value.tuple();
        const size_t count = param.type->tuple.size();
        if (tuple == nullptr || tuple->items.size() != count) {
            return wrong(format("{0} values in parentheses", count));
        }
        for (const Value& item : tuple->items) {
            if (item.constant() == nullptr || !number_of(*item.constant())) {
                return item.poisoned() ? false : wrong("constant numbers");
            }
        }
        set_constant(into, name, std::move(value), param.name.span);
        return true;
    }
    const std::string& type = param.type->name.text;
    if (!param.type->axes.empty()) {
        sink_.report(diag::NotImplemented, param.type->span, "axes in the type of a parameter; the axes come with the argument");
        return false;
    }
    if (type == "int" || type == "dim") {
        const auto* i = constant != nullptr ? std::get_if<int64_t>(&constant->value) : nullptr;
        if (i == nullptr) {
            return wrong("an integer");
        }
        if (type == "int" || (into.kind == Frame::Kind::Constants && *i >= 1)) {
            set_constant(into, name, integer(*i), param.name.span);
            return true;
        }
        if (*i < 1) {
            sink_.report(diag::SizeOutOfRange, span, format("the size of `{0}`", name), *i, 1);
            set_constant(into, name, {}, param.name.span);
            return false;
        }
        Frame* const before = frame_;
        frame_ = &into; // the axis is the callee's own
        into.axes[name] = declare_axis(name, *i, param.name.span);
        frame_ = before;
        return true;
    }
    if (type == "float") {
        const auto number = constant != nullptr ? number_of(*constant) : std::nullopt;
        if (!number) {
            return wrong("a number");
        }
        set_constant(into, name, Constant{*number}, param.name.span);
        return true;
    }
    if (type == "bool" || type == "string") {
        if (constant == nullptr || constant->value.index() != (type == "bool" ? 2u : 3u)) {
            return wrong(type == "bool" ? "`true` or `false`" : "a string");
        }
        set_constant(into, name, std::move(value), param.name.span);
        return true;
    }
    const auto dtype = dtype_of(param.type->name);
    if (!dtype) {
        return false;
    }
    if (const TensorValue* tensor = value.tensor(); tensor != nullptr && tensor->weak == Weak::No &&
                                                    tensor->body->type != *dtype) {
        sink_.report(diag::WrongType, span, format("{0} for `{1}`", name_of(*dtype), name),
                     format("{0}", name_of(tensor->body->type)));
        return false;
    }
    set_constant(into, name, std::move(value), param.name.span);
    return true;
}

bool Elaborator::bind_one(const syntax::Parameter& param, const syntax::ExprPtr& arg, Frame& into) {
    if (param.type && param.type->name.text == "dim") {
        // An axis given by its name stays that axis; a number makes one.
        if (const auto* ref = std::get_if<syntax::NameRef>(&arg->kind)) {
            if (const auto it = frame_->axes.find(ref->name); it != frame_->axes.end() && &into != frame_) {
                into.axes[param.name.text] = it->second;
                return true;
            }
        }
    }
    Value value = eval(arg);
    if (const TensorValue* tensor = value.tensor()) {
        TensorValue operand = settled(*tensor, arg->span);
        // A long expression, or one over several tensors that the body reads more than once, is worth a tensor: its gradient
        // is then taken once.
        std::set<int> tensors;
        for_each(operand.body, [&](const Expr& node) { node.op == ExprOp::Access ? (void)tensors.insert(node.slot) : void(); });
        if (count_nodes(operand.body) > 48 || (tensors.size() > 1 && into.repeated.contains(param.name.text))) {
            operand = read(emit(std::move(operand), unique_path(binding_ + "." + param.name.text), arg->span));
        }
        value = std::move(operand);
    }
    return bind_value(param, std::move(value), arg->span, into);
}

bool Elaborator::bind_parameters(const std::vector<syntax::Parameter>& params, const syntax::Arguments& args,
                                 const Span& call, const std::string& name, size_t skip, Frame& into) {
    std::vector<const syntax::Argument*> given(params.size(), nullptr);
    bool fine = true;
    const auto names_of = [&](bool over) {
        std::vector<std::string> out;
        for (size_t i = skip; i < params.size(); ++i) {
            if (params[i].over == over) {
                out.push_back(params[i].name.text);
            }
        }
        return out;
    };
    size_t next = skip;
    size_t positional = 0;
    for (const syntax::Argument& arg : args) {
        size_t at = params.size();
        if (arg.name) {
            for (size_t i = skip; i < params.size(); ++i) {
                at = params[i].name.text == arg.name->text && params[i].over == arg.over ? i : at;
            }
            if (at == params.size()) {
                Diagnostic& d = sink_.report(diag::UnknownArgument, arg.name->span, name, arg.over ? "axis" : "parameter",
                                             arg.name->text);
                if (auto help = did_you_mean(arg.name->text, names_of(arg.over)); !help.empty()) {
                    d.help(std::move(help));
                }
                fine = false;
                continue;
            }
        } else if (arg.over) {
            const auto axes = names_of(true);
            if (axes.size() > 1) {
                sink_.report(diag::MissingArgument, arg.span, name, "to know which axis is meant: `over NAME: …`, as in",
                             "over " + axes.front() + ": …");
                fine = false;
                continue;
            }
            for (size_t i = skip; i < params.size(); ++i) {
                at = params[i].over ? i : at;
            }
            if (at == params.size()) {
                sink_.report(diag::UnknownArgument, arg.span, name, "axis parameter for", "over");
                fine = false;
                continue;
            }
        } else {
            ++positional;
            while (next < params.size() && params[next].over) {
                ++next;
            }
            at = next++;
            if (at >= params.size()) {
                const size_t takes = names_of(false).size();
                const auto count = std::count_if(args.begin(), args.end(), [](const auto& a) { return !a.name && !a.over; });
                sink_.report(diag::TooManyArguments, arg.span, name,
                             format("{0} argument{1}", takes, takes == 1 ? "" : "s"), format("{0} are", count));
                fine = false;
                break;
            }
        }
        if (given[at] != nullptr) {
            sink_.report(diag::ArgumentTwice, arg.span, params[at].name.text, name).note(given[at]->span, "first here");
            fine = false;
            continue;
        }
        given[at] = &arg;
    }
    const bool understood = fine; // an argument that is not may be the missing one
    for (size_t i = skip; i < params.size(); ++i) {
        const syntax::Parameter& param = params[i];
        if (given[i] == nullptr) {
            if (param.initial == nullptr && !understood) {
                set_constant(into, param.name.text, {}, param.name.span);
                continue;
            }
            if (param.initial == nullptr) {
                sink_.report(diag::MissingArgument, call, name, param.over ? "the axis" : "the argument",
                             param.over ? "over " + param.name.text : param.name.text)
                    .note(param.span, "declared here");
                fine = false;
                set_constant(into, param.name.text, {}, param.name.span);
                continue;
            }
            InFrame in(*this, into);
            fine = bind_one(param, param.initial, into) && fine;
        } else if (param.over) {
            const auto* ref = std::get_if<syntax::NameRef>(&given[i]->value->kind);
            if (ref == nullptr) {
                sink_.report(diag::WrongType, given[i]->value->span, "the name of an axis", "an expression");
                fine = false;
                continue;
            }
            const AxisId axis = find_axis({ref->name, given[i]->value->span});
            fine = fine && axis.valid();
            if (axis.valid()) {
                into.axes[param.name.text] = axis;
            }
        } else {
            fine = bind_one(param, given[i]->value, into) && fine;
        }
    }
    return fine;
}

Value Elaborator::eval_call(const syntax::Call& call, const Span& span) {
    const auto* ref = std::get_if<syntax::NameRef>(&call.callee->kind);
    if (ref == nullptr) {
        sink_.report(diag::WrongType, call.callee->span, "the name of an op or module", "an expression");
        return {};
    }
    const std::string& name = ref->name;
    if (const auto op = library_.find(&syntax::Module::ops, name, frame_->file)) {
        return call_op(op, call, span);
    }
    if (const auto module = library_.find(&syntax::Module::modules, name, frame_->file)) {
        return call_module(module, call, span);
    }
    if (is_builtin(name)) {
        if (call.as) {
            sink_.report(diag::NotHere, call.as->span, "`as`", format("a call of `{0}`, which is no module", name));
            return {};
        }
        return call_builtin(name, call, span);
    }
    std::vector<std::string> candidates = library_.names(&syntax::Module::ops, frame_->file);
    for (auto& more : {library_.names(&syntax::Module::modules, frame_->file), builtin_names()}) {
        candidates.insert(candidates.end(), more.begin(), more.end());
    }
    Diagnostic& diagnostic = sink_.report(diag::UnknownDeclaration, call.callee->span, "op or module", name);
    if (auto help = did_you_mean(name, candidates); !help.empty()) {
        diagnostic.help(std::move(help));
    } else {
        diagnostic.help("the library's are in `std.nn`: `import std.nn;`");
    }
    return {};
}

/// One value, or several as a tuple; those that are no tensor yet stay expressions.
Value Elaborator::finish_results(const syntax::Return& statement) {
    if (statement.results.size() == 1 && !statement.results.front().name) {
        return eval(statement.results.front().value);
    }
    auto tuple = std::make_shared<TupleValue>();
    for (const auto& result : statement.results) {
        Value value = eval(result.value);
        if (const TensorValue* tensor = value.tensor()) {
            value = settled(*tensor, result.value->span);
        }
        tuple->items.push_back(std::move(value));
        const auto* ref = std::get_if<syntax::NameRef>(&result.value->kind);
        tuple->names.push_back(result.name ? result.name->text : ref != nullptr ? ref->name : "");
    }
    return std::shared_ptr<const TupleValue>(std::move(tuple));
}

std::optional<std::string> Elaborator::instance_component(const syntax::InstanceName& name) {
    if (name.index.size() > 1) {
        sink_.report(diag::NotImplemented, name.span, "instance names with more than one index");
        return std::nullopt;
    }
    if (name.index.empty()) {
        return name.name.text;
    }
    const auto index = integer_of(name.index.front(), "the index of an instance");
    if (!index) {
        return std::nullopt;
    }
    if (*index < 0) {
        sink_.report(diag::SizeOutOfRange, name.index.front()->span, "the index of an instance", *index, 0);
        return std::nullopt;
    }
    return format("{0}[{1}]", name.name.text, *index);
}

Value Elaborator::call_op(const Found<syntax::Op>& op, const syntax::Call& call, const Span& span) {
    const std::string& name = op.declaration->name.text;
    if (frame_->kind == Frame::Kind::Constants) {
        sink_.report(diag::NotHere, span, format("op `{0}`", name), describe(frame_->kind));
        return {};
    }
    Frame frame;
    frame.kind = Frame::Kind::Op;
    frame.repeated = read_repeatedly(op.declaration->body);
    frame.file = op.file;
    frame.name = name;
    if (!bind_parameters(op.declaration->params, call.args, span, name, 0, frame) ||
        !check_recursion(op.declaration, "op", name, span)) {
        return {};
    }
    const std::string prefix = prefix_;
    std::string below = binding_;
    if (call.as) {
        const auto component = instance_component(*call.as);
        below = component ? unique_path(prefix_ + *component) : binding_;
    }
    prefix_ = below + ".";
    {
        InFrame in(*this, frame);
        run(op.declaration->body);
    }
    prefix_ = prefix;
    end_recursion();
    if (!frame.returned) {
        sink_.report(diag::NoReturn, op.declaration->name.span, name);
        return {};
    }
    return *frame.returned;
}

Value Elaborator::call_module(const Found<syntax::ModuleDecl>& module, const syntax::Call& call, const Span& span) {
    const std::string& name = module.declaration->name.text;
    if (frame_->kind != Frame::Kind::Model && frame_->kind != Frame::Kind::Module) {
        sink_.report(diag::NotHere, span, format("module `{0}`", name), describe(frame_->kind));
        return {};
    }
    if (!call.as) {
        sink_.report(diag::NoInstanceName, span, name).help(format("write `{0}(…) as name`", name));
        return {};
    }
    Frame frame;
    frame.kind = Frame::Kind::Module;
    frame.repeated = read_repeatedly(module.declaration->body);
    frame.file = module.file;
    frame.name = name;
    const auto component = instance_component(*call.as);
    if (!bind_parameters(module.declaration->params, call.args, span, name, 0, frame) || !component ||
        !check_recursion(module.declaration, "module", name, span)) {
        return {};
    }
    const std::string path = prefix_ + *component;
    const auto [seen, fresh] = instances_.emplace(path, call.as->span);
    if (!fresh) {
        sink_.report(diag::DeclaredTwice, call.as->span, "instance", path).note(seen->second, "the first one is here");
        end_recursion();
        return {};
    }
    ++path_counts_[path]; // the result takes this name
    const std::string prefix = prefix_;
    const std::string parameter_prefix = parameter_prefix_;
    const std::string binding = binding_;
    const std::string reading = reading_;
    prefix_ = path + ".";
    std::string dotted = *component;
    if (const size_t open = dotted.find('['); open != dotted.npos) {
        dotted = dotted.substr(0, open) + "." + dotted.substr(open + 1, dotted.size() - open - 2);
    }
    parameter_prefix_ += dotted + ".";
    blocks_.push_back(*component);
    binding_ = path;
    reading_.clear();
    {
        InFrame in(*this, frame);
        run(module.declaration->body);
    }
    // The results are tensors of the instance.
    const auto own = [&](Value value, const std::string& at) -> Value {
        const TensorValue* tensor = value.tensor();
        if (tensor == nullptr || whole_tensor(*tensor).valid()) {
            return value;
        }
        return read(emit(*tensor, at, span));
    };
    Value out;
    if (!frame.returned) {
        sink_.report(diag::NoReturn, module.declaration->name.span, name);
    } else if (const TupleValue* tuple = frame.returned->tuple()) {
        auto results = std::make_shared<TupleValue>(*tuple);
        for (size_t i = 0; i < results->items.size(); ++i) {
            const std::string word = tuple->names[i].empty() ? "result" : tuple->names[i];
            if (const TensorValue* t = results->items[i].tensor(); t != nullptr && !whole_tensor(*t).valid()) {
                results->items[i] = own(results->items[i], unique_path(path + "." + word));
            }
        }
        out = std::shared_ptr<const TupleValue>(std::move(results));
    } else {
        out = own(*frame.returned, path);
    }
    prefix_ = prefix;
    parameter_prefix_ = parameter_prefix;
    binding_ = binding;
    reading_ = reading;
    blocks_.pop_back();
    end_recursion();
    return out;
}

} // namespace sspc::elaboration
