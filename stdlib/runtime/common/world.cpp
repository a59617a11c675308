// The ranks of one process: waiting for one another so that a failure of one wakes all.
#include "common/world.h"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

namespace ssp {
namespace {

thread_local int current_rank = -1;

/// What the watchdog sees of a thread; each lies in memory of its own, so that counting is cheap.
struct alignas(64) Seen {
    std::atomic<uint64_t> ticks{0};
    std::mutex mutex;
    bool waits = false;
    int rank = -1;
    Pending pending;
};

struct State {
    std::mutex mutex;
    std::set<Signal*> signals;
    World::Report report;
    std::vector<std::shared_ptr<Seen>> threads;
};
State& state() {
    static auto* s = new State; // outlives every static object that waits
    return *s;
}

Seen& mine() {
    thread_local const std::shared_ptr<Seen> seen = [] {
        auto made = std::make_shared<Seen>();
        const std::lock_guard lock(state().mutex);
        state().threads.push_back(made);
        return made;
    }();
    return *seen;
}

inline void pause_briefly() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    std::this_thread::yield();
#endif
}

} // namespace

Signal::Signal() {
    const std::lock_guard lock(state().mutex);
    state().signals.insert(this);
}
Signal::~Signal() {
    const std::lock_guard lock(state().mutex);
    state().signals.erase(this);
}
void Signal::raise() {
    value_.fetch_add(1, std::memory_order_acq_rel);
    value_.notify_all();
}
void Signal::wait(uint32_t seen) {
    World& world = World::get();
    for (int i = world.spins(); i > 0 && value() == seen; --i) {
        pause_briefly();
    }
    while (value() == seen) {
        world.check();
        value_.wait(seen, std::memory_order_acquire);
    }
    world.check();
}

void Barrier::wait(const std::function<void()>& last) {
    const uint32_t seen = turn_.value();
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 < threads_) {
        turn_.wait(seen);
        return;
    }
    arrived_.store(0, std::memory_order_relaxed);
    if (last) {
        last();
    }
    turn_.raise();
    World::get().check();
}

World& World::get() {
    static auto* world = new World;
    return *world;
}
void World::start(int ranks) {
    ranks_ = ranks;
    spins_ = ranks <= static_cast<int>(std::thread::hardware_concurrency()) ? 2000 : 0;
    const std::lock_guard lock(state().mutex);
    std::erase_if(state().threads, [](const auto& thread) { return thread.use_count() == 1; }); // of ended threads
    state().report = {};
    failed_ = false;
}
int World::rank() { return current_rank; }
void World::set_rank(int rank) { current_rank = rank; }

void World::fail(int rank, const std::string& code, const std::string& message) {
    const std::lock_guard lock(state().mutex);
    if (failed()) {
        return;
    }
    state().report = {rank, code, message};
    failed_.store(true, std::memory_order_release);
    for (Signal* signal : state().signals) {
        signal->raise();
    }
}
World::Report World::report() const {
    const std::lock_guard lock(state().mutex);
    return state().report;
}

void World::tick() { mine().ticks.fetch_add(1, std::memory_order_relaxed); }
uint64_t World::ticks() const {
    const std::lock_guard lock(state().mutex);
    uint64_t sum = 0;
    for (const auto& thread : state().threads) {
        sum += thread->ticks.load(std::memory_order_relaxed);
    }
    return sum;
}
void World::set_pending(const Pending& pending) {
    Seen& seen = mine();
    const std::lock_guard lock(seen.mutex);
    seen.waits = true;
    seen.rank = current_rank;
    seen.pending = pending;
}
void World::clear_pending() {
    tick();
    Seen& seen = mine();
    const std::lock_guard lock(seen.mutex);
    seen.waits = false;
}
std::vector<std::string> World::pending() const {
    const std::lock_guard lock(state().mutex);
    std::multimap<int, std::string> by_rank;
    for (const auto& thread : state().threads) {
        const std::lock_guard thread_lock(thread->mutex);
        if (thread->waits) {
            by_rank.emplace(thread->rank, describe(thread->pending));
        }
    }
    std::vector<std::string> lines;
    for (const auto& [rank, text] : by_rank) {
        lines.push_back("rank " + std::to_string(rank) + " waits in " + text);
    }
    return lines;
}

std::string describe(const Pending& pending) {
    std::ostringstream text;
    text << pending.kind << " of " << pending.count << " " << pending.type;
    if (pending.ranks > 0) {
        text << " among " << pending.ranks << " ranks";
    }
    if (*pending.site != 0) {
        text << " at " << pending.site;
    }
    return text.str();
}

struct Watchdog::Impl {
    std::mutex mutex;
    std::condition_variable wake;
    bool ends = false;
    std::thread thread;
};

Watchdog::Watchdog() : impl_(new Impl) {
    const char* text = std::getenv("SSP_TIMEOUT");
    const double seconds = text != nullptr ? std::atof(text) : 60;
    if (seconds <= 0) {
        return;
    }
    impl_->thread = std::thread([this, seconds] {
        using Clock = std::chrono::steady_clock;
        World& world = World::get();
        uint64_t seen = world.ticks();
        auto since = Clock::now();
        std::unique_lock lock(impl_->mutex);
        const auto period = std::chrono::duration<double>(seconds < 4 ? seconds / 4 : 1);
        while (!impl_->wake.wait_for(lock, period, [&] { return impl_->ends; })) {
            const uint64_t now = world.ticks();
            const std::vector<std::string> waiting = world.pending();
            if (now != seen || waiting.empty()) {
                seen = now;
                since = Clock::now();
            } else if (std::chrono::duration<double>(Clock::now() - since).count() >= seconds) {
                std::ostringstream message;
                message << "no rank has made progress for " << seconds << " s";
                for (const std::string& line : waiting) {
                    message << "\n  " << line;
                }
                world.fail(-1, "SSP0808", message.str());
                return;
            }
        }
    });
}
Watchdog::~Watchdog() {
    {
        const std::lock_guard lock(impl_->mutex);
        impl_->ends = true;
    }
    impl_->wake.notify_all();
    if (impl_->thread.joinable()) {
        impl_->thread.join();
    }
    delete impl_;
}

} // namespace ssp
