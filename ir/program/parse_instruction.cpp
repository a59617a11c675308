// Reads the instructions, order steps and expressions of the `.sspd` text.
#include "ir/program/sspd_parser.h"

#include <algorithm>

namespace sspc::sspd {

namespace {

constexpr int deepest = 200;      ///< nested parentheses
constexpr int longest_chain = 20000; ///< `a + b + …`: a tree that deep is still walked and freed by recursion
constexpr int64_t largest_int = 1 << 30;

ExprPtr node(ExprOp op, DType type, std::vector<ExprPtr> args) {
    auto expr = std::make_shared<Expr>();
    expr->op = op;
    expr->type = type;
    expr->args = std::move(args);
    return expr;
}

} // namespace

std::optional<Instruction> Parser::instruction() {
    if (accept_word("compute")) {
        return compute();
    }
    if (accept_word("communicate")) {
        return communicate();
    }
    if (accept_word("load")) {
        return Load{buffer()};
    }
    if (accept_word("fill")) {
        Fill fill;
        fill.out = buffer();
        expect_word("with");
        fill.value = number();
        return fill;
    }
    if (accept_word("copy")) {
        Copy copy;
        copy.from = buffer();
        expect_sign("->");
        copy.to = buffer();
        return copy;
    }
    if (accept_word("allocate")) {
        return Allocate{buffer()};
    }
    if (accept_word("free")) {
        return Free{buffer()};
    }
    if (accept_word("record")) {
        return record();
    }
    if (accept_word("wait")) {
        return wait();
    }
    if (!is_word("block") && !is_word("order")) {
        fail("an instruction, `block` or `order`");
    }
    return std::nullopt;
}

EventId Parser::event() {
    const Token token = peek();
    const int64_t value = integer(0, largest_int);
    if (!failed_ && value >= class_->events) {
        fail_at(token, format("an event below {0}", class_->events));
    }
    return EventId(static_cast<int32_t>(value));
}

Record Parser::record() {
    Record record;
    record.event = event();
    expect_word("on");
    record.stream = one_of(streams);
    return record;
}

Wait Parser::wait() {
    Wait wait;
    wait.event = event();
    expect_word("on");
    wait.stream = one_of(streams);
    return wait;
}

Compute Parser::compute() {
    Compute c;
    c.path = name("a task's path");
    c.phase = one_of(phases);
    expect_word("cut");
    c.cut = cut();
    c.chunk = chunk();
    if (accept_word("kernel")) {
        c.kernel = static_cast<int>(integer(0, largest_int));
    }
    expect_sign(":");
    c.out = buffer();
    reads_.clear();
    reads_given_ = accept_word("reads");
    if (reads_given_) {
        expect_sign("(");
        list(")", [&] { reads_.push_back(buffer()); });
    }
    if (accept_word("scatter")) {
        expect_sign("(");
        list(")", [&] { c.scatter.push_back(index()); });
    }
    c.accumulate = accept_sign("+=");
    if (!c.accumulate) {
        expect_sign("=");
    }
    const Token& first = peek();
    if (first.kind == Token::Kind::Name && !first.quoted && is_sign("[", 1) && find_word(reductions, first.text)) {
        c.reduce = one_of(reductions);
        expect_sign("[");
        list("]", [&] { c.reduced.push_back(axis()); });
    }
    c.body = expr();
    c.reads = reads_;
    return c;
}

Communicate Parser::communicate() {
    Communicate c;
    c.kind = one_of(moves);
    expect_word("along");
    expect_sign("[");
    list("]", [&] { c.mesh_axes.push_back(mesh_axis()); });
    c.phase = one_of(phases);
    expect_word("bytes");
    c.bytes = integer(0, int64_t{1} << 60);
    c.chunk = chunk();
    expect_sign(":");
    if (peek().kind != Token::Kind::Buffer) {
        return c;
    }
    do {
        Communicate::Part part;
        part.from = buffer();
        part.from_layout = layout();
        const bool adds = is_sign("+>");
        if (!c.parts.empty() && adds != c.accumulate) {
            fail(c.accumulate ? "`+>` as in the parts before" : "`->` as in the parts before");
        }
        c.accumulate = adds;
        expect_sign(adds ? "+>" : "->");
        part.to = buffer();
        part.to_layout = layout();
        c.parts.push_back(std::move(part));
    } while (!failed_ && accept_sign(","));
    return c;
}

int Parser::micro() { return accept_word("micro") ? static_cast<int>(integer(0, largest_int)) : -1; }

std::optional<OrderStep> Parser::order_step() {
    if (accept_word("run")) {
        RunBlock run;
        const Token token = peek();
        const std::string block = name("a block");
        run.block = -1;
        for (size_t i = 0; i < class_->blocks.size(); ++i) {
            run.block = class_->blocks[i].name == block ? static_cast<int>(i) : run.block;
        }
        if (run.block < 0) {
            fail_at(token, "a block of the class");
        }
        run.micro = micro();
        return run;
    }
    if (accept_word("post")) {
        return posts();
    }
    if (accept_word("allocate")) {
        AllocateInstance step;
        step.buffer = buffer();
        step.micro = micro();
        return step;
    }
    if (accept_word("free")) {
        FreeInstance step;
        step.buffer = buffer();
        step.micro = micro();
        return step;
    }
    if (accept_word("record")) {
        return record();
    }
    if (accept_word("wait")) {
        return wait();
    }
    if (!is_word("class") && !is_word("results")) {
        fail("a step of the order, `class` or `results`");
    }
    return std::nullopt;
}

Posts Parser::posts() {
    Posts step;
    step.grouped = accept_word("grouped");
    expect_sign("(");
    list(")", [&] {
        Post post;
        post.kind = accept_word("send") ? Post::Kind::Send : Post::Kind::Receive;
        if (post.kind == Post::Kind::Receive) {
            expect_word("receive");
        }
        post.message = message();
        post.buffer = buffer();
        post.micro = micro();
        step.posts.push_back(post);
    });
    return step;
}

ExprPtr Parser::expr(int level) {
    if (level >= primary_level) {
        return primary();
    }
    ExprPtr left = expr(level + 1);
    for (int length = 0; !failed_; ++length) {
        const Infix* found = nullptr;
        for (const Infix& sign : infix) {
            const bool here = sign.sign == "and" || sign.sign == "or" ? is_word(sign.sign) : is_sign(sign.sign);
            found = here && sign.level == level ? &sign : found;
        }
        if (found == nullptr) {
            break;
        }
        if (length >= longest_chain) {
            fail("a shorter chain of operators");
            break;
        }
        ++at_;
        ExprPtr right = expr(level + 1);
        if (!failed_) {
            const DType type = usual_type(found->op, {left, right});
            left = node(found->op, type, {left, right});
        }
    }
    return left;
}

ExprPtr Parser::primary() {
    if (depth_ >= deepest) {
        if (!failed_) {
            sink_.report(diag::NestedTooDeep, Span{file_, peek().begin, peek().end}, deepest);
            failed_ = true;
        }
        at_ = tokens_.size() - 1;
        return nullptr;
    }
    ++depth_;
    ExprPtr value = untyped_primary();
    --depth_;
    if (!failed_ && is_sign(":")) {
        ++at_;
        auto typed = std::make_shared<Expr>(*value);
        typed->type = one_of(types);
        value = typed;
    }
    return failed_ ? nullptr : value;
}

ExprPtr Parser::untyped_primary() {
    const Token& token = peek();
    if (token.kind == Token::Kind::Number || is_sign("-") || is_word("inf") || is_word("nan") || is_word("true") ||
        is_word("false")) {
        return literal();
    }
    if (token.kind == Token::Kind::Buffer) {
        return access();
    }
    if (accept_sign("(")) {
        ExprPtr inner = expr();
        expect_sign(")");
        return inner;
    }
    return call();
}

ExprPtr Parser::literal() {
    auto value = std::make_shared<Expr>();
    value->op = ExprOp::Constant;
    if (is_word("true") || is_word("false")) {
        value->number = is_word("true") ? 1 : 0;
        value->type = DType::Bool;
        ++at_;
        return value;
    }
    const Token& digits = is_sign("-") ? peek(1) : peek();
    const bool integer = digits.kind == Token::Kind::Number && digits.text.find_first_of(".e") == std::string::npos;
    value->type = integer ? DType::I64 : DType::F32;
    value->number = number();
    return value;
}

ExprPtr Parser::access() {
    const Token token = peek();
    const BufferId id = buffer();
    if (failed_) {
        return nullptr;
    }
    auto value = std::make_shared<Expr>();
    value->op = ExprOp::Access;
    const auto found = std::find(reads_.begin(), reads_.end(), id);
    value->slot = token.slot >= 0 ? token.slot : static_cast<int>(found - reads_.begin());
    if (token.slot < 0 && found == reads_.end() && !reads_given_) {
        reads_.push_back(id);
    }
    if (static_cast<size_t>(value->slot) >= reads_.size() || reads_[static_cast<size_t>(value->slot)] != id) {
        fail_at(token, "a buffer that `reads` lists");
        return nullptr;
    }
    const Buffer& read = class_->buffers[id];
    value->type = read.dtype;
    if (!accept_sign("(")) {
        for (const AxisId axis : read.axes) {
            value->args.push_back(iota(axis));
        }
        return value;
    }
    if (accept_sign(")")) {
        return value;
    }
    if (!is_word("else")) {
        do {
            value->args.push_back(index());
        } while (!failed_ && accept_sign(","));
    }
    if (accept_word("else")) {
        value->otherwise = expr();
    }
    expect_sign(")");
    return value;
}

ExprPtr Parser::index() {
    const bool bare = peek().kind == Token::Kind::Name && (is_sign(",", 1) || is_sign(")", 1) || is_word("else", 1)) &&
                      axes_.count(peek().text) > 0;
    return bare ? iota(axis()) : expr();
}

ExprPtr Parser::call() {
    const Token token = peek();
    const std::string word = token.kind == Token::Kind::Name && !token.quoted ? token.text : "";
    const auto cast_type = find_word(types, word);
    const auto op = find_word(calls, word);
    if (!op && !cast_type) {
        fail("an expression");
        return nullptr;
    }
    ++at_;
    if (op == ExprOp::Step) {
        return node(ExprOp::Step, DType::I64, {});
    }
    expect_sign("(");
    if (op == ExprOp::Random) {
        return draw();
    }
    if (op == ExprOp::Iota) {
        const AxisId id = axis();
        expect_sign(")");
        return failed_ ? nullptr : iota(id);
    }
    std::vector<ExprPtr> args;
    list(")", [&] { args.push_back(expr()); });
    if (failed_) {
        return nullptr;
    }
    const int wanted = cast_type ? 1 : arity(*op);
    if (static_cast<int>(args.size()) != wanted) {
        fail_at(token, format("{0} arguments", wanted));
        return nullptr;
    }
    if (cast_type) {
        return node(ExprOp::Cast, *cast_type, std::move(args));
    }
    const DType type = usual_type(*op, args);
    return node(*op, type, std::move(args));
}

ExprPtr Parser::draw() {
    auto value = std::make_shared<Expr>();
    value->op = ExprOp::Random;
    value->draw = one_of(draws);
    expect_sign(",");
    value->type = one_of(types);
    expect_sign(",");
    value->number = number();
    expect_sign(",");
    value->path = name("the draw's path");
    expect_sign(";");
    list(")", [&] { value->args.push_back(index()); });
    return failed_ ? nullptr : value;
}

} // namespace sspc::sspd
