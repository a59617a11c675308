// The syntax tree: a file as it was written, every construct with its place. Nothing is resolved or evaluated.
//
// Nodes are values. Expressions are shared and immutable (`ExprPtr`); a null ExprPtr means that the optional part is not written.
#pragma once

#include "ir/support/span.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace sspc::syntax {

struct Name {
    std::string text;
    Span span;
};

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

/// `from..to`, `to` not included.
struct Range {
    ExprPtr from;
    ExprPtr to;
    Span span;
};

/// `e`, `name: e`, `over: a` or `over c: a`.
struct Argument {
    bool over = false; ///< an axis argument; `name` is then the op's name of the axis, if written
    std::optional<Name> name;
    ExprPtr value;
    Span span;
};
using Arguments = std::vector<Argument>;

// ---- expressions ----

struct IntLiteral {
    int64_t value = 0;
};
struct FloatLiteral {
    double value = 0;
};
/// `25 MB`, `40 GiB`
struct SizeLiteral {
    int64_t bytes = 0;
};
struct StringLiteral {
    std::string value; ///< escapes replaced
};
struct BoolLiteral {
    bool value = false;
};
/// `inf`
struct InfLiteral {};
/// A name: a tensor, an axis (its size), a constant, an op, a type. `max` and `min` as functions are names too.
struct NameRef {
    std::string name;
};
/// `r.mask`
struct Member {
    ExprPtr object;
    Name name;
};
/// What follows `as`: `ln`, `layer[l]`.
struct InstanceName {
    Name name;
    std::vector<ExprPtr> index;
    Span span;
};
struct Call {
    ExprPtr callee;
    Arguments args;
    std::optional<InstanceName> as;
};

enum class UnaryOp { Neg, Not };
struct Unary {
    UnaryOp op = UnaryOp::Neg;
    ExprPtr operand;
};

enum class BinaryOp { Add, Sub, Mul, Div, Mod, Pow, ShiftLeft, ShiftRight, Eq, Ne, Lt, Le, Gt, Ge, And, Or };
struct Binary {
    BinaryOp op = BinaryOp::Add;
    ExprPtr left;
    ExprPtr right;
    Span op_span;
};

enum class ReduceKind { Sum, Mean, Max, Min, Prod };
/// `sum[a, b] e`, `sum[*] e`
struct Reduce {
    ReduceKind kind = ReduceKind::Sum;
    bool all = false; ///< `*`; `axes` is then empty
    std::vector<Name> axes;
    ExprPtr operand;
};

/// `seq as kv`
struct RenameAxis {
    Name axis;
    Name to;
};
/// `hd as (two: 2, half)`
struct SplitAxis {
    struct Part {
        Name name;
        ExprPtr size; ///< null: what is left
    };
    Name axis;
    std::vector<Part> parts;
};
/// `(heads, hd) as hidden`
struct MergeAxes {
    std::vector<Name> axes;
    Name to;
};
/// `vocab = e`, `h = e else 0`: a gather where `e` is a tensor, a pick where it is a constant.
struct IndexAt {
    Name axis;
    ExprPtr at;
    ExprPtr otherwise; ///< the value outside the axis
};
/// `seq = 0..4`
struct SliceAxis {
    Name axis;
    Range range;
};
struct IndexEntry {
    std::variant<RenameAxis, SplitAxis, MergeAxes, IndexAt, SliceAxis> kind;
    Span span;
};
/// `object[entries]`
struct Index {
    ExprPtr object;
    std::vector<IndexEntry> entries;
};

/// `uniform[batch, hidden]`, `bernoulli(p)[batch]`: `distribution` is a NameRef or a Call.
struct Draw {
    ExprPtr distribution;
    std::vector<Name> axes;
};
/// `concat[seq](a, b)`
struct Concat {
    Name axis;
    std::vector<ExprPtr> parts;
};
/// `(0.9, 0.95)`; parentheses around one expression leave no trace.
struct Tuple {
    std::vector<ExprPtr> items;
};

struct Expr {
    std::variant<IntLiteral, FloatLiteral, SizeLiteral, StringLiteral, BoolLiteral, InfLiteral, NameRef, Member, Call, Unary, Binary,
                 Reduce, Index, Draw, Concat, Tuple>
        kind;
    Span span;
};

// ---- selectors ----

/// A path pattern: `layer[*].attn.{q,k}`, `grad head`, `comm(update w)`.
struct Selector {
    enum class Of { Tasks, Gradient, Update, Messages, MessagesOfGradient, MessagesOfUpdate };
    struct Component {
        std::vector<std::string> names; ///< alternatives, `{q, k}` and `w{q,k}` expanded; each may have `*` in it. Empty for `**`
        bool any_depth = false;         ///< `**`
        enum class Index { Absent, Any, One, Range } index = Index::Absent;
        ExprPtr first; ///< One: the index. Range: from
        ExprPtr last;  ///< Range: to, not included
        int occurrence = 0; ///< `#2` → 2; 0: all
        Span span;
    };
    Of of = Of::Tasks;
    std::vector<Component> components;
    bool exact = false; ///< `SEL!`
    std::string text;   ///< as written, prefix included
    Span span;
};
using Selectors = std::vector<Selector>; ///< `comm(a, b)` stands as two

// ---- statements that plans, schedules and models share ----

/// `let name = e;`
struct Let {
    Name name;
    ExprPtr value;
};
/// `for i in a..b { … }`
template <typename Statement>
struct For {
    Name variable;
    Range range;
    std::vector<Statement> body;
};
/// `if c { … } else if d { … } else { … }`
template <typename Statement>
struct If {
    struct Branch {
        ExprPtr condition;
        std::vector<Statement> body;
    };
    std::vector<Branch> branches;
    std::vector<Statement> otherwise;
};

// ---- statements of models, modules, ops and optimizers ----

struct Statement;

/// `float[batch, seq]`, `i64`; as the type of a declaration's parameter also `int`, `dim`, `(float, float)`.
struct Type {
    Name name; ///< empty for a tuple
    std::vector<Name> axes;
    std::vector<Type> tuple;
    Span span;
};

/// `x` or `q[batch, heads]`
struct Target {
    Name name;
    std::optional<std::vector<Name>> axes; ///< in the order they are to have
    Span span;
};
/// `x = e;`, `(a, b) = e;`
struct Assign {
    std::vector<Target> targets;
    bool tuple = false;
    ExprPtr value;
};
/// `param w[vocab, hidden] = e;`, `param w: f32[n] = e;`
struct Param {
    Name name;
    std::optional<Name> dtype;
    std::vector<Name> axes;
    ExprPtr init;
};
/// `input tokens: i64[batch, seq];`
struct Input {
    Name name;
    std::optional<Name> dtype;
    std::vector<Name> axes;
};
/// `state m = zeros(p);`, `state m: f32 = …`
struct State {
    Name name;
    std::optional<Name> dtype;
    std::vector<Name> axes;
    ExprPtr init;
};
/// `dim kv = seq;`
struct Dim {
    Name name;
    ExprPtr size;
};
/// `[l in 0..layers]`
struct BlockIndex {
    Name variable;
    Range range;
};
struct Block {
    Name name;
    std::optional<BlockIndex> index;
    std::vector<Statement> body;
};
struct Pass {
    Name name;
    std::optional<BlockIndex> index;
    std::vector<Statement> body;
};
/// `return e, f;`, `return mask: a, weight: b;`
struct Return {
    struct Result {
        std::optional<Name> name;
        ExprPtr value;
    };
    std::vector<Result> results;
};
/// `adamw(lr: 1e-3)`
struct NamedCall {
    Name name;
    Arguments args;
    Span span;
};
/// `minimize loss using adamw(…), clip_norm: 1.0;`
struct Minimize {
    ExprPtr loss;
    NamedCall optimizer;
    ExprPtr clip_norm;
};
/// `override adamw(weight_decay: 0) for **.b*;`
struct Override {
    NamedCall optimizer;
    Selectors only;
};
/// `update w using adam(e, lr: 1e-3);`
struct Update {
    Name parameter;
    NamedCall optimizer;
};
/// `output e;`
struct Output {
    ExprPtr value;
};
struct Statement {
    std::variant<Assign, Param, Input, State, Dim, Let, Block, Pass, For<Statement>, If<Statement>, Return, Minimize, Override, Update,
                 Output>
        kind;
    Span span;
};

// ---- plan statements ----

struct PlanStatement;

/// `dp`, or `g.dp` where several meshes have an axis of this name.
struct MeshAxisRef {
    std::optional<Name> mesh;
    Name axis;
    Span span;
};
/// `use other_plan(args);`
struct UsePlan {
    NamedCall plan;
};
/// `mesh g[pp: 2, dp] at e;`
struct Mesh {
    struct Axis {
        Name name;
        ExprPtr size; ///< null: the plan's parameter of this name
    };
    Name name;
    std::vector<Axis> axes;
    ExprPtr at;
};
/// `shard heads, ffn over tp cuts [3, 5];`, `shard optimizer over dp flat;`
struct Shard {
    enum class What { Axes, Params, Grads, Optimizer };
    What what = What::Axes;
    std::vector<Name> axes; ///< What::Axes
    MeshAxisRef over;
    std::vector<ExprPtr> cuts;
    bool flat = false;
};
/// `split batch into micro;`
struct Split {
    Name axis;
    ExprPtr parts;
};
struct Recompute {
    Selectors tasks;
};
/// `offload SEL to host;`
struct Offload {
    Selectors tasks;
    Name to;
};
/// `precision compute bf16, params f32;`
struct Precision {
    struct Entry {
        Name what;
        Name dtype;
    };
    std::vector<Entry> entries;
};
/// `stages embed, layer[*], head over pp chunks 2 loop balance by time;`
struct Stages {
    enum class Order { Loop, Fold };
    Selectors items;
    MeshAxisRef over;
    ExprPtr chunks;
    std::optional<Order> order;
    std::optional<Name> balance; ///< `time`, `flops`, `params`, `memory`
    std::vector<ExprPtr> cuts;
};
/// `g[pp = 0, tp = *]`
struct Placement {
    struct Coordinate {
        Name axis;
        bool all = false; ///< `*`
        ExprPtr first;    ///< the coordinate, or the start of a range
        ExprPtr last;     ///< the end of a range, not included; null: one coordinate
    };
    Name mesh;
    std::vector<Coordinate> coordinates;
    Span span;
};
/// `stage SEL on g[pp = 0];`
struct Stage {
    Selectors tasks;
    Placement on;
};
/// `place SEL on g[pp = 0, tp = *];`
struct Place {
    Selectors tasks;
    Placement on;
};
/// `schedule one_f_one_b;`, `schedule csv("file.csv");`, `schedule auto(minimize: time);`
struct UseSchedule {
    NamedCall schedule;
};
/// `order A before B;`
struct Order {
    Selectors first;
    Selectors second;
};
/// `lower comm(SEL) as reduce_scatter + all_gather;`
struct Lower {
    Selectors messages;
    std::vector<NamedCall> steps;
};
/// `fuse A, B;`
struct Fuse {
    Selectors tasks;
};
/// `overlap A with B in 4 chunks;`, `overlap A, B in 8 chunks;`
struct Overlap {
    Selectors first;
    Selectors second; ///< after `with`; may be empty
    ExprPtr chunks;
};
/// `bucket grads by 25 MB;`
struct Bucket {
    Name what;
    ExprPtr size;
};
/// `prefetch params of layer[*] by 1;`
struct Prefetch {
    Name what;
    Selectors of;
    ExprPtr by;
};
/// `keep gathered SEL;`
struct KeepGathered {
    Selectors tasks;
};
/// `ring kv over cp;`
struct Ring {
    Name axis;
    MeshAxisRef over;
};
/// `output z whole;`
struct OutputWhole {
    Selectors outputs;
};
struct PlanStatement {
    std::variant<UsePlan, Mesh, Shard, Split, Recompute, Offload, Precision, Stages, Stage, Place, UseSchedule, Order, Lower, Fuse,
                 Overlap, Bucket, Prefetch, KeepGathered, Ring, OutputWhole, Let, For<PlanStatement>, If<PlanStatement>>
        kind;
    Selectors only; ///< `for SEL, SEL`; empty: everything
    Span span;
};

// ---- schedule statements ----

struct ScheduleStatement;

/// `lane s in 0..stages { … }`
struct Lane {
    Name variable;
    Range range;
    std::vector<ScheduleStatement> body;
};
/// `F(s, m);`, or blocks that may interleave, `F(a, m) & B(b, n);`
struct RunBlocks {
    std::vector<NamedCall> blocks; ///< at least one
};
struct ScheduleStatement {
    std::variant<Lane, RunBlocks, Let, For<ScheduleStatement>, If<ScheduleStatement>> kind;
    Span span;
};

// ---- declarations ----

/// `x`, `over c`, `eps: float = 1e-5`
struct Parameter {
    Name name;
    bool over = false; ///< an axis
    std::optional<Type> type;
    ExprPtr initial; ///< the default
    Span span;
};

/// What declarations have in common. `doc` is the `///` lines before it, joined by newlines.
struct Declaration {
    std::string doc;
    Name name;
    std::vector<Parameter> params;
    Span span; ///< the whole declaration
};

/// `import std.nn;`, `import "gpt.ssp";`
struct Import {
    std::vector<Name> path; ///< `std`, `nn`; empty for a file
    std::string file;
    Span span;
};
struct Op : Declaration {
    std::vector<Statement> body;
};
/// `grad name(x, g, dy) { … }`: `name` is the op's.
struct Gradient : Declaration {
    std::vector<Statement> body;
};
struct ModuleDecl : Declaration {
    std::vector<Statement> body;
};
struct Optimizer : Declaration {
    std::vector<Statement> body;
};
struct Model : Declaration {
    std::vector<Statement> body;
};
struct Schedule : Declaration {
    std::vector<ScheduleStatement> body;
};
struct Plan : Declaration {
    bool is_default = false;
    NamedCall model; ///< `for gpt(layers: 8)`
    std::vector<PlanStatement> body;
};
/// `data kjv = text("data/kjv.txt");`
struct Data : Declaration {
    ExprPtr source;
};
/// `feed gpt.tokens, gpt.labels from next_token(kjv) rows batch;` (`name` and `params` are not used)
struct Feed : Declaration {
    std::vector<std::vector<Name>> inputs; ///< dotted paths
    ExprPtr source;
    std::optional<Name> rows;
};

/// One file. Each list is in the order of the text.
struct Module {
    FileId file;
    std::vector<Import> imports;
    std::vector<Op> ops;
    std::vector<Gradient> gradients;
    std::vector<ModuleDecl> modules;
    std::vector<Optimizer> optimizers;
    std::vector<Model> models;
    std::vector<Schedule> schedules;
    std::vector<Plan> plans;
    std::vector<Data> datas;
    std::vector<Feed> feeds;
};

} // namespace sspc::syntax
