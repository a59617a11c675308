// What a buffer holds at a point of the program: the abstract value that the checker computes with.
#pragma once

#include "ir/check/reference.h"

#include <memory>
#include <optional>
#include <vector>

namespace sspc::check {

/// Chunks of a value that are there so far; none of the others may be read.
struct Pending {
    AxisId axis;
    int count = 1;
    std::vector<bool> done;
    friend bool operator==(const Pending&, const Pending&) = default;
};

struct Content {
    enum class State {
        Nothing,  ///< not written in this step (or in this micro-batch)
        Identity, ///< the identity of a sum: 0 everywhere
        Value,    ///< `tensor` in `layout`
    };
    State state = State::Nothing;
    TensorId tensor;
    Layout layout;
    /// The terms of some micro-batches only: complete after the loop.
    bool accumulating = false;
    std::optional<Pending> pending;
    /// Of a value that is Partial over stages: which terms of its statement this stage has.
    std::vector<bool> terms;

    friend bool operator==(const Content&, const Content&) = default;
    bool is_value() const { return state == State::Value; }
    bool is_nothing() const { return state == State::Nothing; }
    static Content value(TensorId tensor, Layout layout) {
        Content content;
        content.state = State::Value;
        content.tensor = tensor;
        content.layout = std::move(layout);
        return content;
    }
};

/// Something between devices of different stages, met while a class was interpreted; looked at when all classes are known.
struct StageCollective {
    size_t class_index = 0;
    MoveKind kind = MoveKind::AllReduce;
    std::vector<int> mesh_axes;
    std::vector<TensorId> tensors;
    std::vector<Layout> layouts; ///< from
    std::vector<std::vector<bool>> terms;
    std::string where;
    Span span;
};
/// One end of a message.
struct MessageEnd {
    bool seen = false;
    TensorId tensor;
    Layout layout;
};

/// What is left after a step on one class, and what it assumed of the others.
struct Outcome {
    IdVector<BufferId, Content> contents;
    std::vector<StageCollective> collectives; ///< in order
    IdVector<MessageId, MessageEnd> sent;
    IdVector<MessageId, MessageEnd> received;
};

/// Interprets one class through a step and reports every read, write and move that is wrong.
Outcome interpret_class(const Checked& checked, size_t class_index, Sink& sink);

} // namespace sspc::check
