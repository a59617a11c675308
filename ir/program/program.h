// The device program: what each class of devices does in one training step, instruction by instruction.
//
// Devices of one pipeline stage form a class and run one program, parametric in their mesh coordinates. A block (`F`, `B`, …) is
// written once and run once for each micro-batch; `Class::order` says when. Names: docs/architecture.md, glossary.
#pragma once

#include "ir/collective/move.h"
#include "ir/graph/graph.h"
#include "ir/mesh/layout.h"
#include "ir/plan/plan.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace sspc {

struct BufferTag;
using BufferId = Id<BufferTag>;
struct MessageTag;
using MessageId = Id<MessageTag>;
struct EventTag;
using EventId = Id<EventTag>;

/// How long a buffer's contents live.
enum class Life {
    Persistent, ///< parameters and optimizer states: across steps
    Step,       ///< one instance a step: accumulators, gradients, everything of the update
    Micro,      ///< one instance a micro-batch: activations and their gradients
};

/// Where a buffer lies. Offsets are bytes, multiples of 256, sized for the largest part any device of the class holds.
enum class Space {
    Static,   ///< at `offset` of the static arena (Persistent and Step buffers)
    Frame,    ///< Micro buffers that outlive the block that writes them: at `offset` of frame `Class::slots[micro]`
    Scratch,  ///< Micro or Step buffers used within one block execution: at `offset` of the scratch arena
    Register, ///< never stored: lives inside one fused kernel
};

struct Buffer {
    std::string name;   ///< unique in the class: the tensor's path, with `@2`, `@3` for further layouts or copies
    std::string tensor; ///< the graph tensor's path
    std::vector<AxisId> axes;
    DType dtype = DType::F32;
    Layout layout; ///< over all axes of Program::mesh; Stage: Replicated (or Partial, then each stage's class has a term of it)
    Life life = Life::Micro;
    Space space = Space::Scratch;
    int64_t offset = 0;
    int64_t bytes = 0; ///< of the largest part
};

enum class Stream { Compute, Communication };

/// A part of an instruction's work: part `index` of `count` of the local interval of `axis` (overlap in chunks).
struct Chunk {
    AxisId axis;
    int index = 0;
    int count = 1;
    friend bool operator==(const Chunk&, const Chunk&) = default;
};

/// For each mesh axis the axis of the statement that it cuts, or invalid.
using Cut = std::vector<AxisId>;

/// Carries out one statement on the local part given by `cut`.
struct Compute {
    std::string path; ///< the statement's path; with `phase` and `out`'s tensor it names the graph's statement
    Phase phase = Phase::Forward;
    Cut cut;
    std::vector<BufferId> reads; ///< Access::slot indexes this
    BufferId out;
    Reduce reduce = Reduce::None;
    std::vector<AxisId> reduced;
    ExprPtr body;
    std::vector<ExprPtr> scatter;
    bool accumulate = false; ///< adds to `out` instead of setting it (sums over micro-batches)
    std::optional<Chunk> chunk;
    int kernel = -1; ///< consecutive computes of one number run as one kernel
    Span span;       ///< the model's statement
};
/// A collective or local move along `mesh_axes`, of several tensors at once (a bucket).
struct Communicate {
    struct Part {
        BufferId from;
        BufferId to;
        Layout from_layout; ///< the layout of `from` as read (its Micro placement completed if all parts were accumulated)
        Layout to_layout;
    };
    MoveKind kind = MoveKind::AllReduce;
    std::vector<int> mesh_axes;
    std::vector<Part> parts;
    Phase phase = Phase::Forward;
    /// Adds to `to` instead of setting it (gradients that are reduced in each micro-batch: `shard grads`).
    bool accumulate = false;
    int64_t bytes = 0; ///< received by the busiest device, all parts together
    std::optional<Chunk> chunk;
    Span span;       ///< the plan's statement that made it necessary
    Span model_span; ///< the model's statement that produces the (first) tensor
};
/// Fills an input's buffer with the local part of this step's (and micro-batch's) data.
struct Load {
    BufferId out;
};
/// Conventions.
///  - Micro buffers, and Step buffers used only in one block, have an Allocate before their first write and a Free after their last use
///    (AllocateInstance / FreeInstance in the order for received and sent ones); Step buffers without Allocate live the whole step.
///  - A Step buffer that computes accumulate into has the Micro placement Partial(Sum); after the last micro-batch it is read as Replicated there.
///    With one micro-batch, nothing is accumulated and the Micro placement (an axis of size 1) is Replicated.
///  - An update may be written straight into the persistent buffer of its target (`out` is that buffer), if nothing later reads the old value.
///  - A sum over all parameters (the gradient norm) runs on every stage: each class's Compute has the terms of its own stage only, in the
///    statement's order, and `out` is Partial(Sum) over the Stage axis (and over each mesh axis along which some term is).

/// Sets a buffer to a reduction's identity (accumulators, before the first micro-batch).
struct Fill {
    BufferId out;
    double value = 0;
};
struct Allocate {
    BufferId buffer;
};
struct Free {
    BufferId buffer;
};
/// Marks the point that `stream` has reached.
struct Record {
    EventId event;
    Stream stream = Stream::Compute;
};
/// `stream` goes on only after `event`.
struct Wait {
    EventId event;
    Stream stream = Stream::Compute;
};
/// Copies between buffers of equal layout (an updated parameter into its persistent place).
struct Copy {
    BufferId from;
    BufferId to;
};

using Instruction = std::variant<Compute, Communicate, Load, Fill, Copy, Allocate, Free, Record, Wait>;

struct Block {
    enum class Kind { Start, Forward, Backward, InputGradient, WeightGradient, Finish };
    Kind kind = Kind::Forward;
    std::string name; ///< `start`, `F0`, `B0`, `finish`; the number is the stage
    int stage = 0;
    std::vector<Instruction> instructions;
};

/// A value sent from one stage to another, between devices of equal coordinates on the other mesh axes.
struct Message {
    std::string name;   ///< unique: the tensor's path, with `>2` for the receiving stage
    std::string tensor;
    Phase phase = Phase::Forward;
    int from_stage = 0;
    int to_stage = 0;
    int64_t bytes = 0; ///< received by the busiest device, each time
    bool each_micro = true; ///< once for each micro-batch, or once a step
    Span span;
};

/// One end of a message.
struct Post {
    enum class Kind { Send, Receive };
    Kind kind = Kind::Send;
    MessageId message;
    BufferId buffer;
    int micro = -1; ///< -1 if the message goes once a step
};

/// Steps of a class's order. `micro` is -1 where it does not apply.
struct RunBlock {
    int block = 0; ///< index into Class::blocks
    int micro = -1;
};
/// Posts on the communication stream, in this order; `grouped`: all are posted before any must complete.
struct Posts {
    std::vector<Post> posts;
    bool grouped = false;
};
struct AllocateInstance {
    BufferId buffer;
    int micro = -1;
};
struct FreeInstance {
    BufferId buffer;
    int micro = -1;
};
/// Record and Wait at this level name events of their own (`Class::events` counts both kinds).
using OrderStep = std::variant<RunBlock, Posts, AllocateInstance, FreeInstance, Record, Wait>;

struct Class {
    int stage = 0; ///< coordinate on the mesh's Stage axis; 0 if there is none
    IdVector<BufferId, Buffer> buffers;
    std::vector<Block> blocks;
    std::vector<OrderStep> order;
    int events = 0;

    std::vector<int> slots; ///< for each micro-batch its frame
    int frames = 0;
    int64_t frame_bytes = 0;
    int64_t static_bytes = 0;
    int64_t scratch_bytes = 0;
};

struct Program {
    std::string model;
    std::string plan;
    Mesh mesh;     ///< with the Micro axis first (size 1 where nothing is split)
    AxisId split;  ///< the axis cut into micro-batches; invalid if none
    IdVector<AxisId, Axis> axes;
    IdVector<MessageId, Message> messages;
    std::vector<Class> classes; ///< one a stage, in order

    /// A result that the launcher reads after a step.
    struct Result {
        std::string tensor;
        int stage = 0;
        BufferId buffer;
        enum class What { Loss, GradNorm, Output, Gradient } what = What::Output;
    };
    std::vector<Result> results;

    /// A parameter or state: where it is stored and how it begins.
    struct Stored {
        std::string tensor;
        TensorKind kind = TensorKind::Parameter;
        Init init;
        int stage = 0;   ///< the home: the class that saves it; other classes may hold copies
        BufferId buffer; ///< in the home's class
        struct Replica {
            int stage;
            BufferId buffer;
        };
        std::vector<Replica> copies; ///< on other stages (tied parameters), filled when weights are loaded
    };
    std::vector<Stored> stored;
};

int micro_count(const Program& program);
/// Bytes that a class's devices need: static, frames and scratch.
int64_t peak_bytes(const Class& device_class);

/// The `.sspd` text; `parse_program` reads it back to an equal program.
std::string print_program(const Program& program);

} // namespace sspc
