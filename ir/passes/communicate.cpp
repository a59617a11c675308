// Turns tasks into blocks of instructions: computes, the moves between their layouts, and messages between stages.
#include "ir/passes/communicate.h"

#include "ir/collective/move_cache.h"
#include "ir/passes/buckets.h"
#include "ir/passes/overlap.h"
#include "ir/passes/recompute.h"
#include "ir/support/check.h"
#include "ir/support/format.h"

#include <algorithm>
#include <array>
#include <map>

namespace sspc {
namespace {

/// Where code is written: a stage's forward, backward or finish block.
enum Context { in_forward = 0, in_backward = 1, in_finish = 2 };

struct Instance {
    BufferId buffer;
    Layout layout;
};
using Instances = std::map<TensorId, std::vector<Instance>>;

bool has_partial(const Layout& layout) {
    return std::any_of(layout.begin(), layout.end(), [](const Placement& p) { return p.is_partial(); });
}

struct Stage {
    Class device_class;
    std::array<std::vector<Instruction>, 3> code;
    std::vector<Instruction> start;
    std::array<Instances, 3> at;
    Instances persistent;
    std::map<std::string, int> names;
};

class Builder {
public:
    Builder(const Graph& graph, const Plan& plan, const Tasks& tasks, Sink& sink)
        : graph_(graph), plan_(plan), tasks_(tasks), sink_(sink), producer_(producers(graph)),
          recompute_(graph, plan), stages_(tasks.stages) {}

    std::optional<Materialized> run() {
        make_program();
        find_uses();
        store_parameters();
        for (StatementId id : graph_.statements.ids()) {
            if (graph_.statements[id].phase == Phase::Update && !reduced_gradients_)
                reduce_gradients_in_buckets();
            emit(id);
        }
        if (sink_.has_errors()) // what is refused was not made, and is no result
            return std::nullopt;
        finish_updates();
        make_results();
        if (sink_.has_errors())
            return std::nullopt;
        close();
        return std::move(result_);
    }

private:
    Program& program() { return result_.program; }
    const Mesh& mesh() const { return tasks_.mesh; }
    int micros() const { return mesh().axes[0].size; }
    Layout normal(const Layout& layout) const { return normalized(mesh(), layout); }
    TensorShape shape(TensorId tensor) const { return {graph_.tensors[tensor].axes, graph_.tensors[tensor].dtype}; }

    void make_program() {
        program().model = graph_.model;
        program().plan = plan_.name;
        program().mesh = tasks_.mesh;
        program().split = tasks_.split;
        program().axes = graph_.axes;
        result_.in_loop.resize(tasks_.stages);
        result_.kept.resize(tasks_.stages);
        for (int s = 0; s < tasks_.stages; ++s)
            stages_[s].device_class.stage = s;
    }

    /// Which values of the loop are read after it.
    void find_uses() {
        for (const Statement& statement : graph_.statements)
            if (after_loop(statement))
                for (TensorId operand : statement.operands)
                    read_after_loop_.insert(operand);
            else
                for (TensorId operand : statement.operands)
                    read_in_loop_.insert(operand);
        for (TensorId output : graph_.outputs)
            read_after_loop_.insert(output);
        if (graph_.loss.valid())
            read_after_loop_.insert(graph_.loss);
        for (const Graph::Gradient& gradient : graph_.gradients)
            read_after_loop_.insert(gradient.gradient);
        for (const Graph::Update& update : graph_.updates)
            read_after_loop_.insert(update.value);
        for (StatementId id : graph_.statements.ids())
            for (TensorId operand : graph_.statements[id].operands) {
                last_reader_[operand] = id;
                if (graph_.tensors[operand].kind == TensorKind::Parameter && graph_.statements[id].phase != Phase::Update)
                    loop_readers_[operand].insert(tasks_.tasks[id].stage);
            }
        for (const Graph::Update& update : graph_.updates)
            target_of_[update.value] = update.target;
    }
    bool after_loop(const Statement& statement) const {
        return statement.phase == Phase::Update ||
               (statement.sums_gradients && graph_.tensors[statement.out].parameter.valid());
    }
    Context context_of(const Statement& statement) const {
        if (after_loop(statement))
            return in_finish;
        return statement.phase == Phase::Forward ? in_forward : in_backward;
    }

    // Buffers ---------------------------------------------------------------------------------

    BufferId new_buffer(int stage, TensorId tensor, const Layout& layout, Life life) {
        const Tensor& t = graph_.tensors[tensor];
        Buffer buffer;
        const int count = ++stages_[stage].names[t.path];
        buffer.name = count == 1 ? t.path : t.path + "@" + std::to_string(count);
        buffer.tensor = t.path;
        buffer.axes = t.axes;
        buffer.dtype = t.dtype;
        buffer.layout = layout;
        buffer.life = life;
        return stages_[stage].device_class.buffers.push_back(std::move(buffer));
    }

    void store_parameters() {
        for (TensorId id : graph_.tensors.ids()) {
            const Tensor& tensor = graph_.tensors[id];
            if (tensor.kind != TensorKind::Parameter && tensor.kind != TensorKind::State)
                continue;
            const ParameterLayouts& layouts = tasks_.parameters[id];
            const Layout stored = normal(layouts.stored);
            const BufferId home = new_buffer(layouts.home, id, stored, Life::Persistent);
            stages_[layouts.home].persistent[id] = {{home, stored}};
            Program::Stored entry{tensor.path, tensor.kind, tensor.init, layouts.home, home, {}};
            if (tensor.kind == TensorKind::Parameter)
                for (int s : other_readers(id, layouts.home)) {
                    const BufferId copy = new_buffer(s, id, stored, Life::Persistent);
                    stages_[s].persistent[id] = {{copy, stored}};
                    entry.copies.push_back({s, copy});
                }
            stored_[id] = program().stored.size();
            program().stored.push_back(std::move(entry));
        }
    }
    /// The stages, but `home`, whose loop reads the parameter.
    std::set<int> other_readers(TensorId parameter, int home) const {
        std::set<int> readers;
        if (const auto found = loop_readers_.find(parameter); found != loop_readers_.end())
            readers = found->second;
        readers.erase(home);
        return readers;
    }

    // Values ----------------------------------------------------------------------------------

    /// The instances of a value that code in `context` of `stage` may read.
    std::vector<Instance> candidates(int stage, Context context, TensorId tensor) {
        Stage& s = stages_[stage];
        std::vector<Instance> found;
        if (auto it = s.at[context].find(tensor); it != s.at[context].end())
            found = it->second;
        if (auto it = s.persistent.find(tensor); it != s.persistent.end())
            found.insert(found.end(), it->second.begin(), it->second.end());
        if (context == in_backward && graph_.tensors[tensor].kind == TensorKind::Value)
            if (auto it = s.at[in_forward].find(tensor); it != s.at[in_forward].end())
                for (const Instance& instance : saved(stage, tensor, it->second))
                    found.push_back(instance);
        return found;
    }
    /// What of a forward value is kept for backward: the producer's layout (the first complete one), or all under `keep gathered`.
    std::vector<Instance> saved(int stage, TensorId tensor, const std::vector<Instance>& instances) const {
        const StatementId from = producer_[tensor];
        if (from.valid() && tasks_.tasks[from].stage == stage && !recompute_.is_saved(tensor))
            return {};
        if (from.valid() && keep_gathered(graph_.statements[from]))
            return instances;
        for (const Instance& instance : instances)
            if (!has_partial(instance.layout))
                return {instance};
        return {instances.front()};
    }
    bool keep_gathered(const Statement& statement) const {
        for (const PlanStatement& s : plan_.statements)
            if (const auto* keep = std::get_if<plan::KeepGathered>(&s))
                if (matches_any(keep->tasks, statement.path))
                    return true;
        return false;
    }

    struct Chain {
        Instance from;
        std::vector<Move> moves;
        int64_t bytes = 0;
    };
    std::optional<Chain> cheapest(const std::vector<Instance>& from, TensorId tensor, const Layout& want) const {
        std::optional<Chain> best;
        for (const Instance& instance : from) {
            if (instance.layout == want)
                return Chain{instance, {}, 0};
            auto moves = cache_.cheapest(graph_.axes, shape(tensor), mesh(), instance.layout, want, MoveScope::ChangedAxes);
            if (!moves)
                continue;
            int64_t bytes = 0;
            for (const Move& move : *moves)
                bytes += move.bytes;
            if (!best || bytes < best->bytes || (bytes == best->bytes && moves->size() < best->moves.size()))
                best = Chain{instance, std::move(*moves), bytes};
        }
        return best;
    }

    /// The buffer of `tensor` in layout `want`, made if need be by loading, moving, receiving or computing again.
    BufferId need(int stage, Context context, TensorId tensor, Layout want, Span why) {
        want = normal(want);
        const Tensor& t = graph_.tensors[tensor];
        if (t.kind == TensorKind::Input)
            return load(stage, context, tensor, want);
        std::vector<Instance> from = candidates(stage, context, tensor);
        if (from.empty()) {
            make_available(stage, context, tensor, want, why);
            from = candidates(stage, context, tensor);
        }
        auto chain = cheapest(from, tensor, want);
        SSPC_CHECK(chain.has_value(), format("no chain of moves for `{0}` to {1}", t.path, to_text(want, mesh(), graph_.axes)));
        return carry_out(stage, context, tensor, *chain, why);
    }

    BufferId carry_out(int stage, Context context, TensorId tensor, const Chain& chain, Span why) {
        Instance at = chain.from;
        for (const Move& move : chain.moves) {
            const Instance next{new_buffer(stage, tensor, move.to, context == in_finish ? Life::Step : Life::Micro), move.to};
            stages_[stage].code[context].push_back(communicate_one(tensor, move, at.buffer, next.buffer, why));
            stages_[stage].at[context][tensor].push_back(next);
            at = next;
        }
        return at.buffer;
    }

    Communicate communicate_one(TensorId tensor, const Move& move, BufferId from, BufferId to, Span why) const {
        Communicate result;
        result.kind = move.kind;
        result.mesh_axes = move.mesh_axes;
        result.parts = {{from, to, move.from, move.to}};
        result.bytes = move.bytes;
        const StatementId made = producer_[tensor];
        if (made.valid()) {
            result.phase = graph_.statements[made].phase;
            result.model_span = graph_.statements[made].span;
            result.span = tasks_.tasks[made].cut_span;
        } else {
            result.model_span = graph_.tensors[tensor].span;
        }
        if (!result.span.valid())
            result.span = why;
        return result;
    }

    BufferId load(int stage, Context context, TensorId tensor, const Layout& want) {
        auto& here = stages_[stage].at[context][tensor];
        for (const Instance& instance : here)
            if (instance.layout == want)
                return instance.buffer;
        if (context == in_backward)
            for (const Instance& instance : stages_[stage].at[in_forward][tensor])
                if (instance.layout == want)
                    return instance.buffer;
        const BufferId buffer = new_buffer(stage, tensor, want, Life::Micro);
        stages_[stage].code[context].push_back(Load{buffer});
        here.push_back({buffer, want});
        return buffer;
    }

    void make_available(int stage, Context context, TensorId tensor, const Layout& want, Span why) {
        const StatementId from = producer_[tensor];
        SSPC_CHECK(from.valid(), format("`{0}` has no producer", graph_.tensors[tensor].path));
        const int made_at = tasks_.tasks[from].stage;
        if (made_at == stage) {
            SSPC_CHECK(context == in_backward && graph_.statements[from].phase == Phase::Forward,
                       format("`{0}` is read before it is made", graph_.tensors[tensor].path));
            compute_into(stage, in_backward, from, Life::Micro); // recompute
            return;
        }
        receive(stage, context, tensor, made_at, want, why);
    }

    /// A message from the stage that makes `tensor`, in the layout that costs least: moved there, or here after it arrived.
    void receive(int stage, Context context, TensorId tensor, int made_at, const Layout& want, Span why) {
        const Context made_in = context == in_finish ? in_finish : context_of(graph_.statements[producer_[tensor]]);
        const std::vector<Instance> from = candidates(made_at, made_in, tensor);
        SSPC_CHECK(!from.empty(), format("`{0}` is sent before it is made", graph_.tensors[tensor].path));
        Instance sent = from.front();
        int64_t least = -1;
        for (const Instance& instance : from) {
            if (has_partial(instance.layout) && !has_partial(want))
                continue;
            auto chain = cheapest({instance}, tensor, want);
            if (!chain)
                continue;
            const int64_t cost = chain->bytes + bytes_of(tensor, instance.layout);
            if (least < 0 || cost < least) {
                least = cost;
                sent = instance;
            }
        }
        if (made_in != in_finish) { // the sender's finish block runs after this message
            auto chain = cheapest(from, tensor, want);
            if (chain && (least < 0 || chain->bytes + bytes_of(tensor, want) < least))
                sent = {carry_out(made_at, made_in, tensor, *chain, why), want};
        }
        const Life life = made_in == in_finish ? Life::Step : Life::Micro;
        const BufferId buffer = new_buffer(stage, tensor, sent.layout, life);
        const MessageId message = add_message(tensor, made_at, stage, sent, buffer, made_in != in_finish, why);
        stages_[stage].at[made_in][tensor].push_back({buffer, sent.layout});
        if (made_in == in_finish) {
            result_.before_finish.push_back(message);
        } else {
            result_.in_loop[made_at][made_in].after.push_back(message);
            result_.in_loop[stage][context].before.push_back(message);
        }
    }
    int64_t bytes_of(TensorId tensor, const Layout& layout) const {
        return largest_volume(graph_.axes, graph_.tensors[tensor].axes, mesh(), layout) * size_of(graph_.tensors[tensor].dtype);
    }
    MessageId add_message(TensorId tensor, int from, int to, const Instance& sent, BufferId received, bool each_micro, Span why) {
        Message message;
        message.name = graph_.tensors[tensor].path + ">" + std::to_string(to);
        message.tensor = graph_.tensors[tensor].path;
        const StatementId made = producer_[tensor];
        message.phase = !each_micro || !made.valid() ? Phase::Update : graph_.statements[made].phase;
        message.from_stage = from;
        message.to_stage = to;
        message.bytes = bytes_of(tensor, sent.layout);
        message.each_micro = each_micro;
        message.span = why;
        result_.ends.push_back({sent.buffer, received});
        return program().messages.push_back(std::move(message));
    }

    // Statements ------------------------------------------------------------------------------

    void emit(StatementId id) {
        const Statement& statement = graph_.statements[id];
        const Task& task = tasks_.tasks[id];
        const Context context = context_of(statement);
        if (task.stage == all_stages) {
            for (int s = 0; s < tasks_.stages; ++s)
                compute_into(s, in_finish, id, Life::Step);
            return;
        }
        if (context != in_finish && read_after_loop_.contains(statement.out))
            compute_for_after(task.stage, context, id);
        else
            compute_into(task.stage, context, id, context == in_finish ? Life::Step : Life::Micro);
    }

    Compute make_compute(int stage, Context context, StatementId id) {
        const Statement& statement = graph_.statements[id];
        const Task& task = tasks_.tasks[id];
        Compute compute;
        compute.path = statement.path;
        compute.phase = statement.phase;
        compute.cut = task.cut;
        compute.reduce = statement.reduce;
        compute.reduced = statement.reduced;
        compute.body = statement.body;
        compute.scatter = statement.scatter;
        compute.span = statement.span;
        const bool own_terms = task.stage == all_stages && tasks_.stages > 1 && is_partial_over_stages(task);
        std::vector<int> slot_of(statement.operands.size(), -1);
        for (size_t slot = 0; slot < statement.operands.size(); ++slot) {
            const TensorId operand = statement.operands[slot];
            if (own_terms && tasks_.tasks[producer_[operand]].stage != stage)
                continue;
            slot_of[slot] = static_cast<int>(compute.reads.size());
            compute.reads.push_back(need(stage, context, operand, task.operands[slot], task.cut_span.valid() ? task.cut_span : plan_.span));
        }
        if (own_terms)
            compute.body = keep_terms(statement.body, slot_of);
        return compute;
    }
    bool is_partial_over_stages(const Task& task) const {
        const auto axis = find_role(mesh(), AxisRole::Stage);
        return axis && task.out[*axis].is_partial();
    }
    /// The terms of a sum whose operands this stage holds, with slots renumbered.
    static ExprPtr keep_terms(const ExprPtr& body, const std::vector<int>& slot_of) {
        // In two walks: dropping terms folds sums, and a sum that folds to one access must not be renumbered twice.
        const ExprPtr kept = rewrite(body, [&](const ExprPtr& expr) -> ExprPtr {
            return expr->op == ExprOp::Access && slot_of[expr->slot] < 0 ? constant(0, expr->type) : nullptr;
        });
        return rewrite(kept, [&](const ExprPtr& expr) -> ExprPtr {
            return expr->op == ExprOp::Access ? access(slot_of[expr->slot], expr->type, expr->args) : nullptr;
        });
    }

    BufferId compute_into(int stage, Context context, StatementId id, Life life) {
        Compute compute = make_compute(stage, context, id);
        const TensorId out = graph_.statements[id].out;
        const Layout layout = normal(tasks_.tasks[id].out);
        if (const auto target = in_place_target(id, stage, layout)) {
            Stage& s = stages_[stage];
            compute.out = s.persistent.at(*target).front().buffer;
            s.persistent.erase(*target);
            s.persistent[out] = {{compute.out, layout}};
            updated_.insert(*target);
        } else {
            compute.out = new_buffer(stage, out, layout, life);
            stages_[stage].at[context][out].push_back({compute.out, layout});
        }
        const BufferId buffer = compute.out;
        stages_[stage].code[context].push_back(std::move(compute));
        return buffer;
    }

    /// The parameter or state that this statement's value replaces, if it may be written straight into its place: same layout, elementwise
    /// at the same point, and nothing later reads the old value.
    std::optional<TensorId> in_place_target(StatementId id, int stage, const Layout& layout) const {
        const Statement& statement = graph_.statements[id];
        if (statement.phase != Phase::Update || statement.reduce != Reduce::None || !statement.scatter.empty())
            return std::nullopt;
        const auto updated = target_of_.find(statement.out);
        if (updated == target_of_.end())
            return std::nullopt;
        const TensorId target = updated->second;
        const auto last = last_reader_.find(target);
        const auto stored = stages_[stage].persistent.find(target);
        if (stored == stages_[stage].persistent.end() || stored->second.front().layout != layout ||
            tasks_.parameters[target].home != stage || (last != last_reader_.end() && last->second > id) ||
            graph_.tensors[target].axes != graph_.tensors[statement.out].axes ||
            graph_.tensors[target].dtype != graph_.tensors[statement.out].dtype)
            return std::nullopt;
        bool same_point = true;
        for_each(statement.body, [&](const Expr& expr) {
            if (expr.op != ExprOp::Access || statement.operands[expr.slot] != target)
                return;
            for (size_t i = 0; i < expr.args.size(); ++i)
                same_point &= expr.args[i]->op == ExprOp::Iota && expr.args[i]->axis == graph_.tensors[target].axes[i];
        });
        return same_point ? std::optional(target) : std::nullopt;
    }

    /// A value of the loop that is read after it: a Step buffer, into which every micro-batch adds its term.
    void compute_for_after(int stage, Context context, StatementId id) {
        const Statement& statement = graph_.statements[id];
        const Tensor& out = graph_.tensors[statement.out];
        const Layout layout = normal(tasks_.tasks[id].out);
        const bool accumulates = layout[0].is_partial();
        if (layout[0].is_sharded()) {
            sink_.report(diag::NotImplemented, statement.span,
                         format("`{0}` leaves the loop over `{1}` in parts", statement.path, graph_.axes[tasks_.split].name));
            compute_into(stage, context, id, Life::Micro); // for those that read it
            return;
        }
        if (accumulates && layout[0].reduction != Reduce::Sum) {
            sink_.report(diag::NotImplemented, statement.span,
                         format("`{0}`, a maximum, minimum or product over the parts of a `split`", statement.path));
            compute_into(stage, context, id, Life::Micro);
            return;
        }
        Layout complete = layout;
        complete[0] = Placement::replicated();
        Layout wanted = layout;
        if (out.parameter.valid() && statement.phase == Phase::Backward && !tasks_.parameters[out.parameter].gradient.empty()) {
            wanted = normal(tasks_.parameters[out.parameter].gradient);
            wanted[0] = layout[0];
        }
        const bool also_in_loop = read_in_loop_.contains(statement.out) && accumulates;
        if (also_in_loop || wanted != layout)
            compute_into(stage, context, id, Life::Micro);
        const BufferId accumulator = new_buffer(stage, statement.out, wanted, Life::Step);
        Stage& s = stages_[stage];
        if (wanted != layout) {
            auto chain = cheapest(s.at[context][statement.out], statement.out, wanted);
            SSPC_CHECK(chain && !chain->moves.empty(), "a gradient has no chain to its sharded layout");
            const Move last = chain->moves.back();
            chain->moves.pop_back();
            const BufferId from = carry_out(stage, context, statement.out, *chain, plan_.span);
            Communicate reduce = communicate_one(statement.out, last, from, accumulator, plan_.span);
            reduce.accumulate = accumulates;
            s.code[context].push_back(std::move(reduce));
        } else {
            Compute compute = make_compute(stage, context, id);
            compute.out = accumulator;
            compute.accumulate = accumulates;
            s.code[context].push_back(std::move(compute));
        }
        if (accumulates)
            s.start.push_back(Fill{accumulator, 0});
        else
            s.at[context][statement.out].push_back({accumulator, wanted});
        Layout after = wanted;
        after[0] = Placement::replicated();
        s.at[in_finish][statement.out].push_back({accumulator, after});
        result_.kept[stage].push_back(accumulator);
    }

    // After the loop --------------------------------------------------------------------------

    int64_t bucket_bytes() const {
        int64_t bytes = 0;
        for (const PlanStatement& statement : plan_.statements)
            if (const auto* bucket = std::get_if<plan::Bucket>(&statement))
                bytes = bucket->bytes;
        return bytes;
    }

    /// Under `bucket grads`, the reductions of all gradients stand together before the first update.
    void reduce_gradients_in_buckets() {
        reduced_gradients_ = true;
        if (bucket_bytes() == 0)
            return;
        for (int s = 0; s < tasks_.stages; ++s) {
            std::vector<Instruction> moves;
            std::swap(moves, stages_[s].code[in_finish]);
            const size_t sums = moves.size();
            for (const Graph::Gradient& gradient : graph_.gradients) {
                const ParameterLayouts& layouts = tasks_.parameters[gradient.parameter];
                if (layouts.home == s)
                    need(s, in_finish, gradient.gradient, layouts.update, plan_.span);
            }
            auto& code = stages_[s].code[in_finish];
            moves.insert(moves.end(), code.begin(), code.end());
            code = bucketed(std::move(moves), sums, stages_[s].device_class, graph_.axes, mesh(), bucket_bytes());
        }
    }

    void finish_updates() {
        std::vector<size_t> before;
        for (const Stage& stage : stages_)
            before.push_back(stage.code[in_finish].size());
        for (const Graph::Update& update : graph_.updates)
            if (!updated_.contains(update.target) && update.target != update.value)
                restore(update);
        if (bucket_bytes() > 0)
            for (int s = 0; s < tasks_.stages; ++s)
                stages_[s].code[in_finish] = bucketed(std::move(stages_[s].code[in_finish]), before[s], stages_[s].device_class,
                                                      graph_.axes, mesh(), bucket_bytes());
        for (const Graph::Update& update : graph_.updates)
            send_copies(update);
    }
    /// Brings an updated value into its persistent buffer and layout.
    void restore(const Graph::Update& update) {
        const int home = tasks_.parameters[update.target].home;
        Stage& stage = stages_[home];
        const Instance target = stage.persistent.at(update.target).front();
        std::vector<Instance> from = candidates(home, in_finish, update.value);
        SSPC_CHECK(!from.empty(), "an update's value is not at its home");
        auto chain = cheapest(from, update.value, target.layout);
        SSPC_CHECK(chain.has_value(), "no chain of moves restores a parameter");
        if (chain->moves.empty()) {
            stage.code[in_finish].push_back(Copy{chain->from.buffer, target.buffer});
            return;
        }
        const Move last = chain->moves.back();
        chain->moves.pop_back();
        const BufferId before = carry_out(home, in_finish, update.value, *chain, plan_.span);
        stage.code[in_finish].push_back(communicate_one(update.value, last, before, target.buffer, plan_.span));
    }
    void send_copies(const Graph::Update& update) {
        const Program::Stored& stored = program().stored[stored_.at(update.target)];
        for (const Program::Stored::Replica& copy : stored.copies) {
            const Instance sent{stored.buffer, stages_[stored.stage].device_class.buffers[stored.buffer].layout};
            result_.after_finish.push_back(
                add_message(update.target, stored.stage, copy.stage, sent, copy.buffer, false, plan_.span));
        }
    }

    void make_results() {
        using What = Program::Result::What;
        if (graph_.loss.valid())
            add_result(graph_.loss, What::Loss, true);
        if (graph_.grad_norm.valid())
            add_result(graph_.grad_norm, What::GradNorm, true);
        for (TensorId output : graph_.outputs) {
            bool whole = false;
            for (const PlanStatement& statement : plan_.statements)
                if (const auto* wish = std::get_if<plan::OutputWhole>(&statement))
                    whole |= wish->tensor == output;
            add_result(output, What::Output, whole);
        }
        for (const Graph::Gradient& gradient : graph_.gradients)
            add_result(gradient.gradient, What::Gradient, false);
    }
    void add_result(TensorId tensor, Program::Result::What what, bool whole) {
        const StatementId from = producer_[tensor];
        if (!from.valid()) {
            sink_.report(diag::NotImplemented, graph_.tensors[tensor].span, "an input or parameter as an output");
            return;
        }
        const int stage = std::max(0, tasks_.tasks[from].stage);
        Instance chosen;
        for (const Instance& instance : candidates(stage, in_finish, tensor)) {
            const bool fits = whole ? instance.layout == replicated_layout(mesh()) : !has_partial(instance.layout);
            if (fits && !chosen.buffer.valid())
                chosen = instance;
        }
        if (!chosen.buffer.valid())
            chosen.buffer = need(stage, in_finish, tensor, replicated_layout(mesh()), plan_.span);
        program().results.push_back({graph_.tensors[tensor].path, stage, chosen.buffer, what});
        result_.kept[stage].push_back(chosen.buffer);
    }

    void close() {
        for (int s = 0; s < tasks_.stages; ++s) {
            Stage& stage = stages_[s];
            const std::string number = std::to_string(s);
            auto& blocks = stage.device_class.blocks;
            blocks.push_back({Block::Kind::Start, "start", s, std::move(stage.start)});
            blocks.push_back({Block::Kind::Forward, "F" + number, s, overlapped(plan_, program(), stage.device_class, std::move(stage.code[in_forward]), sink_)});
            blocks.push_back({Block::Kind::Backward, "B" + number, s, overlapped(plan_, program(), stage.device_class, std::move(stage.code[in_backward]), sink_)});
            blocks.push_back({Block::Kind::Finish, "finish", s, std::move(stage.code[in_finish])});
            program().classes.push_back(std::move(stage.device_class));
        }
    }

    const Graph& graph_;
    const Plan& plan_;
    const Tasks& tasks_;
    Sink& sink_;
    IdVector<TensorId, StatementId> producer_;
    Recomputed recompute_;
    mutable MoveCache cache_; ///< remembers, changes nothing that is seen
    std::vector<Stage> stages_;
    Materialized result_;
    std::set<TensorId> read_after_loop_, read_in_loop_, updated_;
    std::map<TensorId, StatementId> last_reader_;
    std::map<TensorId, std::set<int>> loop_readers_; ///< of parameters: stages
    std::map<TensorId, TensorId> target_of_;         ///< of an update's value: what it replaces
    std::map<TensorId, size_t> stored_;
    bool reduced_gradients_ = false;
};

} // namespace

std::optional<Materialized> communicate(const Graph& graph, const Plan& plan, const Tasks& tasks, Sink& sink) {
    return Builder(graph, plan, tasks, sink).run();
}

} // namespace sspc
