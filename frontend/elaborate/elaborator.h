// The state of one elaboration, shared by the files of this folder. Not seen outside of it.
#pragma once

#include "frontend/elaborate/elaborate.h"
#include "frontend/elaborate/library.h"
#include "frontend/elaborate/value.h"
#include "frontend/syntax/ast.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sspc::elaboration {

struct LoopTurn {
    int loop = 0;
    int turn = 0;
};

struct Binding {
    Value value;
    Span span;
    std::string block;          ///< where it was bound, indices left out
    std::vector<LoopTurn> loops; ///< the loops around it
    bool carried = false;       ///< its expression reads the name itself
};

/// The names of one declaration while its body is carried out. Blocks name, they do not scope, so a body has one frame.
struct Frame {
    enum class Kind { Model, Module, Op, Optimizer, Constants };
    Kind kind = Kind::Constants;
    int file = 0;
    std::string name; ///< of the declaration
    std::map<std::string, Binding> names;
    std::map<std::string, AxisId> axes;
    std::optional<Value> returned;
    std::set<std::string> repeated; ///< names that the body reads more than once
    // Optimizer
    std::string parameter_name;
    TensorId parameter;
    std::map<std::string, TensorId> states;
};

/// A trained or updated parameter, with what its tasks carry.
struct ParameterInfo {
    TensorId tensor;
    std::string path;
    std::string pass; ///< the pass that declared it
    std::vector<std::string> blocks;
    bool updated_by_hand = false;
};

/// `{"op", "module", …}` with an article and for what a body is.
std::string_view describe(Frame::Kind kind);

class Elaborator {
public:
    Elaborator(const Library& library, Sink& sink) : library_(library), sink_(sink) {}

    // ---- constants (expressions.cpp) ----
    std::optional<Constant> constant_of(const syntax::ExprPtr& expr, std::string_view what);
    std::optional<int64_t> integer_of(const syntax::ExprPtr& expr, std::string_view what);
    std::optional<double> float_of(const syntax::ExprPtr& expr, std::string_view what);

    /// Binds the parameters of a declaration to arguments; the arguments are evaluated in the current frame, the defaults in `into`.
    /// `skip` parameters are bound by the caller.
    bool bind_parameters(const std::vector<syntax::Parameter>& params, const syntax::Arguments& args, const Span& call,
                         const std::string& name, size_t skip, Frame& into);

    /// Carries out the model with these parameters; `settings` override them by name (marked as used).
    struct Setting {
        std::string name;
        std::string text;
        syntax::ExprPtr value;
        bool used = false;
    };
    bool model(const Found<syntax::Model>& found, const syntax::Arguments& overrides, std::vector<Setting>& settings);
    /// A parameter of a plan or model from a setting, the arguments or its default.
    bool bind_settable(const std::vector<syntax::Parameter>& params, const syntax::Arguments& args, const Span& call,
                       const std::string& name, std::vector<Setting>& settings, Frame& into);

    const Library& library() const { return library_; }
    Sink& sink() { return sink_; }
    Graph& graph() { return graph_; }
    const std::map<std::string, AxisId>& model_axes() const { return model_axes_; }
    /// Names that stand for a task of another name: `layer[0].attn.n` for `layer[0].attn.ln`.
    const std::vector<std::pair<std::string, std::string>>& aliases() const { return aliases_; }
    const std::vector<std::string>& passes() const { return passes_; }
    const std::vector<ParameterInfo>& parameters() const { return parameters_; }

    /// A frame is current while this lives.
    class InFrame {
    public:
        InFrame(Elaborator& elaborator, Frame& frame) : elaborator_(elaborator), before_(elaborator.frame_) {
            elaborator.frame_ = &frame;
        }
        ~InFrame() { elaborator_.frame_ = before_; }
        InFrame(const InFrame&) = delete;
        InFrame& operator=(const InFrame&) = delete;

    private:
        Elaborator& elaborator_;
        Frame* before_;
    };

    Value eval(const syntax::ExprPtr& expr);
    AxisId find_axis(const syntax::Name& name);
    bool check_recursion(const void* declaration, std::string_view kind, const std::string& name, const Span& span);
    void end_recursion() { active_.pop_back(); }
    void set_constant(Frame& frame, const std::string& name, Value value, const Span& span);
    /// The parameter's paths and settings used by `minimize` and `update` (optimizer.cpp).
    std::vector<std::string> visible_names() const;
    std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) const;

    template <typename Statement, typename Run>
    void run_for(const syntax::For<Statement>& loop, const Run& run) {
        const auto range = range_of(loop.range);
        if (!range) {
            return;
        }
        const int id = ++loop_count_;
        const auto saved = save(loop.variable.text);
        loops_.push_back({id, 0});
        for (int64_t i = range->first; i < range->second && !stopped(); ++i) {
            loops_.back().turn = static_cast<int>(i - range->first);
            set_constant(*frame_, loop.variable.text, integer(i), loop.variable.span);
            run(loop.body);
        }
        loops_.pop_back();
        restore(loop.variable.text, saved);
    }
    template <typename Statement, typename Run>
    void run_if(const syntax::If<Statement>& choice, const Run& run) {
        for (const auto& branch : choice.branches) {
            const auto condition = constant_of(branch.condition, "the condition of `if`");
            if (!condition) {
                return;
            }
            const bool* yes = std::get_if<bool>(&condition->value);
            if (yes == nullptr) {
                sink_.report(diag::WrongType, branch.condition->span, "a condition", describe(*condition));
                return;
            }
            if (*yes) {
                run(branch.body);
                return;
            }
        }
        run(choice.otherwise);
    }
    void run_let(const syntax::Let& let);

private:
    friend class OptimizerRun;

    // expressions.cpp
    Value eval_name(const syntax::NameRef& name, const Span& span);
    Value eval_member(const syntax::Member& member);
    Value eval_unary(const syntax::Unary& unary, const Span& span);
    Value eval_binary(const syntax::Binary& binary, const Span& span);
    Value binary(ExprOp op, std::string_view word, const Value& a, const Value& b, const Span& left, const Span& right,
                 const Span& span);
    Value arithmetic(ExprOp op, std::string_view word, TensorValue a, TensorValue b, const Span& span);
    Value logic(ExprOp op, std::string_view word, TensorValue a, TensorValue b, const Span& left, const Span& right);
    std::optional<Value> fold(ExprOp op, const Constant& a, const Constant& b, const Span& span);
    std::optional<TensorValue> tensor_of(const Value& value, const Span& span);
    bool unify(TensorValue& a, TensorValue& b, std::string_view word, const Span& span);
    bool merge_axes(std::vector<AxisId>& into, const std::vector<AxisId>& more, const Span& span);
    std::optional<std::pair<int64_t, int64_t>> range_of(const syntax::Range& range);

    // indexing.cpp
    Value eval_reduce(const syntax::Reduce& reduce, const Span& span);
    Value eval_index(const syntax::Index& index, const Span& span);
    Value eval_draw(const syntax::Draw& draw, const Span& span);
    Value eval_concat(const syntax::Concat& concat, const Span& span);
    Value draw(DrawKind kind, double parameter, const std::vector<AxisId>& axes);
    struct Selection;
    bool select(const syntax::RenameAxis& entry, const TensorValue& value, Selection& out);
    bool select(const syntax::SplitAxis& entry, const TensorValue& value, Selection& out);
    bool select(const syntax::MergeAxes& entry, const TensorValue& value, Selection& out);
    bool select(const syntax::IndexAt& entry, const TensorValue& value, Selection& out);
    bool select(const syntax::SliceAxis& entry, const TensorValue& value, Selection& out);
    AxisId axis_in(const syntax::Name& name, const TensorValue& value);
    AxisId declare_axis(const std::string& name, int64_t size, const Span& span);
    AxisId sliced_axis(AxisId axis, int64_t size);
    AxisId declared_or_new(const syntax::Name& name, int64_t size, bool size_given);

    // calls.cpp
    Value eval_call(const syntax::Call& call, const Span& span);
    Value call_op(const Found<syntax::Op>& op, const syntax::Call& call, const Span& span);
    Value call_module(const Found<syntax::ModuleDecl>& module, const syntax::Call& call, const Span& span);
    std::optional<std::string> instance_component(const syntax::InstanceName& name);
    Value finish_results(const syntax::Return& statement);
    bool bind_one(const syntax::Parameter& param, const syntax::ExprPtr& arg, Frame& into);
    bool bind_value(const syntax::Parameter& param, Value value, const Span& span, Frame& into);

    // builtins.cpp
    bool is_builtin(const std::string& name) const;
    std::vector<std::string> builtin_names() const;
    Value call_builtin(const std::string& name, const syntax::Call& call, const Span& span);
    Value call_like(const std::string& name, const syntax::Call& call, const Span& span);
    Value cast_to(DType type, const Value& value, const Span& span);
    std::optional<DType> dtype_of(const syntax::Name& name);

    // statements.cpp
    void run(const std::vector<syntax::Statement>& body);
    void run(const syntax::Statement& statement);
    void run_assign(const syntax::Assign& assign, const Span& span);
    Value bind_result(const syntax::Target& target, const std::string& path, Value value, const Span& span);
    void run_block(const syntax::Name& name, const std::optional<syntax::BlockIndex>& index,
                   const std::vector<syntax::Statement>& body, bool pass);
    void run_param(const syntax::Param& param, const Span& span);
    void run_input(const syntax::Input& input, const Span& span);
    void run_dim(const syntax::Dim& dim, const Span& span);
    void run_return(const syntax::Return& statement, const Span& span);
    void run_output(const syntax::Output& output, const Span& span);
    bool allowed(const syntax::Statement& statement);
    std::vector<AxisId> axes_of_names(const std::vector<syntax::Name>& names, std::string_view what);
    Init init_of(const syntax::ExprPtr& expr, std::vector<AxisId>* like);
    void bind(const std::string& name, Value value, const Span& span);

    // emit.cpp
    TensorId emit(TensorValue value, const std::string& path, const Span& span,
                  const std::optional<std::vector<AxisId>>& order = std::nullopt);
    /// Makes a pending value a statement of its own.
    TensorValue settled(TensorValue value, const Span& span);
    TensorValue read(TensorId tensor) const;
    /// The tensor that the value is, whole and in its own order; invalid if it is anything else.
    TensorId whole_tensor(const TensorValue& value) const;
    std::string unique_path(const std::string& path);
    std::string axis_list(const std::vector<AxisId>& axes) const;

    // optimizer.cpp
    void run_minimize(const syntax::Minimize& minimize, const Span& span);
    void run_update(const syntax::Update& update, const Span& span);
    void run_state(const syntax::State& state, const Span& span);
    void run_overrides();
    struct UsedOptimizer;
    void apply_optimizer(const syntax::NamedCall& call, const syntax::Arguments& args, const ParameterInfo& parameter,
                         TensorValue gradient, const Span& span);
    TensorId global_norm(const Span& span);

    bool stopped() const { return frame_->returned.has_value(); }
    std::optional<Binding> save(const std::string& name) const;
    void restore(const std::string& name, const std::optional<Binding>& saved);
    std::string block_text() const;

    const Library& library_;
    Sink& sink_;
    Graph graph_;
    Frame* frame_ = nullptr;

    std::string prefix_;               ///< of task paths: empty, or with a dot at its end
    std::string parameter_prefix_;     ///< of parameter paths
    std::vector<std::string> blocks_;  ///< `layer[3]`, `attn`
    std::string pass_;                 ///< the passes around
    std::string binding_;              ///< the path of the statement that is being built
    std::vector<LoopTurn> loops_;
    int loop_count_ = 0;
    Phase phase_ = Phase::Forward;
    TensorId update_of_;
    std::string reading_; ///< the name that is being bound, to see whether its expression reads it
    bool reads_itself_ = false;

    std::map<std::string, int> path_counts_;
    std::map<std::string, Span> instances_; ///< blocks and module instances by path
    std::map<std::string, size_t> parameter_index_;
    std::vector<ParameterInfo> parameters_;
    std::map<AxisId, AxisId> axis_base_; ///< of slices
    std::map<std::string, AxisId> model_axes_;
    std::vector<std::pair<std::string, std::string>> aliases_;
    std::vector<std::string> passes_;
    std::vector<const void*> active_; ///< declarations being carried out, for recursion
    std::map<std::string, int> draws_;

    const syntax::Minimize* minimize_ = nullptr;
    Span minimize_span_;
    std::vector<std::pair<const syntax::Override*, Span>> overrides_;
    friend struct ModelParts;
};

/// The selector with its indices evaluated in the current frame (selectors.cpp).
std::optional<Selector> evaluate_selector(Elaborator& elaborator, const syntax::Selector& selector);

/// Evaluates the plan's statements (plan_statements.cpp). `frame` has the plan's parameters.
std::optional<Plan> evaluate_plan(Elaborator& elaborator, const Found<syntax::Plan>& found, Frame& frame);

/// Carries out a schedule (schedule_lanes.cpp).
std::optional<Lanes> evaluate_schedule(Elaborator& elaborator, const Found<syntax::Schedule>& found,
                                       const syntax::NamedCall& call, const std::map<std::string, int64_t>& known,
                                       const std::vector<std::string>& unknown);

/// The feeds of the model (feeds.cpp).
std::vector<FeedSpec> evaluate_feeds(Elaborator& elaborator, const std::string& model, const Frame& frame);

} // namespace sspc::elaboration
