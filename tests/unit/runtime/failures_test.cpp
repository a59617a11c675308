// A rank that fails, calls that do not match, and runs that are stuck end with a message instead of a hang.
#include "rank_threads.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>

namespace ssp {
namespace {

using test::run_ranks;

TEST(RuntimeFailures, OneRankThatFailsWakesAll) {
    const auto report = run_ranks(8, [](int rank, ncclComm_t world) {
        float x = 1;
        if (rank == 5) {
            fail("SSP0801", "this rank gives up");
        }
        if (rank == 6) {
            ncclRecv(&x, 1, ncclFloat32, 5, world, nullptr);
        } else {
            ncclAllReduce(&x, &x, 1, ncclFloat32, ncclSum, world, nullptr);
        }
        ADD_FAILURE() << "rank " << rank << " went on";
    });
    EXPECT_EQ(report.rank, 5);
    EXPECT_EQ(report.message, "this rank gives up");
}

World::Report meeting(const std::function<void(int rank, ncclComm_t world, float* x)>& call) {
    return run_ranks(3, [&](int rank, ncclComm_t world) {
        std::vector<float> x(64, 1);
        site(rank == 1 ? "plan.ssp:21 (rank 1)" : "plan.ssp:7");
        call(rank, world, x.data());
        site("");
    });
}

void expect_mismatch(const World::Report& report, const std::string& one, const std::string& other) {
    EXPECT_EQ(report.code, "SSP0802");
    EXPECT_NE(report.message.find(one), std::string::npos) << report.message;
    EXPECT_NE(report.message.find(other), std::string::npos) << report.message;
}

TEST(RuntimeFailures, CountsThatDiffer) {
    const auto report = meeting([](int rank, ncclComm_t world, float* x) {
        ncclAllReduce(x, x, rank == 1 ? 5 : 4, ncclFloat32, ncclSum, world, nullptr);
    });
    expect_mismatch(report, "all_reduce(sum) of 5 f32 at plan.ssp:21 (rank 1)", "all_reduce(sum) of 4 f32 at plan.ssp:7");
}
TEST(RuntimeFailures, TypesThatDiffer) {
    const auto report = meeting([](int rank, ncclComm_t world, float* x) {
        ncclAllReduce(x, x, 4, rank == 1 ? ncclInt32 : ncclFloat32, ncclSum, world, nullptr);
    });
    expect_mismatch(report, "of 4 i32", "of 4 f32");
}
TEST(RuntimeFailures, KindsThatDiffer) {
    const auto report = meeting([](int rank, ncclComm_t world, float* x) {
        if (rank == 1) {
            ncclAllGather(x, x, 4, ncclFloat32, world, nullptr);
        } else {
            ncclAllReduce(x, x, 4, ncclFloat32, ncclMax, world, nullptr);
        }
    });
    expect_mismatch(report, "all_gather of 4", "all_reduce(max) of 4");
}
TEST(RuntimeFailures, RootsThatDiffer) {
    const auto report = meeting(
        [](int rank, ncclComm_t world, float* x) { ncclBroadcast(x, x, 4, ncclFloat32, rank == 1, world, nullptr); });
    expect_mismatch(report, "from member 1", "from member 0");
}
TEST(RuntimeFailures, AGroupWithOneCallMore) {
    const auto report = meeting([](int rank, ncclComm_t world, float* x) {
        ncclGroupStart();
        ncclAllReduce(x, x, 4, ncclFloat32, ncclSum, world, nullptr);
        if (rank == 1) {
            ncclAllReduce(x + 8, x + 8, 2, ncclFloat32, ncclSum, world, nullptr);
        }
        ncclGroupEnd();
    });
    expect_mismatch(report, "nothing", "all_reduce(sum) of 2");
}
TEST(RuntimeFailures, MessagesOfDifferentSize) {
    const auto report = meeting([](int rank, ncclComm_t world, float* x) {
        if (rank == 0) {
            ncclSend(x, 4, ncclFloat32, 1, world, nullptr);
        } else if (rank == 1) {
            ncclRecv(x, 6, ncclFloat32, 0, world, nullptr);
        }
    });
    expect_mismatch(report, "receive of 6", "send of 4");
}

TEST(RuntimeFailures, ARunThatIsStuckSaysWhatEachRankWaitsFor) {
    setenv("SSP_TIMEOUT", "0.4", 1);
    World::Report report;
    {
        const Watchdog watchdog;
        report = run_ranks(2, [](int rank, ncclComm_t world) {
            float x = 0;
            site(rank == 0 ? "plan.ssp:3" : "plan.ssp:4");
            ncclRecv(&x, 1, ncclFloat32, 1 - rank, world, nullptr); // both receive
            site("");
        });
    }
    unsetenv("SSP_TIMEOUT");
    EXPECT_EQ(report.code, "SSP0808");
    EXPECT_NE(report.message.find("rank 0 waits in receive of 1 f32 at plan.ssp:3"), std::string::npos) << report.message;
    EXPECT_NE(report.message.find("rank 1 waits in receive of 1 f32 at plan.ssp:4"), std::string::npos) << report.message;
}

} // namespace
} // namespace ssp
