// Streams and events in the calling thread. The example program runs with streams that are threads as well.
#include "host/enqueue.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace {

TEST(RuntimeStreams, WorkIsDoneInOrder) {
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    float* memory = nullptr;
    ASSERT_EQ(cudaMalloc(&memory, 4 * sizeof(float)), cudaSuccess);
    const float from[4] = {1, 2, 3, 4};
    cudaMemsetAsync(memory, 0, sizeof from, stream);
    cudaMemcpyAsync(memory + 1, from, 2 * sizeof(float), cudaMemcpyHostToDevice, stream);
    ssp::host::enqueue(stream, [memory] { memory[3] = memory[2] + 10; });
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(memory[0], 0);
    EXPECT_EQ(memory[1], 1);
    EXPECT_EQ(memory[3], 12);
    cudaFree(memory);
    cudaStreamDestroy(stream);
}

TEST(RuntimeStreams, EventsMeasureTime) {
    cudaStream_t stream = nullptr;
    cudaEvent_t begin = nullptr, end = nullptr;
    cudaStreamCreate(&stream);
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    float time = -1;
    EXPECT_EQ(cudaEventElapsedTime(&time, begin, end), cudaErrorNotReady);
    cudaEventRecord(begin, stream);
    cudaEventRecord(end, stream);
    cudaStreamWaitEvent(stream, end, 0);
    EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);
    EXPECT_EQ(cudaEventElapsedTime(&time, begin, end), cudaSuccess);
    EXPECT_GE(time, 0);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    cudaStreamDestroy(stream);
}

TEST(RuntimeStreams, MemoryThatIsNotThereIsAnError) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "sanitizers end the program where malloc gives null";
#endif
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, size_t(1) << 60), cudaErrorMemoryAllocation);
}

} // namespace
