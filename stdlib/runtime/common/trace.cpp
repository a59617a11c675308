// A measured timeline: spans of work on a rank's streams, for Perfetto.
#include "common/trace.h"

#include "common/error.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace ssp {
namespace {
thread_local Trace* current = nullptr;
}

Span::Span(cudaStream_t stream, const char* name, int micro) : stream_(stream) {
    if (current != nullptr) {
        index_ = static_cast<int>(current->open_.size());
        const cudaEvent_t begin = current->event();
        const cudaEvent_t end = current->event();
        current->open_.push_back({name, micro, stream == current->communication_, begin, end});
        SSP_CUDA(cudaEventRecord(begin, stream));
    }
}
Span::~Span() {
    if (index_ >= 0 && current != nullptr) {
        cudaEventRecord(current->open_[static_cast<size_t>(index_)].end, stream_);
    }
}

Trace::Trace(cudaStream_t compute, cudaStream_t communication) : compute_(compute), communication_(communication) {
    start_event_ = event();
}
Trace::~Trace() {
    for (const Open& open : open_) {
        cudaEventDestroy(open.begin);
        cudaEventDestroy(open.end);
    }
    for (const cudaEvent_t spare : spare_) {
        cudaEventDestroy(spare);
    }
    cudaEventDestroy(start_event_);
}
void Trace::make_current(Trace* trace) { current = trace; }

cudaEvent_t Trace::event() {
    if (!spare_.empty()) {
        const cudaEvent_t spare = spare_.back();
        spare_.pop_back();
        return spare;
    }
    cudaEvent_t made = nullptr;
    SSP_CUDA(cudaEventCreate(&made));
    return made;
}

void Trace::begin_step(double milliseconds) {
    start_ = milliseconds;
    SSP_CUDA(cudaEventRecord(start_event_, compute_));
}

void Trace::end_step(int step) {
    for (const Open& open : open_) {
        float begin = 0, end = 0;
        SSP_CUDA(cudaEventElapsedTime(&begin, start_event_, open.begin));
        SSP_CUDA(cudaEventElapsedTime(&end, start_event_, open.end));
        bars_.push_back({open.name, step, open.micro, open.communication, start_ + static_cast<double>(begin),
                         start_ + static_cast<double>(end)});
        spare_.push_back(open.begin);
        spare_.push_back(open.end);
    }
    open_.clear();
}

void write_trace(const std::string& path, const std::vector<const Trace*>& ranks) {
    nlohmann::ordered_json events = nlohmann::ordered_json::array();
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
        events.push_back({{"ph", "M"},
                          {"pid", rank},
                          {"name", "process_name"},
                          {"args", {{"name", "device " + std::to_string(rank)}}}});
        for (const int thread : {0, 1}) {
            events.push_back({{"ph", "M"},
                              {"pid", rank},
                              {"tid", thread},
                              {"name", "thread_name"},
                              {"args", {{"name", thread == 0 ? "compute" : "communication"}}}});
        }
        for (const Trace::Bar& bar : ranks[rank]->bars()) {
            nlohmann::ordered_json arguments = {{"step", bar.step}};
            if (bar.micro >= 0) {
                arguments["micro"] = bar.micro;
            }
            events.push_back({{"ph", "X"},
                              {"pid", rank},
                              {"tid", bar.communication ? 1 : 0},
                              {"name", bar.name},
                              {"ts", bar.begin * 1000},
                              {"dur", (bar.end - bar.begin) * 1000},
                              {"args", arguments}});
        }
    }
    const nlohmann::ordered_json document = {{"displayTimeUnit", "ms"}, {"traceEvents", events}};
    const std::string text = document.dump(1) + "\n";
    std::FILE* file = std::fopen(path.c_str(), "w");
    const bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    const bool closed = file != nullptr && std::fclose(file) == 0;
    if (!written || !closed) {
        fail("SSP0805", "`" + path + "` could not be written: " + std::strerror(errno));
    }
}

} // namespace ssp
