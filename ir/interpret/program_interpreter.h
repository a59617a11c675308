// Carries out device programs on numbers, in double: every device of every class, one instruction after another.
//
// Slow and plain on purpose: it knows regions and instructions, and nothing of the passes that made the program. Memory that nothing has written is
// NaN; reading a freed buffer, an element outside a device's part, or a message that was not sent is an error.
#pragma once

#include "ir/interpret/evaluate_statement.h"
#include "ir/interpret/moves.h"
#include "ir/program/program.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sspc {

/// Whole tensors, row-major, by path.
using WholeTensors = std::map<std::string, std::vector<double>>;

class ProgramInterpreter {
public:
    explicit ProgramInterpreter(const Program& program);

    /// Gives parameters and states their whole values (all of Program::stored, copies included).
    void store(const WholeTensors& values);
    /// One training step. Returns what went wrong, or nothing.
    std::optional<std::string> run_step(int64_t step, uint64_t seed, const WholeTensors& inputs);
    /// After a step: the results (loss, `grad_norm`, gradients, outputs), whole, by tensor path. An entry of `errors` for each that has no
    /// single value (replicas differ, elements missing).
    WholeTensors results(std::vector<std::string>& errors) const;
    /// Parameters and states; copies on other stages must agree with the home.
    WholeTensors stored(std::vector<std::string>& errors) const;

private:
    struct Key {
        BufferId buffer;
        int micro; ///< -1 for Persistent and Step buffers
        friend auto operator<=>(const Key&, const Key&) = default;
    };
    /// Where a class stands in its order.
    struct Runner {
        size_t step = 0;        ///< in Class::order
        size_t instruction = 0; ///< in the block that runs
        size_t post = 0;
    };
    using Locals = std::vector<LocalTensor>; ///< one for each device of the class

    const Buffer& buffer(int stage, BufferId id) const { return program_.classes[stage].buffers[id]; }
    Key key(int stage, BufferId id, int micro) const;
    Box box_of(int stage, size_t device, BufferId id, int micro) const;
    Locals& make(int stage, BufferId id, int micro);
    Locals& get(int stage, BufferId id, int micro);
    bool advance(int stage);
    bool run(int stage, const Instruction& instruction, int micro);
    void compute(int stage, const Compute& compute, int micro);
    void check_parts(int stage, const Compute& compute, const Evaluation& evaluation) const;
    void clear_chunk(const Compute& compute, const Evaluation& evaluation, LocalTensor& out) const;
    bool post(int stage, const Post& post);
    bool is_joint(const Communicate& message) const;
    void communicate(const Communicate& message, const std::vector<int>& stages, int micro);
    std::vector<int64_t> sizes_of(const std::vector<AxisId>& axes) const;
    std::vector<double> whole(int stage, BufferId id, std::vector<std::string>& errors) const;

    const Program& program_;
    std::vector<std::vector<std::vector<int>>> coordinates_; ///< [stage][device of the class] mesh coordinates
    std::vector<std::map<Key, Locals>> memory_; ///< [stage]
    std::vector<Runner> runners_;
    std::map<std::pair<MessageId, int>, Locals> mailbox_;
    const WholeTensors* inputs_ = nullptr;
    int64_t step_ = 1;
    uint64_t seed_ = 0;
};

} // namespace sspc
