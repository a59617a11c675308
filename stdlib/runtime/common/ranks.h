// The ranks of a run: their devices, and tensors gathered from and spread to them.
#pragma once

#include "common/checkpoint.h"
#include "common/device.h"
#include "common/feed.h"
#include "common/trace.h"

#include <memory>
#include <string>
#include <vector>

namespace ssp {

/// Coordinates of a rank: row-major over the mesh without its first axis, the last one closest.
std::vector<int> coordinates_of(const ProgramInfo& program, int rank);
int rank_count(const ProgramInfo& program);

/// One device with its streams, arenas, communicators and stage. Made, used and filled by the rank's own thread.
class Rank {
public:
    Rank(const ProgramInfo& program, int number, const ncclUniqueId& id, uint64_t seed, Batches& batches);
    ~Rank();
    Rank(const Rank&) = delete;
    Rank& operator=(const Rank&) = delete;

    void fill_stored(const Beginning& beginning);
    /// Carries out one step and waits for its end.
    void step(int64_t number);

    int number() const { return number_; }
    int stage() const { return stage_number_; }
    const std::vector<int>& at() const { return device_.at; }
    const char* fixed() const { return device_.fixed; }
    /// The number of a statement with an index outside its axis, 0 if there was none.
    int64_t index_error() const;
    Trace& trace() { return *trace_; }

private:
    void make_communicators(const ncclUniqueId& id);
    void load(int input, void* to, const std::vector<HeldAxis>& axes, int micro);

    const ProgramInfo& program_;
    const int number_;
    int stage_number_ = 0;
    Device device_;
    Batches& batches_;
    int64_t step_ = 0;
    std::vector<ncclComm_t> communicators_;
    std::unique_ptr<Network> network_;
    std::unique_ptr<Trace> trace_;
    std::unique_ptr<Stage> stage_;
    std::vector<std::vector<char>> staged_; ///< what copies of the present step read
};

/// All ranks, once each is between steps. Called by one thread.
class Ranks {
public:
    explicit Ranks(const ProgramInfo& program) : program_(program), ranks_(static_cast<size_t>(rank_count(program))) {}

    std::unique_ptr<Rank>& operator[](int rank) { return ranks_[static_cast<size_t>(rank)]; }
    /// A whole tensor. Parts that several devices hold are read from the first; along `sums` they are added in the order of ranks.
    std::vector<char> gather(const Held& held, DType type) const;
    /// The value of a tensor with one element.
    double scalar(const Held& held, DType type) const;
    /// Fails (SSP0807) if a rank met an index outside its axis.
    void check_indices() const;
    std::vector<const Trace*> traces() const;
    void clear() { ranks_.clear(); }

private:
    const ProgramInfo& program_;
    std::vector<std::unique_ptr<Rank>> ranks_;
};

} // namespace ssp
