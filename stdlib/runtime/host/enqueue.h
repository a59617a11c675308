// Hands work to a host stream. Everything that CUDA would put on a stream goes through here.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <utility>

namespace ssp::host {

/// True if streams are threads (SSP_STREAMS=async).
bool streams_are_threads();
void enqueue_on_thread(cudaStream_t stream, std::function<void()> work);
void count_work();

template <typename Work>
void enqueue(cudaStream_t stream, Work&& work) {
    if (streams_are_threads()) {
        enqueue_on_thread(stream, std::forward<Work>(work));
    } else {
        count_work();
        work();
    }
}

} // namespace ssp::host
