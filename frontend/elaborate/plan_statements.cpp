// A plan's statements with everything evaluated: constants, axes, mesh axes, selectors, used plans, schedules.
#include "frontend/elaborate/elaborator.h"

#include "ir/support/format.h"
#include "ir/support/match.h"

#include <algorithm>
#include <set>

namespace sspc::elaboration {

namespace {

struct PlanRun {
    Elaborator& elaborator;
    std::string model;
    Plan plan;
    std::vector<std::string> tasks;      ///< paths that a selector of tasks may take
    std::vector<std::string> parameters; ///< … of parameters
    /// Schedules wait for the stages and splits that may follow them.
    struct Waiting {
        size_t statement;
        Found<syntax::Schedule> schedule;
        syntax::NamedCall call;
        Frame frame;
    };
    std::vector<Waiting> schedules;
    Frame* frame = nullptr;

    Sink& sink() { return elaborator.sink(); }
    const Graph& graph() { return elaborator.graph(); }

    void not_implemented(const Span& span, std::string_view what) { sink().report(diag::NotImplemented, span, std::string(what)); }

    // ---- names ----

    std::optional<Selector> selector(const syntax::Selector& s) {
        auto out = evaluate_selector(elaborator, s);
        if (!out) {
            return std::nullopt;
        }
        const bool updates = s.of == syntax::Selector::Of::Update || s.of == syntax::Selector::Of::MessagesOfUpdate;
        const std::vector<std::string>& candidates = updates ? parameters : tasks;
        if (std::none_of(candidates.begin(), candidates.end(), [&](const auto& c) { return matches(*out, c); })) {
            Diagnostic& d = sink().report(diag::SelectsNothing, s.span, s.text);
            std::string list;
            for (const std::string& near : nearest_paths(*out, candidates)) {
                list += (list.empty() ? "nearest are `" : ", `") + near + "`";
            }
            d.help(std::move(list));
            return std::nullopt;
        }
        return out;
    }
    /// nullopt if any is wrong.
    std::optional<std::vector<Selector>> selectors(const syntax::Selectors& list) {
        std::vector<Selector> out;
        bool fine = true;
        for (const syntax::Selector& s : list) {
            if (auto one = selector(s)) {
                out.push_back(std::move(*one));
            } else {
                fine = false;
            }
        }
        return fine ? std::optional(std::move(out)) : std::nullopt;
    }

    std::optional<int> mesh_axis(const syntax::Name& name) {
        std::vector<std::string> names;
        for (size_t i = 0; i < plan.mesh.axes.size(); ++i) {
            if (plan.mesh.axes[i].name == name.text) {
                return static_cast<int>(i);
            }
            names.push_back(plan.mesh.axes[i].name);
        }
        if (plan.mesh.axes.empty()) {
            sink().report(diag::NoMesh, name.span, name.text).help(format("begin the plan with `mesh g[{0}: 2];`", name.text));
            return std::nullopt;
        }
        Diagnostic& d = sink().report(diag::UnknownDeclaration, name.span, "mesh axis", name.text);
        d.note(plan.mesh.span, "the mesh is declared here");
        if (auto help = elaborator.did_you_mean(name.text, names); !help.empty()) {
            d.help(std::move(help));
        }
        return std::nullopt;
    }
    std::optional<int> mesh_axis(const syntax::MeshAxisRef& ref) {
        if (ref.mesh && ref.mesh->text != plan.mesh.name && !plan.mesh.axes.empty()) {
            sink().report(diag::UnknownDeclaration, ref.mesh->span, "mesh", ref.mesh->text)
                .help(elaborator.did_you_mean(ref.mesh->text, {plan.mesh.name}));
            return std::nullopt;
        }
        return mesh_axis(ref.axis);
    }

    /// A count that fits an int and is at least `least`.
    std::optional<int> count(const syntax::ExprPtr& expr, std::string_view what, int least) {
        const auto value = elaborator.integer_of(expr, what);
        if (!value) {
            return std::nullopt;
        }
        if (*value < least || *value > 1'000'000'000) {
            sink().report(diag::SizeOutOfRange, expr->span, std::string(what), *value, least);
            return std::nullopt;
        }
        return static_cast<int>(*value);
    }

    // ---- statements ----

    void body(const std::vector<syntax::PlanStatement>& statements) {
        for (const syntax::PlanStatement& s : statements) {
            std::visit([&](const auto& kind) { run(kind, s); }, s.kind);
        }
    }

    void run(const syntax::Let& e, const syntax::PlanStatement&) { elaborator.run_let(e); }
    void run(const syntax::For<syntax::PlanStatement>& e, const syntax::PlanStatement&) {
        elaborator.run_for(e, [this](const auto& inner) { body(inner); });
    }
    void run(const syntax::If<syntax::PlanStatement>& e, const syntax::PlanStatement&) {
        elaborator.run_if(e, [this](const auto& inner) { body(inner); });
    }

    /// `for SEL` where the statement has no use for it.
    bool unlimited(const syntax::PlanStatement& s, std::string_view what) {
        if (!s.only.empty()) {
            not_implemented(s.only.front().span, format("`for` after `{0}`", what));
        }
        return s.only.empty();
    }

    void run(const syntax::UsePlan& e, const syntax::PlanStatement& s) {
        if (!unlimited(s, "use")) {
            return;
        }
        const auto found = elaborator.library().find(&syntax::Module::plans, e.plan.name.text, frame->file);
        if (!found) {
            Diagnostic& d = sink().report(diag::UnknownDeclaration, e.plan.name.span, "plan", e.plan.name.text);
            const auto names = elaborator.library().names(&syntax::Module::plans, frame->file);
            if (auto help = elaborator.did_you_mean(e.plan.name.text, names); !help.empty()) {
                d.help(std::move(help));
            }
            return;
        }
        const std::string& of = found.declaration->model.name.text;
        if (of != model && of != "any" && !of.empty()) {
            sink().report(diag::WrongType, e.plan.name.span, format("a plan for model `{0}`", model), format("one for `{0}`", of));
            return;
        }
        Frame used;
        used.file = found.file;
        used.name = e.plan.name.text;
        used.axes = frame->axes;
        if (!elaborator.bind_parameters(found.declaration->params, e.plan.args, e.plan.span, e.plan.name.text, 0, used) ||
            !elaborator.check_recursion(found.declaration, "plan", e.plan.name.text, e.plan.name.span)) {
            return;
        }
        Frame* const outer = frame;
        frame = &used;
        {
            Elaborator::InFrame in(elaborator, used);
            body(found.declaration->body);
        }
        frame = outer;
        elaborator.end_recursion();
    }

    void run(const syntax::Mesh& e, const syntax::PlanStatement& s) {
        if (!unlimited(s, "mesh")) {
            return;
        }
        if (e.at != nullptr) {
            not_implemented(e.at->span, "`mesh … at`, other places than row-major ones");
            return;
        }
        if (!plan.mesh.axes.empty()) {
            not_implemented(e.name.span, "a second mesh in one plan");
            return;
        }
        plan.mesh.name = e.name.text;
        plan.mesh.span = s.span;
        int64_t devices = 1;
        for (const syntax::Mesh::Axis& axis : e.axes) {
            syntax::ExprPtr size = axis.size;
            if (size == nullptr) {
                size = std::make_shared<const syntax::Expr>(syntax::Expr{syntax::NameRef{axis.name.text}, axis.name.span});
            }
            const auto value = count(size, format("the size of mesh axis `{0}`", axis.name.text), 1);
            const bool twice = std::any_of(plan.mesh.axes.begin(), plan.mesh.axes.end(),
                                           [&](const MeshAxis& a) { return a.name == axis.name.text; });
            if (twice) {
                sink().report(diag::DeclaredTwice, axis.name.span, "mesh axis", axis.name.text);
                continue;
            }
            // An axis of a wrong size exists all the same: what names it is not wrong.
            plan.mesh.axes.push_back({axis.name.text, value.value_or(1), AxisRole::Device, axis.name.span});
            devices *= value.value_or(1);
            if (devices > 1'000'000) {
                sink().report(diag::BadConstant, s.span, "a mesh of more than 1000000 devices");
                devices = 1;
            }
        }
    }

    void run(const syntax::Shard& e, const syntax::PlanStatement& s) {
        bool fine = true;
        if (!e.cuts.empty()) {
            not_implemented(e.cuts.front()->span, "uneven cuts, `shard … cuts`");
            fine = false;
        }
        if (e.flat) {
            not_implemented(s.span, "`flat`, cuts of the flattened bucket");
            fine = false;
        }
        const auto over = mesh_axis(e.over);
        const auto only = selectors(s.only);
        if (e.what != syntax::Shard::What::Axes) {
            if (fine && over && only) {
                using What = plan::ShardState::What;
                const What what = e.what == syntax::Shard::What::Params  ? What::Params
                                  : e.what == syntax::Shard::What::Grads ? What::Grads
                                                                         : What::Optimizer;
                plan.statements.push_back(plan::ShardState{what, *over, *only, s.span});
            }
            return;
        }
        plan::ShardAxes out;
        for (const syntax::Name& name : e.axes) {
            const AxisId axis = elaborator.find_axis(name);
            if (!axis.valid()) {
                fine = false;
            } else if (std::find(out.axes.begin(), out.axes.end(), axis) != out.axes.end()) {
                sink().report(diag::AxisTwice, name.span, name.text, "this statement");
                fine = false;
            } else {
                out.axes.push_back(axis);
                out.axis_spans.push_back(name.span);
            }
        }
        if (fine && over && only) {
            out.mesh_axis = *over;
            out.only = *only;
            out.span = s.span;
            plan.statements.push_back(std::move(out));
        }
    }

    void run(const syntax::Split& e, const syntax::PlanStatement& s) {
        const AxisId axis = elaborator.find_axis(e.axis);
        const auto parts = count(e.parts, "the number of parts", 1);
        const auto only = selectors(s.only);
        if (axis.valid() && parts && only) {
            plan.statements.push_back(plan::Split{axis, *parts, *only, s.span});
        }
    }

    void run(const syntax::Recompute& e, const syntax::PlanStatement& s) {
        const auto tasks_of = selectors(e.tasks);
        if (unlimited(s, "recompute") && tasks_of) {
            plan.statements.push_back(plan::Recompute{*tasks_of, s.span});
        }
    }

    void run(const syntax::KeepGathered& e, const syntax::PlanStatement& s) {
        const auto tasks_of = selectors(e.tasks);
        if (unlimited(s, "keep gathered") && tasks_of) {
            plan.statements.push_back(plan::KeepGathered{*tasks_of, s.span});
        }
    }

    /// `layer[*]` is one item an index.
    void expand(const Selector& item, std::vector<Selector>& out) {
        const bool indexed = std::any_of(item.components.begin(), item.components.end(), [](const auto& c) {
            return c.index != Selector::Component::Index::Absent;
        });
        const size_t depth = item.components.size();
        const auto first_any = std::find_if(item.components.begin(), item.components.end(), [](const auto& c) { return c.any_depth; });
        const bool leading_any = depth > 1 && first_any == item.components.begin() &&
                                 std::none_of(first_any + 1, item.components.end(), [](const auto& c) { return c.any_depth; });
        if (!indexed || (first_any != item.components.end() && !leading_any)) {
            out.push_back(item);
            return;
        }
        // The indices that exist, in order: those of each path that the pattern takes.
        const size_t skip = leading_any ? 1 : 0;
        std::set<std::vector<int>> seen;
        for (const std::string& path : tasks) {
            if (!matches(item, path)) {
                continue;
            }
            std::vector<std::string> components = split_path(path);
            for (size_t at = 0; at + depth - skip <= components.size(); ++at) {
                if (at > 0 && !leading_any) {
                    break;
                }
                Selector one = item;
                std::vector<int> indices;
                bool fits = true;
                for (size_t i = skip; i < depth; ++i) {
                    Selector::Component& c = one.components[i];
                    const std::string& text = components[at + i - skip];
                    const size_t open = text.find('[');
                    if (c.index == Selector::Component::Index::Absent) {
                        continue;
                    }
                    fits = fits && open != text.npos;
                    if (fits) {
                        c.index = Selector::Component::Index::Range;
                        c.first = std::stoi(text.substr(open + 1));
                        c.last = c.first + 1;
                        indices.push_back(c.first);
                    }
                }
                if (fits && matches(one, path) && seen.insert(indices).second) {
                    one.text = item.text;
                    for (const int index : indices) {
                        if (const size_t open = one.text.find('['); open != one.text.npos) {
                            const size_t close = one.text.find(']', open);
                            one.text = format("{0}[{1}]{2}", one.text.substr(0, open), index, one.text.substr(close + 1));
                        }
                    }
                    out.push_back(std::move(one));
                }
            }
        }
    }
    static std::vector<std::string> split_path(const std::string& path) {
        std::vector<std::string> out(1);
        for (const char c : path) {
            if (c == '.') {
                out.emplace_back();
            } else {
                out.back() += c;
            }
        }
        return out;
    }

    void run(const syntax::Stages& e, const syntax::PlanStatement& s) {
        bool fine = unlimited(s, "stages");
        if (e.chunks != nullptr || e.order) {
            not_implemented(e.chunks != nullptr ? e.chunks->span : s.span, "several stages a device, `stages … chunks`");
            fine = false;
        }
        if (e.balance) {
            not_implemented(e.balance->span, "`balance by`; the default balances forward FLOPs");
            fine = false;
        }
        if (!e.cuts.empty()) {
            not_implemented(e.cuts.front()->span, "`stages … cuts`");
            fine = false;
        }
        const auto over = mesh_axis(e.over);
        const auto items = selectors(e.items);
        if (!over || !items || !fine) {
            return;
        }
        plan::Stages out;
        for (const Selector& item : *items) {
            expand(item, out.items);
        }
        out.mesh_axis = *over;
        out.span = s.span;
        plan.mesh.axes[static_cast<size_t>(*over)].role = AxisRole::Stage;
        plan.statements.push_back(std::move(out));
    }

    void run(const syntax::Stage& e, const syntax::PlanStatement& s) {
        bool fine = unlimited(s, "stage");
        const auto tasks_of = selectors(e.tasks);
        if (e.on.mesh.text != plan.mesh.name) {
            if (plan.mesh.axes.empty()) {
                sink().report(diag::NoMesh, e.on.mesh.span, e.on.mesh.text);
            } else {
                sink().report(diag::UnknownDeclaration, e.on.mesh.span, "mesh", e.on.mesh.text)
                    .help(elaborator.did_you_mean(e.on.mesh.text, {plan.mesh.name}));
            }
            return;
        }
        std::optional<int> axis;
        std::optional<int> coordinate;
        for (const syntax::Placement::Coordinate& c : e.on.coordinates) {
            const auto at = mesh_axis(c.axis);
            if (!at) {
                fine = false;
                continue;
            }
            if (c.all) {
                continue;
            }
            if (c.last != nullptr || axis) {
                not_implemented(c.axis.span, "a stage on a part of the mesh other than one coordinate of one axis");
                fine = false;
                continue;
            }
            axis = at;
            coordinate = count(c.first, "a coordinate", 0);
            const int size = plan.mesh.axes[static_cast<size_t>(*at)].size;
            if (coordinate && *coordinate >= size) {
                sink().report(diag::OutsideAxis, c.first->span, *coordinate, c.axis.text, size);
                fine = false;
            }
        }
        if (!axis && fine) {
            not_implemented(e.on.span, "a stage on the whole mesh");
            return;
        }
        if (fine && coordinate && tasks_of) {
            plan.mesh.axes[static_cast<size_t>(*axis)].role = AxisRole::Stage;
            plan.statements.push_back(plan::StageOn{*tasks_of, *axis, *coordinate, s.span});
        }
    }

    void run(const syntax::UseSchedule& e, const syntax::PlanStatement& s) {
        const std::string& name = e.schedule.name.text;
        if (!unlimited(s, "schedule")) {
            return;
        }
        const auto found = elaborator.library().find(&syntax::Module::schedules, name, frame->file);
        if (!found) {
            if (name == "csv" || name == "auto") {
                not_implemented(e.schedule.span, format("`schedule {0}(…)`", name));
                return;
            }
            Diagnostic& d = sink().report(diag::UnknownDeclaration, e.schedule.name.span, "schedule", name);
            const auto names = elaborator.library().names(&syntax::Module::schedules, frame->file);
            if (auto help = elaborator.did_you_mean(name, names); !help.empty()) {
                d.help(std::move(help));
            } else if (names.empty()) {
                d.help("the library's are in `std.schedules`: `import std.schedules;`");
            }
            return;
        }
        schedules.push_back({plan.statements.size(), found, e.schedule, *frame});
        plan.statements.push_back(plan::UseSchedule{name, {}, s.span});
    }

    void run(const syntax::Overlap& e, const syntax::PlanStatement& s) {
        auto first = selectors(e.first);
        const auto second = selectors(e.second);
        const auto chunks = e.chunks != nullptr ? count(e.chunks, "the number of chunks", 1) : std::optional(1);
        if (unlimited(s, "overlap") && first && second && chunks) {
            first->insert(first->end(), second->begin(), second->end());
            plan.statements.push_back(plan::Overlap{*first, *chunks, s.span});
        }
    }

    void run(const syntax::Bucket& e, const syntax::PlanStatement& s) {
        if (!unlimited(s, "bucket")) {
            return;
        }
        if (e.what.text != "grads") {
            not_implemented(e.what.span, format("`bucket {0}`; only `bucket grads`", e.what.text));
            return;
        }
        const auto bytes = elaborator.integer_of(e.size, "the size of a bucket");
        if (bytes && *bytes < 1) {
            sink().report(diag::SizeOutOfRange, e.size->span, "the size of a bucket", *bytes, 1);
        } else if (bytes) {
            plan.statements.push_back(plan::Bucket{*bytes, s.span});
        }
    }

    void run(const syntax::OutputWhole& e, const syntax::PlanStatement& s) {
        if (!unlimited(s, "output")) {
            return;
        }
        for (const syntax::Selector& wanted : e.outputs) {
            const auto pattern = evaluate_selector(elaborator, wanted);
            if (!pattern) {
                continue;
            }
            std::vector<std::string> names;
            bool any = false;
            for (const TensorId output : graph().outputs) {
                const std::string& path = graph().tensors[output].path;
                names.push_back(path);
                if (matches(*pattern, path)) {
                    any = true;
                    plan.statements.push_back(plan::OutputWhole{output, s.span});
                }
            }
            if (!any) {
                Diagnostic& d = sink().report(diag::UnknownDeclaration, wanted.span, "output", wanted.text);
                if (auto help = elaborator.did_you_mean(wanted.text, names); !help.empty()) {
                    d.help(std::move(help));
                } else if (names.empty()) {
                    d.help("the model has no `output`");
                }
            }
        }
    }

    void run(const syntax::Offload&, const syntax::PlanStatement& s) { not_implemented(s.span, "`offload`"); }
    void run(const syntax::Precision&, const syntax::PlanStatement& s) { not_implemented(s.span, "`precision`"); }
    void run(const syntax::Place&, const syntax::PlanStatement& s) { not_implemented(s.span, "`place`"); }
    void run(const syntax::Order&, const syntax::PlanStatement& s) { not_implemented(s.span, "`order … before`"); }
    void run(const syntax::Lower&, const syntax::PlanStatement& s) { not_implemented(s.span, "`lower … as`"); }
    void run(const syntax::Fuse&, const syntax::PlanStatement& s) { not_implemented(s.span, "`fuse`"); }
    void run(const syntax::Prefetch&, const syntax::PlanStatement& s) { not_implemented(s.span, "`prefetch`"); }
    void run(const syntax::Ring&, const syntax::PlanStatement& s) { not_implemented(s.span, "`ring`"); }

    void run_schedules() {
        std::map<std::string, int64_t> known{{"chunks", 1}};
        std::vector<std::string> unknown{"micro", "stages", "devices"};
        for (const MeshAxis& axis : plan.mesh.axes) {
            if (axis.role == AxisRole::Stage) {
                known["stages"] = axis.size;
                known["devices"] = axis.size;
            }
        }
        for (const PlanStatement& s : plan.statements) {
            if (const auto* split = std::get_if<plan::Split>(&s); split != nullptr && split->only.empty()) {
                known["micro"] = split->parts;
            }
        }
        for (Waiting& w : schedules) {
            Elaborator::InFrame in(elaborator, w.frame);
            if (auto lanes = evaluate_schedule(elaborator, w.schedule, w.call, known, unknown)) {
                std::get<plan::UseSchedule>(plan.statements[w.statement]).lanes = std::move(*lanes);
            }
        }
    }
};

} // namespace

std::optional<Plan> evaluate_plan(Elaborator& elaborator, const Found<syntax::Plan>& found, Frame& frame) {
    PlanRun run{elaborator, elaborator.graph().model, {}, {}, {}, {}};
    run.plan.name = found.declaration->name.text;
    run.plan.span = found.declaration->name.span;
    std::set<std::string> paths;
    for (const Statement& s : elaborator.graph().statements) {
        if (s.phase == Phase::Forward && paths.insert(s.path).second) {
            run.tasks.push_back(s.path);
        }
    }
    for (const ParameterInfo& p : elaborator.parameters()) {
        run.parameters.push_back(p.path);
        run.tasks.push_back(p.path);
    }
    for (const Tensor& t : elaborator.graph().tensors) {
        if (t.kind == TensorKind::Input) {
            run.tasks.push_back(t.path);
        }
    }
    for (const AxisId axis : elaborator.graph().axes.ids()) {
        frame.axes[elaborator.graph().axes[axis].name] = axis;
    }
    run.frame = &frame;
    const size_t errors = elaborator.sink().error_count();
    Elaborator::InFrame in(elaborator, frame);
    if (!elaborator.check_recursion(found.declaration, "plan", run.plan.name, run.plan.span)) {
        return std::nullopt;
    }
    run.body(found.declaration->body);
    elaborator.end_recursion();
    if (elaborator.sink().error_count() == errors) {
        run.run_schedules();
    }
    return elaborator.sink().error_count() > errors ? std::nullopt : std::optional(std::move(run.plan));
}

} // namespace sspc::elaboration
