// Loads the files, chooses the plan and its model, and carries both out.
#include "frontend/elaborate/elaborate.h"

#include "frontend/elaborate/elaborator.h"
#include "frontend/parse/parser.h"
#include "ir/support/check.h"
#include "ir/support/format.h"

#include <algorithm>

namespace sspc {

using namespace elaboration;

namespace elaboration {

bool Elaborator::bind_settable(const std::vector<syntax::Parameter>& params, const syntax::Arguments& args,
                               const Span& call, const std::string& name, std::vector<Setting>& settings, Frame& into) {
    syntax::Arguments all = args;
    for (Setting& setting : settings) {
        const bool known = std::any_of(params.begin(), params.end(), [&](const auto& p) { return p.name.text == setting.name; });
        if (!known || setting.used) {
            continue;
        }
        setting.used = true;
        std::erase_if(all, [&](const syntax::Argument& a) { return a.name && a.name->text == setting.name; });
        syntax::Argument arg;
        arg.name = syntax::Name{setting.name, setting.value->span};
        arg.value = setting.value;
        arg.span = setting.value->span;
        all.push_back(std::move(arg));
    }
    return bind_parameters(params, all, call, name, 0, into);
}

bool Elaborator::model(const Found<syntax::Model>& found, const syntax::Arguments& overrides, std::vector<Setting>& settings) {
    const syntax::Model& declaration = *found.declaration;
    graph_.model = declaration.name.text;
    Frame frame;
    frame.kind = Frame::Kind::Model;
    frame.file = found.file;
    frame.name = declaration.name.text;
    const size_t errors = sink_.error_count();
    bind_settable(declaration.params, overrides, declaration.name.span, declaration.name.text, settings, frame);
    if (sink_.error_count() > errors) {
        return false; // sizes would be wrong everywhere
    }
    InFrame in(*this, frame);
    run(declaration.body);
    model_axes_ = frame.axes;
    if (sink_.error_count() == errors) {
        run_overrides();
    }
    return sink_.error_count() == errors;
}

} // namespace elaboration

namespace {

struct Driver {
    const std::filesystem::path& path;
    const ElaborateOptions& options;
    SourceMap& sources;
    Sink& sink;
    Library library{};

    /// `--set name=value`: the value is an expression of constants.
    std::vector<Elaborator::Setting> settings() {
        std::vector<Elaborator::Setting> out;
        for (const auto& [name, text] : options.set) {
            const std::string whole = name + "=" + text;
            SourceMap scratch;
            Sink errors;
            const FileId probe = scratch.add_file("--set", "data value = " + text + ";");
            const auto probed = parse(probe, scratch, errors);
            const bool one = probed && probed->datas.size() == 1 && probed->imports.empty() && probed->models.empty() &&
                             probed->plans.empty() && probed->feeds.empty();
            if (!one || name.empty()) {
                sink.report(diag::BadSetting, Span{}, whole, "the value is a number, `true`, `false` or a \"string\"");
                continue;
            }
            // Parsed again where messages about the value can point.
            const FileId file = sources.add_file("--set " + whole, "data value = " + text + ";");
            const auto module = parse(file, sources, sink);
            SSPC_CHECK(module && module->datas.size() == 1, "a setting parses twice");
            out.push_back({name, whole, module->datas.front().source, false});
        }
        return out;
    }

    Found<syntax::Plan> plan() {
        if (!options.plan.empty()) {
            return library.find(&syntax::Module::plans, options.plan, 0);
        }
        for (const int file : {0}) {
            const auto& plans = library.file(file).module.plans;
            const auto it = std::find_if(plans.begin(), plans.end(), [](const auto& p) { return p.is_default; });
            if (it != plans.end()) {
                return {&*it, file};
            }
            if (!plans.empty()) {
                return {&plans.front(), file};
            }
        }
        return {};
    }

    Found<syntax::Model> first_model() {
        for (const int file : library.visible(0)) {
            const auto& models = library.file(file).module.models;
            if (!models.empty()) {
                return {&models.front(), file};
            }
        }
        return {};
    }

    Found<syntax::Model> model_of(const Found<syntax::Plan>& plan) {
        if (!plan || plan.declaration->model.name.text.empty() || plan.declaration->model.name.text == "any") {
            const auto found = first_model();
            if (!found) {
                sink.report(diag::NoModel, Span{}, path.string());
            }
            return found;
        }
        const syntax::Name& name = plan.declaration->model.name;
        auto found = library.find(&syntax::Module::models, name.text, plan.file);
        if (!found) {
            found = library.find(&syntax::Module::models, name.text, 0);
        }
        if (!found) {
            Diagnostic& d = sink.report(diag::UnknownDeclaration, name.span, "model", name.text);
            const auto near = nearest_names(name.text, library.names(&syntax::Module::models, 0), 1);
            if (!near.empty()) {
                d.help(format("did you mean `{0}`?", near.front()));
            }
        }
        return found;
    }

    /// A plan without statements, for a model on one device.
    std::shared_ptr<const syntax::Plan> single() {
        auto out = std::make_shared<syntax::Plan>();
        out->name.text = "single";
        return out;
    }

    void report_unknown_plan() {
        std::vector<std::string> names = library.names(&syntax::Module::plans, 0);
        std::string list;
        for (const std::string& name : names) {
            list += (list.empty() ? "" : ", ") + name;
        }
        Diagnostic& d = sink.report(diag::UnknownDeclaration, Span{}, "plan", options.plan);
        const auto near = nearest_names(options.plan, names, 1);
        d.help(!near.empty() ? format("did you mean `{0}`?", near.front())
               : list.empty() ? std::string("the file has no plans; `single` is always known")
                              : "plans are " + list);
    }

    void report_unused(const std::vector<Elaborator::Setting>& all, const Found<syntax::Plan>& plan,
                       const Found<syntax::Model>& model) {
        for (const Elaborator::Setting& setting : all) {
            if (setting.used) {
                continue;
            }
            std::vector<std::string> names;
            for (const auto& p : plan ? plan.declaration->params : std::vector<syntax::Parameter>{}) {
                names.push_back(p.name.text);
            }
            for (const auto& p : model.declaration->params) {
                names.push_back(p.name.text);
            }
            Diagnostic& d = sink.report(diag::UnknownSetting, Span{}, setting.text, setting.name);
            const auto near = nearest_names(setting.name, names, 1);
            if (!near.empty()) {
                d.help(format("did you mean `{0}`?", near.front()));
            }
        }
    }

    std::optional<Elaborated> run() {
        const size_t errors = sink.error_count();
        if (!library.load(path, options.library_folders, sources, sink)) {
            return std::nullopt;
        }
        auto given = settings();
        Found<syntax::Plan> chosen = plan();
        std::shared_ptr<const syntax::Plan> implicit;
        if (!chosen && (options.plan.empty() || options.plan == "single")) {
            implicit = single();
            chosen = {implicit.get(), 0};
        }
        if (!chosen) {
            report_unknown_plan();
            return std::nullopt;
        }
        const auto model = model_of(chosen);
        if (!model) {
            return std::nullopt;
        }
        Elaborator elaborator(library, sink);
        Frame plan_frame;
        plan_frame.file = chosen.file;
        plan_frame.name = chosen.declaration->name.text;
        Elaborator::InFrame in(elaborator, plan_frame);
        const syntax::Plan& plan = *chosen.declaration;
        const bool bound = elaborator.bind_settable(plan.params, {}, plan.name.span, plan.name.text, given, plan_frame);
        if (!bound || !elaborator.model(model, plan.model.args, given)) {
            return std::nullopt;
        }
        report_unused(given, chosen, model);
        auto feeds = evaluate_feeds(elaborator, model.declaration->name.text, plan_frame);
        auto evaluated = evaluate_plan(elaborator, chosen, plan_frame);
        if (sink.error_count() > errors || !evaluated) {
            return std::nullopt;
        }
        Elaborated out{std::move(elaborator.graph()), std::move(*evaluated), std::move(feeds), {}};
        for (const syntax::Plan& p : library.file(0).module.plans) {
            out.plans.push_back({p.name.text, p.doc, p.name.span});
        }
        if (const auto fault = verify(out.graph)) {
            SSPC_CHECK(!fault, "elaboration made a wrong graph: " + *fault);
        }
        return out;
    }
};

} // namespace

std::optional<Elaborated> elaborate(const std::filesystem::path& file, const ElaborateOptions& options, SourceMap& sources,
                                    Sink& sink) {
    return Driver{file, options, sources, sink}.run();
}

} // namespace sspc
