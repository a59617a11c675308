// Runs a generated program: options, data, initial values, ranks, progress, checkpoints.
#include "common/launcher.h"

#include "common/checkpoint.h"
#include "common/error.h"
#include "common/feed.h"
#include "common/options.h"
#include "common/progress.h"
#include "common/ranks.h"
#include "common/safetensors.h"
#include "common/trace.h"
#include "common/world.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include <unistd.h>

namespace ssp {
namespace {

constexpr int64_t default_steps = 200;
constexpr int64_t traced_steps = 20; ///< a timeline of more is slow to look at
constexpr std::chrono::seconds patience{5}; ///< for ranks to stop after a failure

std::atomic<int> interrupts{0};

/// The first interrupt lets the step end; the second ends the process.
void on_interrupt(int) {
    if (interrupts.fetch_add(1) > 0) {
        ::_exit(130);
    }
}

using Clock = std::chrono::steady_clock;
double milliseconds_since(Clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

void print_failure(const std::string& code, const std::string& message) {
    std::fflush(stdout);
    std::fprintf(stderr, "error[%s]: %s\n", code.c_str(), message.c_str());
}

/// Tokens of a step: the elements of the first integer input.
int64_t tokens_of(const ProgramInfo& program) {
    for (const ProgramInfo::Input& input : program.inputs) {
        if (input.type == DType::I64 || input.type == DType::I32) {
            return volume(input.sizes);
        }
    }
    return 0;
}

class Run {
public:
    Run(const ProgramInfo& program, const Options& options)
        : program_(program), options_(options), batches_(program, options), beginning_(options.seed), ranks_(program) {
        if (!options.weights.empty()) {
            beginning_.use_weights(program, options.weights);
        }
        if (!options.resume.empty()) {
            beginning_.use_checkpoint(program, options.resume);
        }
        choose_steps();
        check_outputs();
        const bool resumed = beginning_.step() > 0;
        if (!options.metrics.empty()) {
            metrics_.emplace(options.metrics, resumed ? Metrics::Mode::Append : Metrics::Mode::Anew);
        }
    }

    int run() {
        const int count = rank_count(program_);
        World::get().start(count);
        int devices = 0;
        if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < count) {
            fail("SSP0810", "the plan is for " + std::to_string(count) + " devices, and this machine has " +
                                std::to_string(devices));
        }
        ncclUniqueId id;
        SSP_NCCL(ncclGetUniqueId(&id));
        {
            const Watchdog watchdog;
            Barrier barrier(count);
            std::vector<std::thread> threads;
            for (int rank = 0; rank < count; ++rank) {
                threads.emplace_back([this, rank, &id, &barrier] { run_rank(rank, id, barrier); });
            }
            wait_for_all(count);
            for (std::thread& thread : threads) {
                thread.join();
            }
        }
        if (World::get().failed()) {
            progress_->interrupt();
            const World::Report report = World::get().report();
            const bool of_rank = report.code == "SSP0801" && report.rank >= 0;
            print_failure(report.code, (of_rank ? "rank " + std::to_string(report.rank) + " failed: " : "") + report.message);
            return 3;
        }
        if (!options_.trace.empty()) {
            write_trace(options_.trace, ranks_.traces());
        }
        progress_->finish();
        if (stopped_at_) {
            std::printf("stopped after step %lld\n", static_cast<long long>(*stopped_at_));
            std::fflush(stdout);
        }
        ranks_.clear();
        return stopped_at_ ? 130 : 0;
    }

private:
    void choose_steps() {
        const bool trains = std::any_of(program_.stored.begin(), program_.stored.end(),
                                        [](const auto& stored) { return stored.is_state; }) ||
                            std::any_of(program_.results.begin(), program_.results.end(), [](const auto& result) {
                                return result.what == ProgramInfo::What::Gradient;
                            });
        const int64_t usual = trains ? default_steps : batches_.steps().value_or(1);
        last_ = options_.steps.value_or(std::min(usual, batches_.steps().value_or(usual)));
        if (batches_.steps() && last_ > *batches_.steps()) {
            fail("SSP0806", "`--steps " + std::to_string(last_) + "` takes more than the " +
                                std::to_string(*batches_.steps()) + " steps of `" + batches_.shortest_file() + "`");
        }
        first_ = beginning_.step();
        if (first_ > last_) {
            fail("SSP0809", "the checkpoint was written after step " + std::to_string(first_) + ", and the run ends with " +
                                std::to_string(last_));
        }
        progress_.emplace(first_, last_, tokens_of(program_));
    }

    /// Before the first step rather than after the last.
    void check_outputs() {
        for (const std::string* path : {&options_.save, &options_.save_grads, &options_.outputs, &options_.trace}) {
            if (!path->empty()) {
                check_writable(*path);
            }
        }
        if (options_.save_every > 0) {
            std::error_code error;
            std::filesystem::create_directories(options_.checkpoints, error);
            if (error) {
                fail("SSP0805", "`" + options_.checkpoints + "` could not be made: " + error.message());
            }
            check_writable(checkpoint_path(options_.checkpoints, 0));
        }
        if (!options_.save_grads.empty() && results(ProgramInfo::What::Gradient).empty()) {
            fail("SSP0806", "`--save-grads`: the program computes no gradients");
        }
        if (!options_.outputs.empty() && results(ProgramInfo::What::Output).empty()) {
            fail("SSP0806", "`--outputs`: the model has no `output`");
        }
    }

    std::vector<const ProgramInfo::Result*> results(ProgramInfo::What what) const {
        std::vector<const ProgramInfo::Result*> found;
        for (const ProgramInfo::Result& result : program_.results) {
            if (result.what == what) {
                found.push_back(&result);
            }
        }
        return found;
    }

    void run_rank(int number, const ncclUniqueId& id, Barrier& barrier) {
        World::set_rank(number);
        try {
            // Kept until all ranks have ended: others may still read this one's memory.
            ranks_[number] = std::make_unique<Rank>(program_, number, id, options_.seed, batches_);
            Rank& rank = *ranks_[number];
            rank.fill_stored(beginning_);
            barrier.wait([this] { begin(); });
            for (int64_t step = first_ + 1; step <= last_ && !stopped_at_; ++step) {
                const bool traced = !options_.trace.empty() && step <= first_ + traced_steps;
                Trace::make_current(traced ? &rank.trace() : nullptr);
                if (traced) {
                    rank.trace().begin_step(milliseconds_since(run_began_));
                }
                rank.step(step);
                if (traced) {
                    rank.trace().end_step(static_cast<int>(step));
                }
                barrier.wait([this, step] { end_step(step); });
            }
            Trace::make_current(nullptr);
            if (first_ == last_) {
                barrier.wait([this] { end_run(last_); });
            }
        } catch (const Failure& failure) {
            World::get().fail(number, failure.code, failure.what());
        } catch (const Stopped&) {
        } catch (const std::exception& error) {
            World::get().fail(number, "SSP0801", error.what());
        } catch (...) {
            World::get().fail(number, "SSP0801", "an exception of unknown type");
        }
        const std::lock_guard lock(mutex_);
        ++ended_;
        ended_changed_.notify_all();
    }

    void wait_for_all(int count) {
        std::unique_lock lock(mutex_);
        std::optional<Clock::time_point> failed_at;
        while (!ended_changed_.wait_for(lock, std::chrono::milliseconds(200), [&] { return ended_ == count; })) {
            if (!World::get().failed()) {
                continue;
            }
            failed_at = failed_at ? failed_at : Clock::now();
            if (Clock::now() - *failed_at > patience) {
                // A rank waits for something that nobody can wake, such as a collective on a GPU.
                const World::Report report = World::get().report();
                const std::string who = report.rank >= 0 ? "rank " + std::to_string(report.rank) + " failed: " : "";
                print_failure(report.code, (report.code == "SSP0801" ? who : "") + report.message);
                ::_exit(3);
            }
        }
    }

    // What follows runs in one thread while all ranks wait.

    void begin() {
        progress_.emplace(first_, last_, tokens_of(program_));
        run_began_ = step_began_ = Clock::now();
    }

    void end_step(int64_t step) {
        StepReport report;
        report.step = step;
        report.milliseconds = milliseconds_since(step_began_);
        ranks_.check_indices();
        for (const ProgramInfo::Result* loss : results(ProgramInfo::What::Loss)) {
            report.loss = ranks_.scalar(loss->held, loss->type);
        }
        for (const ProgramInfo::Result* norm : results(ProgramInfo::What::GradNorm)) {
            report.grad_norm = ranks_.scalar(norm->held, norm->type);
        }
        if (metrics_) {
            metrics_->step(report);
        }
        if (report.loss && !std::isfinite(*report.loss)) {
            const char* what = std::isnan(*report.loss) ? "not a number" : "infinite";
            fail("SSP0803", "the loss is " + std::string(what) + " after step " + std::to_string(step));
        }
        progress_->step(report);
        if (step == first_ + 1 && !options_.save_grads.empty()) {
            save_results(options_.save_grads, ProgramInfo::What::Gradient);
        }
        if (options_.save_every > 0 && step % options_.save_every == 0) {
            save_stored(checkpoint_path(options_.checkpoints, step), step);
        }
        if (interrupts > 0 && step != last_) {
            stopped_at_ = step;
        }
        if (step == last_ || stopped_at_) {
            end_run(step);
        }
        step_began_ = Clock::now();
    }

    void end_run(int64_t step) {
        if (!options_.save.empty()) {
            save_stored(options_.save, step);
        }
        if (!options_.outputs.empty() && step > first_) {
            save_results(options_.outputs, ProgramInfo::What::Output);
        }
    }

    void save_stored(const std::string& path, int64_t step) {
        std::vector<SafetensorsWriter::Entry> entries;
        for (const ProgramInfo::Stored& stored : program_.stored) {
            entries.push_back({stored.path, stored.type, sizes_of(stored.home.axes)});
        }
        SafetensorsWriter writer(
            path, entries,
            {{"model", program_.model}, {"seed", std::to_string(options_.seed)}, {"step", std::to_string(step)}});
        for (const ProgramInfo::Stored& stored : program_.stored) {
            const std::vector<char> whole = ranks_.gather(stored.home, stored.type);
            writer.write(whole.data(), whole.size());
        }
        writer.commit();
    }

    void save_results(const std::string& path, ProgramInfo::What what) {
        std::vector<SafetensorsWriter::Entry> entries;
        for (const ProgramInfo::Result* result : results(what)) {
            entries.push_back({result->path, result->type, sizes_of(result->held.axes)});
        }
        SafetensorsWriter writer(path, entries);
        for (const ProgramInfo::Result* result : results(what)) {
            const std::vector<char> whole = ranks_.gather(result->held, result->type);
            writer.write(whole.data(), whole.size());
        }
        writer.commit();
    }

    const ProgramInfo& program_;
    const Options& options_;
    Batches batches_;
    Beginning beginning_;
    Ranks ranks_;
    int64_t first_ = 0; ///< steps done before this run
    int64_t last_ = 0;
    std::optional<Progress> progress_;
    std::optional<Metrics> metrics_;
    Clock::time_point run_began_;
    Clock::time_point step_began_;
    std::optional<int64_t> stopped_at_;

    std::mutex mutex_;
    std::condition_variable ended_changed_;
    int ended_ = 0;
};

void catch_interrupts() {
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
}

} // namespace

int run(const ProgramInfo& program, int argc, char** argv) {
    Options options;
    try {
        options = parse_options(argc, argv);
    } catch (const UsageError& error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return 2;
    }
    if (options.help) {
        std::printf("%s, plan %s, on %d devices\n\n%s", program.model.c_str(), program.plan.c_str(), rank_count(program),
                    options_help());
        return 0;
    }
    catch_interrupts();
    try {
        Run run(program, options);
        return run.run();
    } catch (const Failure& failure) {
        print_failure(failure.code, failure.what());
    } catch (const std::exception& error) {
        print_failure("SSP0801", error.what());
    }
    return 3;
}

} // namespace ssp
