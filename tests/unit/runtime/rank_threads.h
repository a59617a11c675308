// Runs a function on ranks that are threads, as the launcher does.
#pragma once

#include "common/world.h"

#include <cuda_runtime.h>
#include <nccl.h>

#include <functional>
#include <thread>
#include <vector>

namespace ssp::test {

/// The report of the first failure; its code is empty if there was none.
inline World::Report run_ranks(int count, const std::function<void(int rank, ncclComm_t world)>& work) {
    World& world = World::get();
    world.start(count);
    ncclUniqueId id;
    ncclGetUniqueId(&id);
    std::vector<std::thread> threads;
    std::vector<ncclComm_t> communicators(static_cast<size_t>(count), nullptr);
    for (int rank = 0; rank < count; ++rank) {
        threads.emplace_back([&, rank] {
            World::set_rank(rank);
            ncclComm_t& comm = communicators[static_cast<size_t>(rank)];
            try {
                ncclCommInitRank(&comm, count, id, rank);
                work(rank, comm);
            } catch (const Failure& failure) {
                world.fail(rank, failure.code, failure.what());
            } catch (const Stopped&) {
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (const ncclComm_t comm : communicators) {
        ncclCommDestroy(comm);
    }
    return world.report();
}

} // namespace ssp::test
