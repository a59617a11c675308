// Which buffers an instruction reads and writes, and on which stream it runs.
#include "ir/passes/instruction_uses.h"

#include "ir/support/match.h"

namespace sspc {

Uses uses_of(const Instruction& instruction) {
    return std::visit(
        Match{
            [](const Compute& c) {
                Uses uses{c.reads, {c.out}};
                if (c.accumulate) {
                    uses.reads.push_back(c.out);
                }
                return uses;
            },
            [](const Communicate& c) {
                Uses uses;
                for (const Communicate::Part& part : c.parts) {
                    uses.reads.push_back(part.from);
                    uses.writes.push_back(part.to);
                }
                return uses;
            },
            [](const Load& load) { return Uses{{}, {load.out}}; },
            [](const Fill& fill) { return Uses{{}, {fill.out}}; },
            [](const Copy& copy) { return Uses{{copy.from}, {copy.to}}; },
            [](const auto&) { return Uses{}; },
        },
        instruction);
}

Stream stream_of(const Instruction& instruction) {
    const auto* communicate = std::get_if<Communicate>(&instruction);
    return communicate && !is_local(communicate->kind) ? Stream::Communication : Stream::Compute;
}

} // namespace sspc
