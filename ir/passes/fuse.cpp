// Groups computes that can run as one kernel: list scheduling of each block, one open kernel at a time.
#include "ir/passes/fuse.h"

#include "ir/passes/instruction_uses.h"
#include "ir/passes/kernel_shape.h"
#include "ir/support/match.h"

#include <algorithm>
#include <map>
#include <set>

namespace sspc {
namespace {

/// More members than this make kernels that are slow to compile and hard to read.
constexpr size_t largest_kernel = 24;

/// For each instruction the earlier ones it must follow.
std::vector<std::vector<int>> dependencies(const Block& block) {
    std::vector<std::vector<int>> before(block.instructions.size());
    std::map<BufferId, int> writer;
    std::map<BufferId, std::vector<int>> readers;
    std::map<BufferId, int> allocated;
    std::map<BufferId, std::vector<int>> used;
    int last_communicate = -1;
    int barrier = -1;
    for (size_t at = 0; at < block.instructions.size(); ++at) {
        const int self = static_cast<int>(at);
        const Instruction& instruction = block.instructions[at];
        std::set<int> edges;
        if (barrier >= 0) {
            edges.insert(barrier);
        }
        const auto touch = [&](BufferId buffer) {
            if (const auto found = allocated.find(buffer); found != allocated.end()) {
                edges.insert(found->second);
            }
            used[buffer].push_back(self);
        };
        if (const auto* allocate = std::get_if<Allocate>(&instruction)) {
            allocated[allocate->buffer] = self;
        } else if (const auto* free = std::get_if<Free>(&instruction)) {
            touch(free->buffer);
            for (const int user : used[free->buffer]) {
                edges.insert(user);
            }
            edges.erase(self);
        } else if (std::holds_alternative<Record>(instruction) ||
                   std::holds_alternative<Wait>(instruction)) {
            for (int i = 0; i < self; ++i) {
                edges.insert(i);
            }
            barrier = self;
        } else {
            const Uses uses = uses_of(instruction);
            for (const BufferId buffer : uses.reads) {
                touch(buffer);
                if (const auto found = writer.find(buffer); found != writer.end()) {
                    edges.insert(found->second);
                }
            }
            for (const BufferId buffer : uses.writes) {
                touch(buffer);
                if (const auto found = writer.find(buffer); found != writer.end()) {
                    edges.insert(found->second);
                }
                for (const int reader : readers[buffer]) {
                    edges.insert(reader);
                }
            }
            for (const BufferId buffer : uses.writes) {
                writer[buffer] = self;
                readers[buffer].clear();
            }
            for (const BufferId buffer : uses.reads) {
                readers[buffer].push_back(self);
            }
            if (std::holds_alternative<Communicate>(instruction)) {
                if (last_communicate >= 0) {
                    edges.insert(last_communicate);
                }
                last_communicate = self;
            }
        }
        edges.erase(self);
        before[at].assign(edges.begin(), edges.end());
    }
    return before;
}

bool shares_buffer(const std::vector<const Compute*>& group, const Compute& next) {
    const auto touches = [](const Compute& compute, BufferId buffer) {
        return compute.out == buffer ||
               std::find(compute.reads.begin(), compute.reads.end(), buffer) != compute.reads.end();
    };
    return std::any_of(group.begin(), group.end(), [&](const Compute* member) {
        return touches(*member, next.out) ||
               std::any_of(next.reads.begin(), next.reads.end(),
                           [&](BufferId read) { return touches(*member, read); });
    });
}

class Scheduler {
public:
    Scheduler(const Program& program, const Class& device_class, Block& block, int& kernels)
        : program_(program), class_(device_class), block_(block), kernels_(kernels),
          before_(dependencies(block)), done_(block.instructions.size(), false) {}

    void run() {
        const size_t count = block_.instructions.size();
        for (size_t at = 0; at < count; ++at) {
            if (done_[at] || is<Free>(at) || (is<Allocate>(at) && !unused(at))) {
                continue; // placed with their users
            }
            place(at);
        }
        for (size_t at = 0; at < count; ++at) {
            if (!done_[at]) {
                emit(at);
            }
        }
        block_.instructions = std::move(result_);
    }

private:
    template <typename T>
    bool is(size_t at) const {
        return std::holds_alternative<T>(block_.instructions[at]);
    }

    /// An Allocate whose buffer no instruction of this block uses stays where it is.
    bool unused(size_t at) const {
        for (size_t later = at + 1; later < before_.size(); ++later) {
            if (!is<Free>(later) &&
                std::binary_search(before_[later].begin(), before_[later].end(), static_cast<int>(at))) {
                return false;
            }
        }
        return true;
    }

    /// All it must follow is done, Allocates apart (those come along).
    bool ready(size_t at) const {
        return std::all_of(before_[at].begin(), before_[at].end(), [&](int earlier) {
            const auto index = static_cast<size_t>(earlier);
            return done_[index] || is<Allocate>(index);
        });
    }

    void emit(size_t at) {
        for (const int earlier : before_[at]) {
            if (!done_[static_cast<size_t>(earlier)]) {
                emit(static_cast<size_t>(earlier));
            }
        }
        done_[at] = true;
        result_.push_back(block_.instructions[at]);
    }

    void emit_ready_frees() {
        for (size_t at = 0; at < before_.size(); ++at) {
            if (is<Free>(at) && !done_[at] && ready(at)) {
                emit(at);
            }
        }
    }

    void place(size_t at) {
        const auto* compute = std::get_if<Compute>(&block_.instructions[at]);
        if (!compute) {
            emit(at);
            emit_ready_frees();
            return;
        }
        std::vector<size_t> members = {at};
        std::vector<const Compute*> group = {compute};
        done_[at] = true;
        grow(members, group);
        // Allocates of all members first: the computes of a kernel are consecutive.
        for (const size_t member : members) {
            for (const int earlier : before_[member]) {
                if (!done_[static_cast<size_t>(earlier)]) {
                    emit(static_cast<size_t>(earlier));
                }
            }
        }
        const int number = kernels_++;
        for (const size_t member : members) {
            std::get<Compute>(block_.instructions[member]).kernel = number;
            result_.push_back(block_.instructions[member]);
        }
        emit_ready_frees();
    }

    void grow(std::vector<size_t>& members, std::vector<const Compute*>& group) {
        bool grown = true;
        while (grown && members.size() < largest_kernel) {
            grown = false;
            for (size_t next = members.front() + 1; next < before_.size(); ++next) {
                const auto* compute = std::get_if<Compute>(&block_.instructions[next]);
                if (done_[next] || !compute || !ready(next) || !shares_buffer(group, *compute)) {
                    continue;
                }
                group.push_back(compute);
                if (common_shape(program_, class_, group)) {
                    members.push_back(next);
                    done_[next] = true;
                    grown = true;
                    break;
                }
                group.pop_back();
            }
        }
    }

    const Program& program_;
    const Class& class_;
    Block& block_;
    int& kernels_;
    std::vector<std::vector<int>> before_;
    std::vector<bool> done_;
    std::vector<Instruction> result_;
};

bool may_be_register(const Class& device_class, const Compute& compute) {
    const KernelForm form = shape_of(device_class, compute).form;
    return !compute.accumulate && !compute.chunk &&
           (form == KernelForm::Elementwise || form == KernelForm::Rows);
}

/// Buffers that something other than computes of one kernel uses, or that more than one kernel uses, must be in memory.
void find_registers(const Program& program, Class& device_class, int stage) {
    constexpr int nobody = -1;
    constexpr int memory = -2;
    IdVector<BufferId, int> kernel(device_class.buffers.size(), nobody);
    const auto use = [&](BufferId buffer, int by) {
        int& owner = kernel[buffer];
        owner = owner == nobody || owner == by ? by : memory;
    };
    for (const Block& block : device_class.blocks) {
        for (const Instruction& instruction : block.instructions) {
            const auto* compute = std::get_if<Compute>(&instruction);
            const Uses uses = uses_of(instruction);
            for (const BufferId buffer : uses.reads) {
                use(buffer, compute ? compute->kernel : memory);
            }
            for (const BufferId buffer : uses.writes) {
                use(buffer, compute && may_be_register(device_class, *compute) ? compute->kernel : memory);
            }
        }
    }
    for (const OrderStep& step : device_class.order) {
        if (const auto* posts = std::get_if<Posts>(&step)) {
            for (const Post& post : posts->posts) {
                use(post.buffer, memory);
            }
        }
    }
    for (const Program::Result& result : program.results) {
        if (result.stage == stage) {
            use(result.buffer, memory);
        }
    }
    for (const Program::Stored& stored : program.stored) {
        if (stored.stage == stage) {
            use(stored.buffer, memory);
        }
        for (const auto& copy : stored.copies) {
            if (copy.stage == stage) {
                use(copy.buffer, memory);
            }
        }
    }
    for (const BufferId id : device_class.buffers.ids()) {
        Buffer& buffer = device_class.buffers[id];
        if (kernel[id] >= 0 && buffer.life != Life::Persistent) {
            buffer.space = Space::Register;
        }
    }
}

/// A value of random draws is dear to compute twice; a register's value is computed again for each loop of a row kernel that reads it.
void keep_dear_values(Class& device_class) {
    for (const Block& block : device_class.blocks) {
        for (const Instruction& instruction : block.instructions) {
            const auto* compute = std::get_if<Compute>(&instruction);
            if (!compute || device_class.buffers[compute->out].space != Space::Register) {
                continue;
            }
            bool dear = false;
            for_each(compute->body, [&](const Expr& node) { dear |= node.op == ExprOp::Random; });
            if (dear) {
                device_class.buffers[compute->out].space = Space::Scratch;
            }
        }
    }
}

void drop_register_lifetimes(Class& device_class) {
    const auto is_register = [&](BufferId buffer) {
        return device_class.buffers[buffer].space == Space::Register;
    };
    for (Block& block : device_class.blocks) {
        std::erase_if(block.instructions, [&](const Instruction& instruction) {
            return std::visit(Match{[&](const Allocate& a) { return is_register(a.buffer); },
                                    [&](const Free& f) { return is_register(f.buffer); },
                                    [](const auto&) { return false; }},
                              instruction);
        });
    }
    std::erase_if(device_class.order, [&](const OrderStep& step) {
        return std::visit(Match{[&](const AllocateInstance& a) { return is_register(a.buffer); },
                                [&](const FreeInstance& f) { return is_register(f.buffer); },
                                [](const auto&) { return false; }},
                          step);
    });
}

} // namespace

Program fuse(Program program) {
    for (size_t stage = 0; stage < program.classes.size(); ++stage) {
        Class& device_class = program.classes[stage];
        int kernels = 0;
        for (Block& block : device_class.blocks) {
            Scheduler(program, device_class, block, kernels).run();
        }
        find_registers(program, device_class, device_class.stage);
        keep_dear_values(device_class);
        drop_register_lifetimes(device_class);
    }
    return program;
}

} // namespace sspc
