// A measured timeline: spans of work on a rank's streams, for Perfetto.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <vector>

namespace ssp {

/// From here to the end of the scope, the work put on `stream` is one bar of the timeline. Does nothing unless `--trace` is given.
class Span {
public:
    /// `name` is a literal: `F0`, `all_reduce of grad wq`. `micro`: the micro-batch, -1 if there is none.
    Span(cudaStream_t stream, const char* name, int micro = -1);
    ~Span();
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

private:
    cudaStream_t stream_;
    int index_ = -1;
};

/// The spans of one rank. A thread records into the trace that it has made current.
class Trace {
public:
    Trace(cudaStream_t compute, cudaStream_t communication);
    ~Trace();
    Trace(const Trace&) = delete;
    Trace& operator=(const Trace&) = delete;

    static void make_current(Trace* trace);

    /// Called before a step and after its streams have ended. Times count from the first step's begin.
    void begin_step(double milliseconds);
    void end_step(int step);

    struct Bar {
        std::string name;
        int step = 0;
        int micro = -1;
        bool communication = false;
        double begin = 0; ///< milliseconds
        double end = 0;
    };
    const std::vector<Bar>& bars() const { return bars_; }

private:
    friend class Span;
    struct Open {
        const char* name;
        int micro;
        bool communication;
        cudaEvent_t begin;
        cudaEvent_t end;
    };
    cudaEvent_t event();

    cudaStream_t compute_;
    cudaStream_t communication_;
    double start_ = 0;
    cudaEvent_t start_event_ = nullptr;
    std::vector<Open> open_;
    std::vector<cudaEvent_t> spare_;
    std::vector<Bar> bars_;
};

/// Writes all ranks' bars in the trace event format. Failures are SSP0805.
void write_trace(const std::string& path, const std::vector<const Trace*>& ranks);

} // namespace ssp
