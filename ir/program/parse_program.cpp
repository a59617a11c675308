// Reads the `.sspd` text: header, classes, buffers, results. Instructions are in parse_instruction.cpp.
#include "ir/program/parse_program.h"

#include "ir/program/sspd_parser.h"

#include <charconv>
#include <limits>

namespace sspc {

namespace sspd {

namespace {

constexpr int64_t largest = std::numeric_limits<int64_t>::max() / 4;
constexpr int64_t largest_int = 1 << 30;

std::string found_text(const Token& token) {
    switch (token.kind) {
    case Token::Kind::End:
        return "the end of the file";
    case Token::Kind::Bad:
        return "text that has no meaning here";
    case Token::Kind::Buffer:
        return "`%" + token.text + "`";
    default:
        return "`" + token.text + "`";
    }
}

} // namespace

void Parser::fail(const std::string& expected) { fail_at(peek(), expected); }

void Parser::fail_at(const Token& token, const std::string& expected) {
    if (!failed_) {
        failed_ = true;
        sink_.report(diag::Unexpected, Span{file_, token.begin, token.end}, expected, found_text(token));
    }
    at_ = tokens_.size() - 1;
}

bool Parser::is_sign(std::string_view sign, size_t ahead) const {
    return peek(ahead).kind == Token::Kind::Sign && peek(ahead).text == sign;
}
bool Parser::is_word(std::string_view word, size_t ahead) const {
    return peek(ahead).kind == Token::Kind::Name && !peek(ahead).quoted && peek(ahead).text == word;
}
bool Parser::accept_sign(std::string_view sign) {
    const bool here = is_sign(sign);
    at_ += here ? 1 : 0;
    return here;
}
bool Parser::accept_word(std::string_view word) {
    const bool here = is_word(word);
    at_ += here ? 1 : 0;
    return here;
}
void Parser::expect_sign(std::string_view sign) {
    if (!accept_sign(sign)) {
        fail("`" + std::string(sign) + "`");
    }
}
void Parser::expect_word(std::string_view word) {
    if (!accept_word(word)) {
        fail("`" + std::string(word) + "`");
    }
}

std::string Parser::name(std::string_view what) {
    if (peek().kind != Token::Kind::Name) {
        fail(std::string(what));
        return "";
    }
    return tokens_[at_++].text;
}

int64_t Parser::integer(int64_t least, int64_t most) {
    const bool negative = least < 0 && accept_sign("-");
    const Token token = peek();
    int64_t value = 0;
    const char* end = token.text.data() + token.text.size();
    if (token.kind == Token::Kind::Number) {
        const auto result = std::from_chars(token.text.data(), end, value);
        value = negative ? -value : value;
        if (result.ec == std::errc() && result.ptr == end && value >= least && value <= most) {
            ++at_;
            return value;
        }
    }
    fail(format("an integer from {0} to {1}", least, most));
    return least;
}

double Parser::number() {
    const bool negative = accept_sign("-");
    double value = 0;
    if (accept_word("inf")) {
        value = std::numeric_limits<double>::infinity();
    } else if (accept_word("nan")) {
        value = std::numeric_limits<double>::quiet_NaN();
    } else if (peek().kind == Token::Kind::Number) {
        const std::string& text = tokens_[at_++].text;
        const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
        if (result.ec != std::errc()) {
            --at_;
            fail("a number that fits f64");
        }
    } else {
        fail("a number");
    }
    return negative ? -value : value;
}

void Parser::list(std::string_view close, const std::function<void()>& item) {
    if (accept_sign(close)) {
        return;
    }
    do {
        item();
    } while (!failed_ && accept_sign(","));
    expect_sign(close);
}

AxisId Parser::axis() {
    const Token token = peek();
    const std::string text = name("an axis");
    const auto found = axes_.find(text);
    if (failed_ || found == axes_.end()) {
        fail_at(token, "an axis of the program");
        return {};
    }
    return found->second;
}

int Parser::mesh_axis() {
    const Token token = peek();
    const auto found = find_axis(program_.mesh, name("a mesh axis"));
    if (failed_ || !found) {
        fail_at(token, "an axis of the mesh");
        return 0;
    }
    return *found;
}

BufferId Parser::buffer() {
    const Token token = peek();
    if (token.kind == Token::Kind::Buffer && !buffers_.empty()) {
        const auto found = buffers_.back().find(token.text);
        if (found != buffers_.back().end()) {
            ++at_;
            return found->second;
        }
    }
    fail_at(token, "a buffer of the class");
    return {};
}

BufferId Parser::buffer_of_stage(int64_t stage) {
    const Token token = peek();
    for (size_t i = 0; i < program_.classes.size(); ++i) {
        if (program_.classes[i].stage == stage && token.kind == Token::Kind::Buffer) {
            const auto found = buffers_[i].find(token.text);
            if (found != buffers_[i].end()) {
                ++at_;
                return found->second;
            }
            break;
        }
    }
    fail_at(token, "a buffer of the stage's class");
    return {};
}

MessageId Parser::message() {
    const Token token = peek();
    const auto found = messages_.find(name("a message"));
    if (failed_ || found == messages_.end()) {
        fail_at(token, "a message of the program");
        return {};
    }
    return found->second;
}

Layout Parser::layout() {
    Layout placements(program_.mesh.axes.size());
    expect_sign("{");
    list("}", [&] {
        const int at = mesh_axis();
        expect_sign(":");
        if (accept_word("S")) {
            expect_sign("(");
            const AxisId id = axis();
            expect_sign(")");
            if (!failed_) {
                placements[static_cast<size_t>(at)] = Placement::sharded(id);
            }
        } else if (accept_word("P")) {
            expect_sign("(");
            const Reduce reduction = one_of(reductions);
            expect_sign(")");
            if (!failed_) {
                placements[static_cast<size_t>(at)] = Placement::partial(reduction);
            }
        } else {
            fail("`S(…)` or `P(…)`");
        }
    });
    return placements;
}

Cut Parser::cut() {
    Cut cuts(program_.mesh.axes.size());
    expect_sign("{");
    list("}", [&] {
        const int at = mesh_axis();
        expect_sign(":");
        const AxisId id = axis();
        if (!failed_) {
            cuts[static_cast<size_t>(at)] = id;
        }
    });
    return cuts;
}

std::optional<Chunk> Parser::chunk() {
    if (!accept_word("chunk")) {
        return std::nullopt;
    }
    Chunk part;
    part.index = static_cast<int>(integer(0, largest_int));
    expect_word("of");
    part.count = static_cast<int>(integer(1, largest_int));
    expect_word("along");
    part.axis = axis();
    return part;
}

void Parser::header() {
    expect_word("sspd");
    integer(1, 1);
    expect_word("model");
    program_.model = name("the model's name");
    expect_word("plan");
    program_.plan = name("the plan's name");
    expect_word("mesh");
    program_.mesh.name = name("the mesh's name");
    expect_sign("[");
    list("]", [&] {
        MeshAxis a;
        const Token token = peek();
        a.name = name("a mesh axis");
        if (find_axis(program_.mesh, a.name)) {
            fail_at(token, "a mesh axis that was not named before");
        }
        expect_sign(":");
        a.size = static_cast<int>(integer(1, 1 << 24));
        a.role = one_of(roles);
        program_.mesh.axes.push_back(a);
    });
}

void Parser::parse_axes() {
    const bool is_split = accept_word("split");
    const Token split_token = peek();
    const std::string split = is_split ? name("an axis") : "";
    expect_word("axes");
    while (!failed_ && !(is_word("messages") && !is_sign(":", 1))) {
        const Token token = peek();
        Axis a;
        a.name = name("an axis, or `messages`");
        expect_sign(":");
        a.size = integer(0, largest);
        if (failed_) {
            return;
        }
        const AxisId id = program_.axes.push_back(a);
        if (!axes_.emplace(a.name, id).second) {
            fail_at(token, "an axis that was not named before");
        }
    }
    if (is_split && !failed_) {
        if (axes_.count(split) == 0) {
            fail_at(split_token, "an axis of the program");
            return;
        }
        program_.split = axes_[split];
    }
}

void Parser::parse_messages() {
    expect_word("messages");
    while (!failed_ && !is_word("class") && !is_word("results")) {
        const Token token = peek();
        Message m;
        m.name = name("a message, `class` or `results`");
        m.phase = one_of(phases);
        m.from_stage = static_cast<int>(integer(0, largest_int));
        expect_sign("->");
        m.to_stage = static_cast<int>(integer(0, largest_int));
        expect_word("tensor");
        m.tensor = name("a tensor's path");
        expect_word("bytes");
        m.bytes = integer(0, largest);
        m.each_micro = !accept_word("once");
        if (m.each_micro) {
            expect_word("each_micro");
        }
        if (failed_) {
            return;
        }
        const MessageId id = program_.messages.push_back(m);
        if (!messages_.emplace(m.name, id).second) {
            fail_at(token, "a message that was not named before");
        }
    }
}

void Parser::parse_buffer() {
    const Token token = peek();
    Buffer b;
    b.name = token.text;
    ++at_;
    expect_sign("=");
    b.tensor = name("a tensor's path");
    b.dtype = one_of(types);
    expect_sign("[");
    list("]", [&] { b.axes.push_back(axis()); });
    b.layout = layout();
    b.life = one_of(lives);
    b.space = one_of(spaces);
    expect_word("at");
    b.offset = integer(0, largest);
    expect_word("bytes");
    b.bytes = integer(0, largest);
    if (failed_) {
        return;
    }
    const BufferId id = class_->buffers.push_back(b);
    if (!buffers_.back().emplace(b.name, id).second) {
        fail_at(token, "a buffer that was not named before");
    }
}

void Parser::parse_class() {
    expect_word("class");
    expect_word("stage");
    program_.classes.emplace_back();
    buffers_.emplace_back();
    class_ = &program_.classes.back();
    class_->stage = static_cast<int>(integer(0, largest_int));
    expect_word("memory");
    expect_word("static");
    class_->static_bytes = integer(0, largest);
    expect_word("scratch");
    class_->scratch_bytes = integer(0, largest);
    expect_word("frame");
    class_->frame_bytes = integer(0, largest);
    expect_word("frames");
    class_->frames = static_cast<int>(integer(0, largest_int));
    expect_word("slots");
    expect_sign("[");
    list("]", [&] { class_->slots.push_back(static_cast<int>(integer(-1, largest_int))); });
    expect_word("events");
    class_->events = static_cast<int>(integer(0, largest_int));
    expect_word("buffers");
    while (!failed_ && peek().kind == Token::Kind::Buffer) {
        parse_buffer();
    }
    while (!failed_ && is_word("block")) {
        parse_block();
    }
    expect_word("order");
    while (!failed_) {
        std::optional<OrderStep> step = order_step();
        if (!step) {
            break;
        }
        class_->order.push_back(std::move(*step));
    }
}

void Parser::parse_block() {
    expect_word("block");
    Block block;
    const Token token = peek();
    block.name = name("the block's name");
    for (const Block& other : class_->blocks) {
        if (other.name == block.name) {
            fail_at(token, "a block that was not named before");
        }
    }
    block.kind = one_of(blocks);
    expect_word("stage");
    block.stage = static_cast<int>(integer(0, largest_int));
    while (!failed_) {
        std::optional<Instruction> next = instruction();
        if (!next) {
            break;
        }
        block.instructions.push_back(std::move(*next));
    }
    class_->blocks.push_back(std::move(block));
}

void Parser::parse_results() {
    expect_word("results");
    while (!failed_ && !is_word("stored")) {
        Program::Result r;
        r.what = one_of(results);
        r.tensor = name("a tensor's path");
        expect_word("stage");
        r.stage = static_cast<int>(integer(0, largest_int));
        r.buffer = buffer_of_stage(r.stage);
        program_.results.push_back(r);
    }
}

void Parser::parse_stored() {
    expect_word("stored");
    while (!failed_ && !is_word("end")) {
        Program::Stored s;
        s.kind = one_of(tensor_kinds);
        s.tensor = name("a tensor's path");
        s.init.kind = one_of(inits);
        expect_sign("(");
        s.init.a = number();
        expect_sign(",");
        s.init.b = number();
        expect_sign(")");
        expect_word("stage");
        s.stage = static_cast<int>(integer(0, largest_int));
        s.buffer = buffer_of_stage(s.stage);
        while (accept_word("copy")) {
            Program::Stored::Replica copy{};
            expect_word("stage");
            copy.stage = static_cast<int>(integer(0, largest_int));
            copy.buffer = buffer_of_stage(copy.stage);
            s.copies.push_back(copy);
        }
        program_.stored.push_back(s);
    }
}

std::optional<Program> Parser::parse() {
    header();
    parse_axes();
    parse_messages();
    while (!failed_ && is_word("class")) {
        parse_class();
    }
    parse_results();
    parse_stored();
    expect_word("end");
    if (!failed_ && peek().kind != Token::Kind::End) {
        fail("the end of the file");
    }
    if (failed_) {
        return std::nullopt;
    }
    return std::move(program_);
}

} // namespace sspd

std::optional<Program> parse_program(FileId file, std::string_view text, Sink& sink) {
    return sspd::Parser(file, text, sink).parse();
}

} // namespace sspc
