// The table of moves, `collectives.def`, as data.
#pragma once

#include "ir/collective/move.h"

#include <array>
#include <string_view>

namespace sspc {

struct MoveRule {
    enum class State { Replicated, Sharded, Partial, Unpartial };
    enum class Reads { Own, Group };
    enum class Received { TwiceShares, OtherTerms, Missing, Nothing };
    MoveKind kind;
    std::string_view spelled;
    State from;
    State to;
    Reads reads;
    Received received;
};

inline constexpr std::array move_rules = {
#define SSPC_MOVE(kind, spelled, from, to, reads, received)                                        \
    MoveRule{MoveKind::kind,          spelled, MoveRule::State::from, MoveRule::State::to,         \
             MoveRule::Reads::reads, MoveRule::Received::received},
#include "ir/collective/collectives.def"
#undef SSPC_MOVE
};

inline constexpr const MoveRule& rule_of(MoveKind kind) {
    return move_rules[static_cast<size_t>(kind)];
}

} // namespace sspc
