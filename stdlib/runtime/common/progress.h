// What a run says while it goes: a progress line, and a line of JSON for each step.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace ssp {

struct StepReport {
    int64_t step = 0;
    std::optional<double> loss;
    std::optional<double> grad_norm;
    double milliseconds = 0;
};

class Progress {
public:
    /// Steps first + 1 to last; `tokens` a step, 0 if that means nothing.
    Progress(int64_t first, int64_t last, int64_t tokens);

    /// On a terminal the line is drawn anew, at most ten times a second; elsewhere a line every tenth of the run. On stderr.
    void step(const StepReport& report);
    /// The last word, on stdout: the loss at first and at last, and how fast it went.
    void finish();
    /// Moves to a fresh line, so that a message can follow.
    void interrupt();

private:
    using Clock = std::chrono::steady_clock;
    std::string rates(double seconds, int64_t steps) const;

    int64_t first_;
    int64_t last_;
    int64_t tokens_;
    bool terminal_;
    bool drawn_ = false;
    int64_t done_ = 0;
    int tenths_ = 0;
    std::optional<double> first_loss_;
    std::optional<double> last_loss_;
    Clock::time_point begin_;
    Clock::time_point shown_;
};

/// `--metrics FILE`: every line is on disk when its step has ended.
class Metrics {
public:
    enum class Mode { Anew, Append };
    Metrics(const std::string& path, Mode mode);
    ~Metrics();
    Metrics(const Metrics&) = delete;
    Metrics& operator=(const Metrics&) = delete;
    void step(const StepReport& report);

private:
    std::string path_;
    std::FILE* file_;
};

/// The shortest text that reads back as the same number; `null` for what JSON cannot say.
std::string number_text(double value);

} // namespace ssp
