// Memory, streams and events on the host.
#include "common/world.h"
#include "host/enqueue.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

using Clock = std::chrono::steady_clock;

/// Of OpenBLAS; absent where another BLAS is linked.
extern "C" void openblas_set_num_threads(int threads) __attribute__((weak));

/// With threads, an event's number of records asked for and done; a wait is for the records asked for when it was called.
struct CUevent_st {
    std::atomic<uint32_t> asked{0};
    ssp::Signal done;
    std::atomic<Clock::rep> time{0};
};

struct CUstream_st {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> queue;
    bool busy = false;
    bool ends = false;
    int rank = -1;
    std::thread thread;

    void run() {
        ssp::World::set_rank(rank);
        std::unique_lock lock(mutex);
        for (;;) {
            changed.wait(lock, [&] { return ends || !queue.empty(); });
            if (queue.empty()) {
                return;
            }
            const std::function<void()> work = std::move(queue.front());
            queue.pop_front();
            busy = true;
            lock.unlock();
            try {
                if (!ssp::World::get().failed()) {
                    work();
                }
            } catch (const ssp::Failure& failure) {
                ssp::World::get().fail(rank, failure.code, failure.what());
            } catch (const ssp::Stopped&) {
            } catch (const std::exception& error) {
                ssp::World::get().fail(rank, "SSP0801", error.what());
            }
            lock.lock();
            busy = false;
            changed.notify_all();
        }
    }
    void synchronize() {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return queue.empty() && !busy; });
        lock.unlock();
        ssp::World::get().check();
    }
};

namespace ssp::host {

bool streams_are_threads() {
    static const bool threads = [] {
        const char* text = std::getenv("SSP_STREAMS");
        return text != nullptr && std::string(text) == "async";
    }();
    return threads;
}

void count_work() { World::get().tick(); }

void enqueue_on_thread(cudaStream_t stream, std::function<void()> work) {
    count_work();
    if (stream == nullptr) {
        work();
        return;
    }
    const std::lock_guard lock(stream->mutex);
    stream->queue.push_back(std::move(work));
    stream->changed.notify_all();
}

} // namespace ssp::host

namespace {

thread_local int current_device = 0;
std::mutex streams_mutex;
std::set<cudaStream_t> streams;

bool poison() {
    static const bool on = std::getenv("SSP_POISON") != nullptr;
    return on;
}

cudaError_t allocate(void** pointer, size_t bytes) {
    constexpr size_t page = 4096;
    const size_t rounded = (bytes + page - 1) / page * page;
    *pointer = std::aligned_alloc(page, rounded == 0 ? page : rounded);
    if (*pointer == nullptr) {
        return cudaErrorMemoryAllocation;
    }
    if (poison()) {
        std::memset(*pointer, 0xff, rounded);
    }
    return cudaSuccess;
}

} // namespace

const char* cudaGetErrorString(cudaError_t error) {
    switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorNotReady: return "device not ready";
    }
    return "unknown error";
}
cudaError_t cudaGetLastError() { return cudaSuccess; }

cudaError_t cudaGetDeviceCount(int* count) {
    *count = ssp::World::get().ranks();
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    current_device = device;
    return device >= 0 ? cudaSuccess : cudaErrorInvalidDevice;
}
cudaError_t cudaGetDevice(int* device) {
    *device = current_device;
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
    std::set<cudaStream_t> mine;
    {
        const std::lock_guard lock(streams_mutex);
        for (const cudaStream_t stream : streams) {
            if (stream->rank == ssp::World::rank()) {
                mine.insert(stream);
            }
        }
    }
    for (const cudaStream_t stream : mine) {
        cudaStreamSynchronize(stream);
    }
    return cudaSuccess;
}

cudaError_t cudaMalloc(void** pointer, size_t bytes) { return allocate(pointer, bytes); }
cudaError_t cudaFree(void* pointer) {
    std::free(pointer);
    return cudaSuccess;
}
cudaError_t cudaMallocHost(void** pointer, size_t bytes) { return allocate(pointer, bytes); }
cudaError_t cudaFreeHost(void* pointer) { return cudaFree(pointer); }

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
    if (bytes > 0) {
        std::memmove(to, from, bytes);
    }
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
    if (bytes > 0) {
        ssp::host::enqueue(stream, [=] { std::memmove(to, from, bytes); });
    }
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
    if (bytes > 0) {
        ssp::host::enqueue(stream, [=] { std::memset(to, value, bytes); });
    }
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    static std::once_flag once;
    std::call_once(once, [] {
        if (openblas_set_num_threads != nullptr) {
            openblas_set_num_threads(1); // a rank is one thread
        }
    });
    *stream = new CUstream_st;
    (*stream)->rank = ssp::World::rank();
    if (ssp::host::streams_are_threads()) {
        (*stream)->thread = std::thread([s = *stream] { s->run(); });
    }
    const std::lock_guard lock(streams_mutex);
    streams.insert(*stream);
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) { return cudaStreamCreate(stream); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    {
        const std::lock_guard lock(streams_mutex);
        streams.erase(stream);
    }
    if (stream->thread.joinable()) {
        {
            const std::lock_guard lock(stream->mutex);
            stream->ends = true;
        }
        stream->changed.notify_all();
        stream->thread.join();
    }
    delete stream;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    if (stream != nullptr && stream->thread.joinable()) {
        stream->synchronize();
    }
    return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    if (ssp::host::streams_are_threads()) {
        const uint32_t asked = event->asked.load();
        ssp::host::enqueue(stream, [event, asked] {
            for (uint32_t done = event->done.value(); done < asked; done = event->done.value()) {
                event->done.wait(done);
            }
        });
    }
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
    *event = new CUevent_st;
    return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    event->asked.fetch_add(1);
    ssp::host::enqueue(stream, [event] {
        event->time = Clock::now().time_since_epoch().count();
        event->done.raise();
    });
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    const uint32_t asked = event->asked.load();
    for (uint32_t done = event->done.value(); done < asked; done = event->done.value()) {
        event->done.wait(done);
    }
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
    if (begin->done.value() == 0 || end->done.value() == 0) {
        return cudaErrorNotReady;
    }
    const Clock::duration between(end->time.load() - begin->time.load());
    *milliseconds = std::chrono::duration<float, std::milli>(between).count();
    return cudaSuccess;
}
