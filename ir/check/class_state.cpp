// The abstract state of one class: reading, writing, allocating, and the instructions but Compute and Communicate.
#include "ir/check/class_state.h"

#include "ir/check/describe.h"
#include "ir/support/format.h"
#include "ir/support/match.h"

#include <algorithm>

namespace sspc::check {

ClassState::ClassState(const Checked& checked, size_t class_index, Outcome& outcome, Sink& sink)
    : contents(checked.program.classes[class_index].buffers.size()), memory(checked.program.classes[class_index]),
      checked_(checked), class_(checked.program.classes[class_index]), class_index_(class_index), outcome_(outcome),
      sink_(sink), accumulates_(class_.buffers.size(), 0) {
    for (const BufferId id : class_.buffers.ids()) {
        const Buffer& buffer = class_.buffers[id];
        if (buffer.life == Life::Persistent) {
            contents[id] = Content::value(checked_.reference.find(buffer.tensor), buffer.layout);
        }
    }
    for (const Block& block : class_.blocks) {
        for (const Instruction& instruction : block.instructions) {
            if (const auto* c = std::get_if<Compute>(&instruction)) {
                accumulates_[c->out] = accumulates_[c->out] || c->accumulate;
            } else if (const auto* m = std::get_if<Communicate>(&instruction)) {
                for (const Communicate::Part& part : m->parts) {
                    accumulates_[part.to] = accumulates_[part.to] || m->accumulate;
                }
            }
        }
    }
    if (const auto overlap = memory.fixed_overlap()) {
        sink_.report(diag::MemoryOverlap, Span{}, describe_devices(checked_, class_), class_.buffers[overlap->first].name,
                     class_.buffers[overlap->second].name);
    }
}

std::string ClassState::where() const {
    const std::string devices = describe_devices(checked_, class_);
    return at_ != nullptr ? format("`{0}` in block `{1}` on {2}", describe(class_, *at_), block_, devices)
                          : format("{0} on {1}", place_, devices);
}

void ClassState::set_place(std::string place) {
    place_ = std::move(place);
    at_ = nullptr;
    span_ = Span{};
}

TensorId ClassState::written_tensor(const Buffer& buffer) const {
    const TensorId named = checked_.reference.find(buffer.tensor);
    return buffer.life == Life::Persistent ? checked_.reference.updated[named] : named;
}

TensorId ClassState::tensor_in(BufferId id) const {
    return contents[id].is_value() ? contents[id].tensor : checked_.reference.find(class_.buffers[id].tensor);
}

bool ClassState::usable(BufferId id) {
    if (memory.is_allocated(id)) {
        return true;
    }
    sink_.report(diag::NotAllocated, span_, where(), class_.buffers[id].name, "before it is allocated or after it is freed");
    return false;
}

const Content* ClassState::read(BufferId id, const std::optional<Chunk>& same_chunk) {
    const Buffer& buffer = class_.buffers[id];
    if (!usable(id)) {
        return nullptr;
    }
    const Content& content = contents[id];
    if (content.is_nothing()) {
        sink_.report(diag::NobodyProduced, span_, where(), buffer.name, "which nothing produced before");
        return nullptr;
    }
    if (content.accumulating) {
        sink_.report(diag::NobodyProduced, span_, where(), buffer.name, "which is complete only after the last micro-batch");
        return nullptr;
    }
    if (content.pending) {
        const Pending& pending = *content.pending;
        const bool there = same_chunk && same_chunk->axis == pending.axis && same_chunk->count == pending.count &&
                           pending.done[static_cast<size_t>(same_chunk->index)];
        if (!there) {
            sink_.report(diag::NobodyProduced, span_, where(), buffer.name, "of which only some chunks are there");
            return nullptr;
        }
    }
    return &content;
}

void ClassState::write(BufferId id, Content value, const std::optional<Chunk>& chunk, bool accumulate) {
    const Buffer& buffer = class_.buffers[id];
    Content& content = contents[id];
    if (!usable(id)) {
        return;
    }
    const auto micro = static_cast<size_t>(checked_.micro_axis);
    if (region_ != Region::Loop && !value.layout[micro].is_replicated()) {
        sink_.report(diag::WrongAccumulation, span_, where(),
                     format("`{0}` is a part of a micro-batch, and this runs once a step", buffer.name));
        return;
    }
    if (region_ == Region::Loop && buffer.life == Life::Persistent) {
        sink_.report(diag::WrongAccumulation, span_, where(),
                     format("`{0}` lasts over steps, and each micro-batch would change it", buffer.name));
        return;
    }
    if (accumulate && (region_ != Region::Loop || buffer.life != Life::Step)) {
        sink_.report(diag::WrongAccumulation, span_, where(),
                     format("`{0}` is no accumulator over the micro-batches", buffer.name));
        return;
    }
    if (accumulate && checked_.micros > 1 && value.layout[micro] != Placement::partial(Reduce::Sum)) {
        sink_.report(diag::WrongAccumulation, span_, where(),
                     format("`{0}` is no term of a sum over the micro-batches, and would count {1} times", buffer.name,
                            checked_.micros));
        return;
    }
    if (buffer.life == Life::Step && region_ == Region::Loop && !accumulate && !value.layout[micro].is_replicated()) {
        sink_.report(diag::WrongAccumulation, span_, where(),
                     format("each micro-batch replaces `{0}`, a part of one of them, by its own", buffer.name));
        return;
    }
    if (value.layout != buffer.layout) {
        sink_.report(diag::WrongOutLayout, span_, where(), buffer.name, describe(checked_, value.layout),
                     describe(checked_, buffer.layout));
        return;
    }
    const bool joins = chunk && content.is_value() && content.pending && content.pending->axis == chunk->axis &&
                       content.pending->count == chunk->count && content.tensor == value.tensor &&
                       content.accumulating == accumulate && !content.pending->done[static_cast<size_t>(chunk->index)];
    if (joins) {
        content.pending->done[static_cast<size_t>(chunk->index)] = true;
        const auto& done = content.pending->done;
        if (std::find(done.begin(), done.end(), false) == done.end()) {
            content.pending.reset();
        }
        return;
    }
    const TensorId named = checked_.reference.find(buffer.tensor);
    const bool replaces_old = buffer.life == Life::Persistent && content.is_value() && content.tensor == named &&
                              value.tensor != named && !content.pending;
    const bool free_to_write = accumulate ? content.state == Content::State::Identity : content.is_nothing() || replaces_old;
    if (!free_to_write) {
        if (accumulate && content.is_nothing()) {
            sink_.report(diag::WrongAccumulation, span_, where(), format("nothing set `{0}` to 0 in this step", buffer.name));
        } else {
            sink_.report(diag::ProducedTwice, span_, where(), buffer.name, "already holds a value");
        }
        return;
    }
    value.accumulating = accumulate;
    if (chunk && chunk->count > 1) {
        value.pending = Pending{chunk->axis, chunk->count, std::vector<bool>(static_cast<size_t>(chunk->count), false)};
        value.pending->done[static_cast<size_t>(chunk->index)] = true;
    }
    content = std::move(value);
    if (buffer.space == Space::Register) {
        registers_.push_back(id);
    }
}

void ClassState::load(const Load& x) {
    const Buffer& buffer = class_.buffers[x.out];
    const TensorId tensor = checked_.reference.find(buffer.tensor);
    if (checked_.reference.graph.tensors[tensor].kind != TensorKind::Input) {
        sink_.report(diag::NotTheModels, span_, where(), format("`{0}` is no input", buffer.tensor));
        return;
    }
    for (const Placement& p : buffer.layout) {
        if (p.is_partial()) {
            sink_.report(diag::WrongOutLayout, span_, where(), buffer.name, "data", describe(checked_, buffer.layout));
            return;
        }
    }
    write(x.out, Content::value(tensor, buffer.layout), std::nullopt, false);
}

void ClassState::fill(const Fill& x) {
    const Buffer& buffer = class_.buffers[x.out];
    if (!usable(x.out)) {
        return;
    }
    if (x.value != 0) {
        sink_.report(diag::WrongAccumulation, span_, where(), format("`{0}` begins with {1}, which is not 0", buffer.name, x.value));
    } else if (region_ == Region::Loop && buffer.life != Life::Micro) {
        sink_.report(diag::WrongAccumulation, span_, where(),
                     format("each micro-batch would clear what the ones before added to `{0}`", buffer.name));
    } else if (!contents[x.out].is_nothing()) {
        sink_.report(diag::ProducedTwice, span_, where(), buffer.name, "already holds a value");
    } else {
        contents[x.out].state = Content::State::Identity;
    }
}

void ClassState::copy(const Copy& x) {
    const Content* from = read(x.from, std::nullopt);
    if (from == nullptr) {
        return;
    }
    if (!from->is_value()) {
        sink_.report(diag::NobodyProduced, span_, where(), class_.buffers[x.from].name, "which nothing produced before");
        return;
    }
    const Buffer& to = class_.buffers[x.to];
    if (from->tensor != written_tensor(to)) {
        sink_.report(diag::NotTheModels, span_, where(),
                     format("`{0}` holds another tensor than `{1}` must", class_.buffers[x.from].name, to.name));
        return;
    }
    Content value = *from;
    write(x.to, std::move(value), std::nullopt, false);
}

void ClassState::allocate(BufferId id) {
    BufferId other;
    const Buffer& buffer = class_.buffers[id];
    switch (memory.allocate(id, other)) {
    case LiveMemory::Problem::None:
        break;
    case LiveMemory::Problem::NotManaged:
        sink_.report(diag::NotAllocated, span_, where(), buffer.name, "as one to allocate, which it is not");
        break;
    case LiveMemory::Problem::AlreadyThere:
        sink_.report(diag::NotAllocated, span_, where(), buffer.name, "anew, which is allocated");
        break;
    case LiveMemory::Problem::Overlaps:
        sink_.report(diag::MemoryOverlap, span_, where(), buffer.name, class_.buffers[other].name);
        break;
    }
    contents[id] = Content();
}

void ClassState::free(BufferId id) {
    if (!memory.free(id)) {
        sink_.report(diag::NotAllocated, span_, where(), class_.buffers[id].name, "to free it, which is not allocated");
    }
    contents[id] = Content();
}

void ClassState::run(const Instruction& instruction) {
    span_ = span_of(instruction);
    at_ = &instruction;
    const auto* c = std::get_if<Compute>(&instruction);
    const bool lifetime = std::holds_alternative<Allocate>(instruction) || std::holds_alternative<Free>(instruction);
    const int kernel = c != nullptr ? c->kernel : -1;
    if (!lifetime && (kernel != kernel_ || kernel < 0)) {
        for (const BufferId id : registers_) { // a kernel ends, and its registers with it
            contents[id] = Content();
        }
        registers_.clear();
        kernel_ = kernel;
    }
    std::visit(Match{[&](const Compute& x) { compute(x); }, [&](const Communicate& x) { communicate(x); },
                     [&](const Load& x) { load(x); }, [&](const Fill& x) { fill(x); }, [&](const Copy& x) { copy(x); },
                     [&](const Allocate& x) { allocate(x.buffer); }, [&](const Free& x) { free(x.buffer); },
                     [&](const Record&) {}, [&](const Wait&) {}},
               instruction);
}

void ClassState::run_block(const Block& block) {
    block_ = block.name;
    kernel_ = -1;
    for (const Instruction& instruction : block.instructions) {
        run(instruction);
    }
    for (const BufferId id : registers_) {
        contents[id] = Content();
    }
    registers_.clear();
    if (const auto left = memory.find_live([](const Buffer& b) { return b.space == Space::Scratch; })) {
        sink_.report(diag::NeverFreed, Span{}, class_.buffers[*left].name, format("block `{0}`", block.name),
                     describe_devices(checked_, class_));
        memory.free(*left);
    }
}

void ClassState::post(const Post& post) {
    const Message& message = checked_.program.messages[post.message];
    const Buffer& buffer = class_.buffers[post.buffer];
    const bool sends = post.kind == Post::Kind::Send;
    set_place(format("{0} of `{1}`", sends ? "send" : "receive", message.name));
    span_ = message.span;
    registers_.clear();
    if ((sends ? message.from_stage : message.to_stage) != class_.stage) {
        sink_.report(diag::MessageMismatch, span_, message.name,
                     format("stage {0} {1} it, but it goes from stage {2} to stage {3}", class_.stage,
                            sends ? "sends" : "receives", message.from_stage, message.to_stage));
        return;
    }
    const TensorId named = checked_.reference.find(message.tensor);
    const bool new_value = !message.each_micro && checked_.reference.updated[named].valid();
    const TensorId carried = new_value ? checked_.reference.updated[named] : named;
    MessageEnd& end = (sends ? outcome_.sent : outcome_.received)[post.message];
    if (sends) {
        const Content* content = read(post.buffer, std::nullopt);
        if (content == nullptr) {
            return;
        }
        if (!content->is_value() || content->tensor != carried) {
            sink_.report(diag::MessageMismatch, span_, message.name,
                         format("stage {0} sends `{1}`, which does not hold the message's tensor", class_.stage, buffer.name));
            return;
        }
        end = {true, content->tensor, content->layout};
        return;
    }
    if (written_tensor(buffer) != carried) {
        sink_.report(diag::MessageMismatch, span_, message.name,
                     format("stage {0} receives it into `{1}`, which is for another tensor", class_.stage, buffer.name));
        return;
    }
    end = {true, carried, buffer.layout};
    write(post.buffer, Content::value(carried, buffer.layout), std::nullopt, false);
}

void ClassState::leave_loop() {
    const auto micro = static_cast<size_t>(checked_.micro_axis);
    for (const BufferId id : class_.buffers.ids()) {
        Content& content = contents[id];
        if (class_.buffers[id].life == Life::Micro) {
            content = Content();
        } else if (content.accumulating && !content.pending) {
            content.accumulating = false;
            content.layout[micro] = Placement::replicated();
        }
    }
}

void ClassState::expect_freed(Life life, const std::string& after) {
    if (const auto left = memory.find_live([&](const Buffer& b) { return b.life == life; })) {
        sink_.report(diag::NeverFreed, Span{}, class_.buffers[*left].name, after, describe_devices(checked_, class_));
    }
}

} // namespace sspc::check
