// What a run says while it goes.
#include "common/progress.h"

#include "common/error.h"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>

#include <unistd.h>

namespace ssp {
namespace {

std::string formatted(const char* form, double value) {
    char text[64];
    std::snprintf(text, sizeof text, form, value);
    return text;
}

std::string rate_text(double value) { return formatted(value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value); }

std::string time_text(double seconds) {
    const auto whole = static_cast<int64_t>(seconds + 0.5);
    char text[40];
    if (whole >= 3600) {
        std::snprintf(text, sizeof text, "%lld:%02d:%02d", static_cast<long long>(whole / 3600),
                      static_cast<int>(whole / 60 % 60), static_cast<int>(whole % 60));
    } else {
        std::snprintf(text, sizeof text, "%d:%02d", static_cast<int>(whole / 60), static_cast<int>(whole % 60));
    }
    return text;
}

double seconds_between(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
}

} // namespace

std::string number_text(double value) {
    if (!std::isfinite(value)) {
        return "null";
    }
    char text[40];
    const auto [end, error] = std::to_chars(text, text + sizeof text, value);
    return error == std::errc() ? std::string(text, end) : "null";
}

Progress::Progress(int64_t first, int64_t last, int64_t tokens)
    : first_(first), last_(last), tokens_(tokens), terminal_(::isatty(STDERR_FILENO) != 0), begin_(Clock::now()) {}

std::string Progress::rates(double seconds, int64_t steps) const {
    if (seconds <= 0 || steps <= 0) {
        return "";
    }
    const double each_second = static_cast<double>(steps) / seconds;
    std::string text = rate_text(each_second) + " steps/s";
    if (tokens_ > 0) {
        text += ", " + rate_text(each_second * static_cast<double>(tokens_)) + " tokens/s";
    }
    return text;
}

void Progress::step(const StepReport& report) {
    ++done_;
    if (report.loss) {
        first_loss_ = first_loss_ ? first_loss_ : report.loss;
        last_loss_ = report.loss;
    }
    const auto now = Clock::now();
    const int64_t total = last_ - first_;
    if (terminal_) {
        if (drawn_ && report.step != last_ && seconds_between(shown_, now) < 0.1) {
            return;
        }
    } else {
        const int tenths = static_cast<int>(done_ * 10 / (total > 0 ? total : 1));
        if (tenths == tenths_) {
            return;
        }
        tenths_ = tenths;
    }
    shown_ = now;
    const double seconds = seconds_between(begin_, now);
    std::string line = "step " + std::to_string(report.step) + "/" + std::to_string(last_);
    if (report.loss) {
        line += "  loss " + formatted("%.4f", *report.loss);
    }
    line += "  " + rates(seconds, done_);
    if (report.step < last_) {
        line += "  " + time_text(seconds / static_cast<double>(done_) * static_cast<double>(total - done_)) + " left";
    }
    if (terminal_) {
        std::fprintf(stderr, "\r%s\033[K", line.c_str());
        drawn_ = true;
    } else {
        std::fprintf(stderr, "%s\n", line.c_str());
    }
    std::fflush(stderr);
}

void Progress::interrupt() {
    if (drawn_) {
        std::fputc('\n', stderr);
        drawn_ = false;
    }
}

void Progress::finish() {
    const double seconds = seconds_between(begin_, Clock::now());
    interrupt();
    std::string line = std::to_string(done_) + (done_ == 1 ? " step in " : " steps in ") + formatted("%.2f s", seconds);
    if (last_loss_) {
        line += ", loss " + formatted("%.4f", *first_loss_) + " → " + formatted("%.4f", *last_loss_);
    }
    if (const std::string text = rates(seconds, done_); !text.empty()) {
        line += ", " + text;
    }
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
}

Metrics::Metrics(const std::string& path, Mode mode)
    : path_(path), file_(std::fopen(path.c_str(), mode == Mode::Append ? "a" : "w")) {
    if (file_ == nullptr) {
        fail("SSP0805", "`" + path_ + "` could not be written: " + std::strerror(errno));
    }
}
Metrics::~Metrics() { std::fclose(file_); }

void Metrics::step(const StepReport& report) {
    std::string line = "{\"step\":" + std::to_string(report.step);
    if (report.loss) {
        line += ",\"loss\":" + number_text(*report.loss);
    }
    if (report.grad_norm) {
        line += ",\"grad_norm\":" + number_text(*report.grad_norm);
    }
    line += ",\"step_ms\":" + number_text(report.milliseconds) + "}\n";
    if (std::fputs(line.c_str(), file_) == EOF || std::fflush(file_) != 0) {
        fail("SSP0805", "`" + path_ + "` could not be written: " + std::strerror(errno));
    }
}

} // namespace ssp
