// The ranks of one process: waiting for one another so that a failure of one wakes all.
#pragma once

#include "common/error.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ssp {

/// A counter that threads wait on. A failure wakes every wait on every signal, and it throws Stopped.
class Signal {
public:
    Signal();
    ~Signal();
    Signal(const Signal&) = delete;
    Signal& operator=(const Signal&) = delete;

    uint32_t value() const { return value_.load(std::memory_order_acquire); }
    void raise();
    /// Returns once the value differs from `seen`.
    void wait(uint32_t seen);

private:
    friend class World;
    std::atomic<uint32_t> value_{0};
};

/// The last thread to arrive runs `last` while the others wait.
class Barrier {
public:
    explicit Barrier(int threads) : threads_(threads) {}
    void wait(const std::function<void()>& last = nullptr);

private:
    const int threads_;
    std::atomic<int> arrived_{0};
    Signal turn_;
};

/// What a rank is waiting for, for reports of runs that are stuck.
struct Pending {
    const char* kind = ""; ///< `all_reduce`
    uint64_t count = 0;
    const char* type = "";
    int ranks = 0;
    const char* site = "";
};
/// `all_reduce of 64 f32 among 4 ranks at megatron.ssp:21`
std::string describe(const Pending& pending);

/// State of all ranks of this process.
class World {
public:
    static World& get();

    /// Before the ranks start. Forgets an earlier failure.
    void start(int ranks);
    int ranks() const { return ranks_; }
    /// The rank that the calling thread works for, or -1.
    static int rank();
    static void set_rank(int rank);

    /// Records the first failure and wakes everybody.
    void fail(int rank, const std::string& code, const std::string& message);
    bool failed() const { return failed_.load(std::memory_order_acquire); }
    void check() const {
        if (failed()) {
            throw Stopped{};
        }
    }
    struct Report {
        int rank = -1;
        std::string code;
        std::string message;
    };
    Report report() const;

    /// Progress of the calling thread's rank, for the watchdog.
    void tick();
    uint64_t ticks() const;
    /// What the calling thread waits for, until it goes on.
    void set_pending(const Pending& pending);
    void clear_pending();
    /// One line a waiting rank.
    std::vector<std::string> pending() const;

    /// How often a wait looks before it sleeps: more where each rank has a core of its own.
    int spins() const { return spins_; }

private:
    friend class Signal;
    World() = default;
    int ranks_ = 0;
    int spins_ = 0;
    std::atomic<bool> failed_{false};
};

/// Fails the run when no rank has made progress for SSP_TIMEOUT seconds (60; 0 never), naming what each waits for.
class Watchdog {
public:
    Watchdog();
    ~Watchdog();

private:
    struct Impl;
    Impl* impl_;
};

} // namespace ssp
