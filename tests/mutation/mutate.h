// Seeded mutants of device programs: one small change each, as a faulty pass might make.
#pragma once

#include "ir/program/program.h"

#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace sspc::mutation {

enum class Kind {
    Drop,            ///< an instruction or a step of the order
    Duplicate,       ///< the same again
    SwapNeighbours,  ///< two instructions, or two steps
    SwapAcrossWait,  ///< a wait with what follows it, a record with what precedes it
    WrongPeer,       ///< a message's stage, or another message at a post
    WrongGroup,      ///< the mesh axes of a collective
    WrongLayout,     ///< a placement of a buffer, or of one end of a move
    WrongReduction,  ///< of a compute, or of a partial placement
    WrongCollective, ///< another kind of move
    MissingEvent,    ///< a record or wait less
    EarlyFree,       ///< a free moved forward
    OperandExchanged, ///< two operands, or one by another value of the same shape
    ConstantChanged,
    EarlyReducer,    ///< what finishes a step moved before the last micro-batch
    WrongCut,
    SkippedFill,
    ChangedMicro,    ///< another micro-batch at a step
    MovedBuffer,     ///< another offset or size
    WrongFrame,      ///< another slot for a micro-batch
    Count,
};
std::string_view name_of(Kind kind);

struct Mutant {
    Program program;
    Kind kind = Kind::Drop;
    std::string what; ///< what was changed, for messages
};

/// A mutant of this kind at a place drawn uniformly; nothing if the program has no place for it.
std::optional<Mutant> mutate(const Program& program, Kind kind, std::mt19937_64& random);

} // namespace sspc::mutation
