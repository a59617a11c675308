// The abstract state of one class: what each buffer holds, and what each instruction makes of it.
#pragma once

#include "ir/check/content.h"
#include "ir/check/live_memory.h"
#include "ir/check/rules.h"
#include "ir/support/sink.h"

#include <map>

namespace sspc::check {

class ClassState {
public:
    ClassState(const Checked& checked, size_t class_index, Outcome& outcome, Sink& sink);

    enum class Region { BeforeLoop, Loop, AfterLoop };
    void set_region(Region region) { region_ = region; }

    void run_block(const Block& block);
    void post(const Post& post);
    void allocate(BufferId id);
    void free(BufferId id);
    /// What messages say of steps of the order.
    void set_place(std::string place);

    /// After the last micro-batch: accumulators are complete, values of single micro-batches are gone.
    void leave_loop();
    /// Names what this class still has allocated of one micro-batch or of the step.
    void expect_freed(Life life, const std::string& after);

    IdVector<BufferId, Content> contents;
    LiveMemory memory;

private:
    void run(const Instruction& instruction);
    void compute(const Compute& c);
    void communicate(const Communicate& c);
    void load(const Load& x);
    void fill(const Fill& x);
    void copy(const Copy& x);

    /// The value in a buffer, if it may be read as a whole, or in the chunk that `same_chunk` names; reports and returns null otherwise.
    const Content* read(BufferId id, const std::optional<Chunk>& same_chunk);
    /// Puts a value into a buffer; reports what is wrong with that.
    void write(BufferId id, Content value, const std::optional<Chunk>& chunk, bool accumulate);
    bool usable(BufferId id);
    std::string where() const;
    /// The tensor that a value written to this buffer must be: the buffer's, or what its parameter becomes.
    TensorId written_tensor(const Buffer& buffer) const;
    TensorId tensor_in(BufferId id) const;
    /// What is not the statement's, or empty. `terms`: of a sum over stages, those that this stage adds.
    std::string mismatch(const Compute& c, const Statement& statement, std::vector<bool>& terms) const;
    std::optional<Chunk> chunk_of_operand(const Compute& c, int slot) const;
    bool good_in_place(const Compute& c) const;
    void report(const RuleError& error, const Compute& c, const std::vector<Operand>& operands);
    std::string move_problem(const Communicate& c, const Communicate::Part& part);

    const Checked& checked_;
    const Class& class_;
    size_t class_index_;
    Outcome& outcome_;
    Sink& sink_;
    Region region_ = Region::BeforeLoop;
    const Instruction* at_ = nullptr;
    std::string place_;
    Span span_;
    std::string block_;
    int kernel_ = -1;
    std::vector<BufferId> registers_; ///< written in the running kernel
    std::map<std::vector<int64_t>, std::string> moves_; ///< move_rule's answers
    IdVector<BufferId, char> accumulates_; ///< some instruction adds to it
};

} // namespace sspc::check
