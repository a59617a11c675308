// Seeded mutants of device programs.
#include "tests/mutation/mutate.h"

#include "ir/support/format.h"

#include <algorithm>
#include <array>
#include <functional>

namespace sspc::mutation {

namespace {

constexpr std::array<std::string_view, static_cast<size_t>(Kind::Count)> names = {
    "drop",          "duplicate",     "swap neighbours", "swap across wait", "wrong peer",        "wrong group",
    "wrong layout",  "wrong reduction", "wrong collective", "missing event", "early free",      "operand exchanged",
    "constant changed", "early reducer", "wrong cut",     "skipped fill",     "changed micro",    "moved buffer",
    "wrong frame"};

/// A place in the program: an instruction of a block (`block >= 0`) or a step of a class's order.
struct Place {
    size_t in_class = 0;
    int block = -1;
    size_t at = 0;
};

class Mutator {
public:
    Mutator(const Program& program, std::mt19937_64& random) : mutant_{program, Kind::Drop, ""}, random_(random) {}

    std::optional<Mutant> run(Kind kind) {
        mutant_.kind = kind;
        const bool done = apply(kind);
        return done ? std::optional(std::move(mutant_)) : std::nullopt;
    }

private:
    Program& program() { return mutant_.program; }
    size_t pick(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random_); }
    std::vector<Instruction>& code(const Place& p) {
        return program().classes[p.in_class].blocks[static_cast<size_t>(p.block)].instructions;
    }
    std::vector<OrderStep>& order(const Place& p) { return program().classes[p.in_class].order; }
    Instruction& instruction(const Place& p) { return code(p)[p.at]; }
    std::string at(const Place& p) {
        const Class& c = program().classes[p.in_class];
        return format("class {0}, {1} number {2}", p.in_class,
                      p.block < 0 ? "order" : c.blocks[static_cast<size_t>(p.block)].name, p.at);
    }

    std::vector<Place> instructions(const std::function<bool(const Instruction&)>& keep) {
        std::vector<Place> found;
        for (size_t c = 0; c < program().classes.size(); ++c) {
            const auto& blocks = program().classes[c].blocks;
            for (size_t b = 0; b < blocks.size(); ++b) {
                for (size_t i = 0; i < blocks[b].instructions.size(); ++i) {
                    if (keep(blocks[b].instructions[i])) {
                        found.push_back({c, static_cast<int>(b), i});
                    }
                }
            }
        }
        return found;
    }
    std::vector<Place> steps(const std::function<bool(const OrderStep&)>& keep) {
        std::vector<Place> found;
        for (size_t c = 0; c < program().classes.size(); ++c) {
            for (size_t i = 0; i < program().classes[c].order.size(); ++i) {
                if (keep(program().classes[c].order[i])) {
                    found.push_back({c, -1, i});
                }
            }
        }
        return found;
    }
    static bool any(const Instruction&) { return true; }
    static bool any_step(const OrderStep&) { return true; }
    template <typename T>
    std::vector<Place> all_of() {
        return instructions([](const Instruction& i) { return std::holds_alternative<T>(i); });
    }
    std::vector<Place> everywhere() {
        std::vector<Place> found = instructions(any);
        const std::vector<Place> more = steps(any_step);
        found.insert(found.end(), more.begin(), more.end());
        return found;
    }
    std::optional<Place> choose(const std::vector<Place>& places) {
        if (places.empty()) {
            return std::nullopt;
        }
        const Place p = places[pick(places.size())];
        mutant_.what = at(p);
        return p;
    }

    AxisId other_axis(AxisId axis, bool or_none) {
        const size_t count = program().axes.size();
        AxisId chosen = axis;
        for (int tries = 0; tries < 20 && chosen == axis; ++tries) {
            const size_t n = pick(count + (or_none ? 1 : 0));
            chosen = n < count ? AxisId(n) : AxisId();
        }
        return chosen;
    }
    bool change(Placement& p, const std::vector<AxisId>& axes) {
        std::vector<Placement> others;
        for (const Placement& q : {Placement::replicated(), Placement::partial(Reduce::Sum)}) {
            others.push_back(q);
        }
        for (const AxisId axis : axes) {
            others.push_back(Placement::sharded(axis));
        }
        std::erase(others, p);
        if (others.empty()) {
            return false;
        }
        p = others[pick(others.size())];
        return true;
    }

    template <typename List>
    static void erase(List& list, size_t at) {
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
    }
    template <typename List>
    static void move(List& list, size_t from, size_t to) {
        auto item = list[from];
        erase(list, from);
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(to), item);
    }

    bool drop(const std::optional<Place>& p) {
        if (p && p->block >= 0) {
            erase(code(*p), p->at);
        } else if (p) {
            erase(order(*p), p->at);
        }
        return p.has_value();
    }
    bool swap_next(const Place& p) {
        if (p.block >= 0 && p.at + 1 < code(p).size()) {
            std::swap(code(p)[p.at], code(p)[p.at + 1]);
            return true;
        }
        if (p.block < 0 && p.at + 1 < order(p).size()) {
            std::swap(order(p)[p.at], order(p)[p.at + 1]);
            return true;
        }
        return false;
    }

    bool apply(Kind kind) {
        switch (kind) {
        case Kind::Drop:
            return drop(choose(everywhere()));
        case Kind::Duplicate:
            return duplicate();
        case Kind::SwapNeighbours: {
            const auto p = choose(everywhere());
            return p && swap_next(*p);
        }
        case Kind::SwapAcrossWait:
            return swap_across_wait();
        case Kind::WrongPeer:
            return wrong_peer();
        case Kind::WrongGroup:
            return wrong_group();
        case Kind::WrongLayout:
            return wrong_layout();
        case Kind::WrongReduction:
            return wrong_reduction();
        case Kind::WrongCollective: {
            const auto p = choose(all_of<Communicate>());
            if (!p) {
                return false;
            }
            auto& c = std::get<Communicate>(instruction(*p));
            c.kind = static_cast<MoveKind>((static_cast<size_t>(c.kind) + 1 + pick(6)) % 7);
            return true;
        }
        case Kind::MissingEvent:
            return missing_event();
        case Kind::EarlyFree:
            return early_free();
        case Kind::OperandExchanged:
            return operand_exchanged();
        case Kind::ConstantChanged:
            return constant_changed();
        case Kind::EarlyReducer:
            return early_reducer();
        case Kind::WrongCut: {
            const auto p = choose(all_of<Compute>());
            if (!p) {
                return false;
            }
            auto& c = std::get<Compute>(instruction(*p));
            const size_t m = pick(c.cut.size());
            c.cut[m] = other_axis(c.cut[m], true);
            return true;
        }
        case Kind::SkippedFill:
            return drop(choose(all_of<Fill>()));
        case Kind::ChangedMicro:
            return changed_micro();
        case Kind::MovedBuffer:
            return moved_buffer();
        case Kind::WrongFrame: {
            Class& c = program().classes[pick(program().classes.size())];
            if (c.slots.size() < 2 || c.frames < 2) {
                return false;
            }
            int& slot = c.slots[pick(c.slots.size())];
            slot = static_cast<int>((static_cast<size_t>(slot) + 1 + pick(static_cast<size_t>(c.frames) - 1)) % static_cast<size_t>(c.frames));
            mutant_.what = "a slot";
            return true;
        }
        case Kind::Count:
            break;
        }
        return false;
    }

    bool duplicate() {
        const auto p = choose(everywhere());
        if (!p) {
            return false;
        }
        if (p->block >= 0) {
            const Instruction copy = instruction(*p);
            code(*p).insert(code(*p).begin() + static_cast<std::ptrdiff_t>(p->at), copy);
        } else {
            const OrderStep copy = order(*p)[p->at];
            order(*p).insert(order(*p).begin() + static_cast<std::ptrdiff_t>(p->at), copy);
        }
        return true;
    }

    bool swap_across_wait() {
        auto places = instructions([](const Instruction& i) { return std::holds_alternative<Wait>(i) || std::holds_alternative<Record>(i); });
        const auto more = steps([](const OrderStep& s) { return std::holds_alternative<Wait>(s) || std::holds_alternative<Record>(s); });
        places.insert(places.end(), more.begin(), more.end());
        auto p = choose(places);
        if (!p) {
            return false;
        }
        const bool is_record = p->block >= 0 ? std::holds_alternative<Record>(instruction(*p)) : std::holds_alternative<Record>(order(*p)[p->at]);
        if (is_record && p->at == 0) {
            return false;
        }
        p->at -= is_record ? 1 : 0;
        return swap_next(*p);
    }

    bool wrong_peer() {
        if (program().messages.empty()) {
            return false;
        }
        if (pick(2) == 0) {
            const MessageId id(pick(program().messages.size()));
            Message& m = program().messages[id];
            int& stage = pick(2) == 0 ? m.from_stage : m.to_stage;
            stage = static_cast<int>((static_cast<size_t>(stage) + 1) % program().classes.size());
            mutant_.what = "message " + m.name;
            return true;
        }
        const auto p = choose(steps([](const OrderStep& s) { return std::holds_alternative<Posts>(s); }));
        if (!p || program().messages.size() < 2) {
            return false;
        }
        auto& posts = std::get<Posts>(order(*p)[p->at]).posts;
        if (posts.empty()) {
            return false;
        }
        Post& post = posts[pick(posts.size())];
        post.message = MessageId((static_cast<size_t>(post.message.value) + 1 + pick(program().messages.size() - 1)) % program().messages.size());
        return true;
    }

    bool wrong_group() {
        const auto p = choose(all_of<Communicate>());
        if (!p || program().mesh.axes.size() < 3) {
            return false;
        }
        auto& axes = std::get<Communicate>(instruction(*p)).mesh_axes;
        const int axis = static_cast<int>(1 + pick(program().mesh.axes.size() - 1));
        const auto found = std::find(axes.begin(), axes.end(), axis);
        if (found != axes.end()) {
            axes.erase(found);
        } else if (pick(2) == 0) {
            axes.push_back(axis);
            std::sort(axes.begin(), axes.end());
        } else {
            axes = {axis};
        }
        return true;
    }

    bool wrong_layout() {
        const auto p = choose(all_of<Communicate>());
        if (p && pick(2) == 0) {
            auto& c = std::get<Communicate>(instruction(*p));
            auto& part = c.parts[pick(c.parts.size())];
            Layout& layout = pick(2) == 0 ? part.from_layout : part.to_layout;
            return change(layout[pick(layout.size())], program().classes[p->in_class].buffers[part.from].axes);
        }
        Class& c = program().classes[pick(program().classes.size())];
        Buffer& b = c.buffers[BufferId(pick(c.buffers.size()))];
        mutant_.what = "buffer " + b.name;
        return change(b.layout[pick(b.layout.size())], b.axes);
    }

    bool wrong_reduction() {
        const auto p = choose(instructions([](const Instruction& i) {
            const auto* c = std::get_if<Compute>(&i);
            return (c != nullptr && c->reduce != Reduce::None) || std::holds_alternative<Communicate>(i);
        }));
        if (!p) {
            return false;
        }
        if (auto* c = std::get_if<Compute>(&instruction(*p))) {
            if (pick(3) == 0 && c->reduced.size() > 1) {
                c->reduced.pop_back();
            } else {
                c->reduce = c->reduce == Reduce::Sum ? Reduce::Max : Reduce::Sum;
            }
            return true;
        }
        for (auto& part : std::get<Communicate>(instruction(*p)).parts) {
            for (Placement& q : part.from_layout) {
                if (q.is_partial()) {
                    q.reduction = q.reduction == Reduce::Sum ? Reduce::Max : Reduce::Sum;
                    return true;
                }
            }
        }
        return false;
    }

    bool missing_event() {
        auto places = instructions([](const Instruction& i) { return std::holds_alternative<Wait>(i) || std::holds_alternative<Record>(i); });
        const auto more = steps([](const OrderStep& s) { return std::holds_alternative<Wait>(s) || std::holds_alternative<Record>(s); });
        places.insert(places.end(), more.begin(), more.end());
        return drop(choose(places));
    }

    bool early_free() {
        auto places = all_of<Free>();
        const auto more = steps([](const OrderStep& s) { return std::holds_alternative<FreeInstance>(s); });
        places.insert(places.end(), more.begin(), more.end());
        const auto p = choose(places);
        if (!p || p->at == 0) {
            return false;
        }
        const size_t to = p->at - 1 - pick(std::min<size_t>(p->at, 8));
        if (p->block >= 0) {
            move(code(*p), p->at, to);
        } else {
            move(order(*p), p->at, to);
        }
        return true;
    }

    bool operand_exchanged() {
        const auto p = choose(instructions([](const Instruction& i) {
            const auto* c = std::get_if<Compute>(&i);
            return c != nullptr && !c->reads.empty();
        }));
        if (!p) {
            return false;
        }
        auto& c = std::get<Compute>(instruction(*p));
        const size_t slot = pick(c.reads.size());
        if (c.reads.size() > 1 && pick(2) == 0) {
            std::swap(c.reads[slot], c.reads[(slot + 1) % c.reads.size()]);
            return true;
        }
        const auto& buffers = program().classes[p->in_class].buffers;
        std::vector<BufferId> alike;
        for (const BufferId id : buffers.ids()) {
            const Buffer& mine = buffers[c.reads[slot]];
            if (id != c.reads[slot] && buffers[id].axes.size() == mine.axes.size() && buffers[id].dtype == mine.dtype) {
                alike.push_back(id);
            }
        }
        if (alike.empty()) {
            return false;
        }
        c.reads[slot] = alike[pick(alike.size())];
        return true;
    }

    bool constant_changed() {
        const auto constants = [](const Compute& c) {
            size_t count = 0;
            for_each(c.body, [&](const Expr& e) { count += e.op == ExprOp::Constant ? 1 : 0; });
            return count;
        };
        const auto p = choose(instructions([&](const Instruction& i) {
            const auto* c = std::get_if<Compute>(&i);
            return c != nullptr && constants(*c) > 0;
        }));
        if (!p) {
            return false;
        }
        auto& c = std::get<Compute>(instruction(*p));
        size_t left = pick(constants(c));
        c.body = with_constant(c.body, left);
        return true;
    }
    static ExprPtr with_constant(const ExprPtr& e, size_t& left) {
        if (!e) {
            return e;
        }
        auto copy = std::make_shared<Expr>(*e);
        for (ExprPtr& arg : copy->args) {
            arg = with_constant(arg, left);
        }
        copy->otherwise = with_constant(copy->otherwise, left);
        if (copy->op == ExprOp::Constant && left-- == 0) {
            copy->number += 1;
        }
        return copy;
    }

    bool early_reducer() {
        if (pick(2) == 0) {
            // The whole finish block before an earlier step.
            std::vector<Place> places = steps([](const OrderStep& s) { return std::holds_alternative<RunBlock>(s); });
            std::erase_if(places, [&](const Place& p) {
                const Class& c = program().classes[p.in_class];
                const auto& run = std::get<RunBlock>(c.order[p.at]);
                return c.blocks[static_cast<size_t>(run.block)].kind != Block::Kind::Finish;
            });
            const auto p = choose(places);
            if (!p || p->at == 0) {
                return false;
            }
            const auto& list = order(*p);
            std::vector<size_t> earlier;
            for (size_t i = 0; i < p->at; ++i) {
                if (std::holds_alternative<RunBlock>(list[i])) {
                    earlier.push_back(i);
                }
            }
            if (earlier.empty()) {
                return false;
            }
            move(order(*p), p->at, earlier[pick(earlier.size())]);
            return true;
        }
        // One of its collectives into the last block of the loop.
        std::vector<Place> places = all_of<Communicate>();
        std::erase_if(places, [&](const Place& p) {
            return program().classes[p.in_class].blocks[static_cast<size_t>(p.block)].kind != Block::Kind::Finish;
        });
        const auto p = choose(places);
        if (!p || p->block == 0) {
            return false;
        }
        const Instruction moved = instruction(*p);
        erase(code(*p), p->at);
        program().classes[p->in_class].blocks[static_cast<size_t>(p->block) - 1].instructions.push_back(moved);
        return true;
    }

    bool changed_micro() {
        const auto micros = static_cast<size_t>(micro_count(program()));
        const auto p = choose(steps([](const OrderStep& s) {
            return std::holds_alternative<RunBlock>(s) || std::holds_alternative<Posts>(s) || std::holds_alternative<AllocateInstance>(s) ||
                   std::holds_alternative<FreeInstance>(s);
        }));
        if (!p || micros < 2) {
            return false;
        }
        OrderStep& step = order(*p)[p->at];
        int* micro = nullptr;
        if (auto* run = std::get_if<RunBlock>(&step)) {
            micro = &run->micro;
        } else if (auto* posts = std::get_if<Posts>(&step)) {
            if (posts->posts.empty()) {
                return false;
            }
            micro = &posts->posts[pick(posts->posts.size())].micro;
        } else if (auto* made = std::get_if<AllocateInstance>(&step)) {
            micro = &made->micro;
        } else if (auto* gone = std::get_if<FreeInstance>(&step)) {
            micro = &gone->micro;
        }
        *micro = *micro < 0 ? 0 : static_cast<int>((static_cast<size_t>(*micro) + 1 + pick(micros - 1)) % micros);
        return true;
    }

    bool moved_buffer() {
        Class& c = program().classes[pick(program().classes.size())];
        Buffer& b = c.buffers[BufferId(pick(c.buffers.size()))];
        mutant_.what = "buffer " + b.name;
        switch (pick(3)) {
        case 0:
            b.offset += 256;
            return true;
        case 1:
            b.offset -= 256;
            return b.offset >= 0;
        default:
            b.bytes /= 2;
            return b.bytes > 0;
        }
    }

    Mutant mutant_;
    std::mt19937_64& random_;
};

} // namespace

std::string_view name_of(Kind kind) { return names[static_cast<size_t>(kind)]; }

std::optional<Mutant> mutate(const Program& program, Kind kind, std::mt19937_64& random) {
    return Mutator(program, random).run(kind);
}

} // namespace sspc::mutation
