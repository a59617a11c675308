// The layouts that one tensor can take between two given ones, and which moves lead from one to another.
//
// Devices that differ only along mesh axes that cut nothing hold equal boxes, so only the axes that matter are gone through. Along the Micro
// axis the first and the last part stand for all (a part has one of two sizes).
#pragma once

#include "ir/collective/move.h"
#include "ir/collective/move_rule.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace sspc {

class MoveSpace {
public:
    static constexpr size_t max_axes = 16;
    static constexpr int8_t replicated = -1;
    static constexpr int8_t partial = -2;
    /// One entry for each participating mesh axis: `replicated`, `partial`, or the position of the tensor's axis that is cut.
    using State = std::array<int8_t, max_axes>;
    /// A set of participating mesh axes; bit order is mesh order.
    using Mask = uint32_t;

    struct Edge {
        MoveKind kind;
        Mask along;
        int64_t bytes;
    };

    MoveSpace(const IdVector<AxisId, Axis>& axes, const TensorShape& shape, const Mesh& mesh,
              const Layout& from, const Layout& to, MoveScope scope);

    const State& from() const { return from_; }
    const State& to() const { return to_; }
    int tensor_axes() const { return static_cast<int>(sizes_.size()); }
    /// The participating axes that moves may change.
    Mask movable() const { return movable_; }
    Mask partial_axes(const State& state) const;
    Mask differing(const State& a, const State& b) const;
    /// The reduction of a Partial placement on this participating axis.
    Reduce reduction(size_t axis) const { return reductions_[axis]; }
    /// Some mesh axis is Partial under another reduction before than after, or one layout mixes reductions.
    bool incompatible() const { return incompatible_; }

    /// Whether the table's row allows this step along `along`, for every device.
    bool allows(MoveKind kind, Mask along, const State& a, const State& b);
    int64_t bytes(MoveKind kind, Mask along, const State& a, const State& b);
    /// The one move between two states that are Partial on the same axes and differ elsewhere: it receives what is missing and nothing else.
    Edge unpartial_edge(const State& a, const State& b);
    /// Every part of both states is as long as every other.
    bool divides_evenly(const State& a, const State& b) const;

    Mask mask_of(const std::vector<int>& mesh_axes) const;
    Move to_move(const Edge& edge, const State& a, const State& b) const;

private:
    struct Participant {
        int mesh_axis;
        int size;
        bool micro;
    };
    using Coordinates = std::array<int, max_axes>;

    State state_of(const Layout& layout) const;
    Layout layout_of(const State& state) const;
    Mask cutting(const State& state, int tensor_axis) const;
    Mask cutting(const State& state) const;
    /// The interval of a tensor axis that the participants in `mask` cut.
    Interval interval(int tensor_axis, Mask mask, const Coordinates& at);
    bool covered(int tensor_axis, Interval wanted, Mask cut, Mask along, const Coordinates& at);
    bool reads_suffice(Mask along, const State& a, const State& b);
    int64_t largest(const State& state);
    int64_t missing(const State& a, const State& b);
    int64_t group_size(Mask along) const;
    template <typename Visit>
    bool each_device(Mask active, Visit visit) const;

    std::vector<AxisId> axis_ids_;
    std::vector<int64_t> sizes_; ///< of the tensor's axes
    int64_t element_bytes_ = 0;
    Layout base_; ///< placements of the mesh axes that do not take part
    std::vector<Participant> participants_;
    std::array<Reduce, max_axes> reductions_{};
    Mask movable_ = 0;
    Mask groupable_ = 0; ///< the devices along these hold the tensor, so that they may be in a move's group
    State from_{};
    State to_{};
    bool incompatible_ = false;
    /// Intervals of a tensor axis under a mask, for all coordinates (row-major over the mask's axes).
    std::map<std::pair<int, Mask>, std::vector<Interval>> intervals_;
};

} // namespace sspc
