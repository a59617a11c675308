// Collectives and messages against sums in one thread.
#include "rank_threads.h"

#include "common/types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace ssp {
namespace {

using test::run_ranks;

float value(int rank, size_t i) { return std::sin(static_cast<float>(i * 7 + static_cast<size_t>(rank) * 13)) * 3; }

float reduced(int ranks, size_t i, ncclRedOp_t op) {
    float result = value(0, i);
    for (int r = 1; r < ranks; ++r) {
        const float x = value(r, i);
        result = op == ncclSum ? result + x : op == ncclProd ? result * x : op == ncclMax ? std::max(result, x) : std::min(result, x);
    }
    return result;
}

class Collectives : public testing::TestWithParam<int> {};

TEST_P(Collectives, GiveTheSameBitsAsASumInTheOrderOfRanks) {
    const int ranks = GetParam();
    const auto report = run_ranks(ranks, [&](int rank, ncclComm_t world) {
        for (const size_t count : {size_t(1), size_t(3), size_t(17), size_t(1000), size_t(4099)}) {
            const size_t all = count * static_cast<size_t>(ranks);
            std::vector<float> from(all), to(all);
            for (size_t i = 0; i < all; ++i) {
                from[i] = value(rank, i);
            }
            for (const ncclRedOp_t op : {ncclSum, ncclMax, ncclMin, ncclProd}) {
                to.assign(all, -99);
                ncclAllReduce(from.data(), to.data(), count, ncclFloat32, op, world, nullptr);
                for (size_t i = 0; i < count; ++i) {
                    ASSERT_EQ(to[i], reduced(ranks, i, op)) << "rank " << rank << " element " << i << " of " << count;
                }
                std::vector<float> in_place = from;
                ncclAllReduce(in_place.data(), in_place.data(), count, ncclFloat32, op, world, nullptr);
                ASSERT_EQ(std::memcmp(in_place.data(), to.data(), count * sizeof(float)), 0);

                const size_t begin = count * static_cast<size_t>(rank);
                ncclReduceScatter(from.data(), to.data(), count, ncclFloat32, op, world, nullptr);
                in_place = from;
                ncclReduceScatter(in_place.data(), in_place.data() + begin, count, ncclFloat32, op, world, nullptr);
                for (size_t i = 0; i < count; ++i) {
                    ASSERT_EQ(to[i], reduced(ranks, begin + i, op));
                    ASSERT_EQ(in_place[begin + i], to[i]);
                }
            }
            to.assign(all, -99);
            ncclAllGather(from.data(), to.data(), count, ncclFloat32, world, nullptr);
            std::vector<float> in_place(all, -99);
            const size_t begin = count * static_cast<size_t>(rank);
            std::copy_n(from.begin(), count, in_place.begin() + static_cast<int64_t>(begin));
            ncclAllGather(in_place.data() + begin, in_place.data(), count, ncclFloat32, world, nullptr);
            for (size_t i = 0; i < all; ++i) {
                ASSERT_EQ(to[i], value(static_cast<int>(i / count), i % count));
            }
            ASSERT_EQ(in_place, to);
            ncclBroadcast(from.data(), to.data(), count, ncclFloat32, ranks - 1, world, nullptr);
            for (size_t i = 0; i < count; ++i) {
                ASSERT_EQ(to[i], value(ranks - 1, i));
            }
        }
    });
    EXPECT_EQ(report.code, "") << report.message;
}

TEST_P(Collectives, OfOtherTypes) {
    const int ranks = GetParam();
    const auto report = run_ranks(ranks, [&](int rank, ncclComm_t world) {
        std::vector<int64_t> i64(5, rank + 1), to64(5);
        ncclAllReduce(i64.data(), to64.data(), 5, ncclInt64, ncclSum, world, nullptr);
        EXPECT_EQ(to64[4], ranks * (ranks + 1) / 2);
        std::vector<int32_t> i32(5, rank), to32(5);
        ncclAllReduce(i32.data(), to32.data(), 5, ncclInt32, ncclMax, world, nullptr);
        EXPECT_EQ(to32[0], ranks - 1);
        std::vector<double> f64(3, 0.5), to(3);
        ncclAllReduce(f64.data(), to.data(), 3, ncclFloat64, ncclSum, world, nullptr);
        EXPECT_EQ(to[2], 0.5 * ranks);
        std::vector<bf16> narrow(3, bf16(1.0f)), narrow_to(3);
        ncclAllReduce(narrow.data(), narrow_to.data(), 3, ncclBfloat16, ncclSum, world, nullptr);
        EXPECT_EQ(static_cast<float>(narrow_to[1]), static_cast<float>(ranks));
        std::vector<uint8_t> u8(2, static_cast<uint8_t>(rank)), to8(2 * static_cast<size_t>(ranks));
        ncclAllGather(u8.data(), to8.data(), 2, ncclUint8, world, nullptr);
        EXPECT_EQ(to8.back(), ranks - 1);
    });
    EXPECT_EQ(report.code, "") << report.message;
}

TEST_P(Collectives, OnPartsOfTheRanksMakeIndependentSums) {
    const int ranks = GetParam();
    const auto report = run_ranks(ranks, [&](int rank, ncclComm_t world) {
        ncclComm_t part = nullptr;
        ncclCommSplit(world, rank % 2, -rank, &part, nullptr); // the order of ranks turned round
        int size = 0, number = 0;
        ncclCommCount(part, &size);
        ncclCommUserRank(part, &number);
        const int members = (ranks + 1 - rank % 2) / 2;
        EXPECT_EQ(size, members);
        EXPECT_EQ(number, members - 1 - rank / 2);
        int32_t mine = rank, sum = 0, expected = 0;
        ncclAllReduce(&mine, &sum, 1, ncclInt32, ncclSum, part, nullptr);
        for (int r = rank % 2; r < ranks; r += 2) {
            expected += r;
        }
        EXPECT_EQ(sum, expected);
        // In one group and in different orders: nobody waits for ever.
        int32_t everybody = 0;
        ncclGroupStart();
        if (rank % 2 == 0) {
            ncclAllReduce(&mine, &sum, 1, ncclInt32, ncclMax, part, nullptr);
            ncclAllReduce(&mine, &everybody, 1, ncclInt32, ncclSum, world, nullptr);
        } else {
            ncclAllReduce(&mine, &everybody, 1, ncclInt32, ncclSum, world, nullptr);
            ncclAllReduce(&mine, &sum, 1, ncclInt32, ncclMax, part, nullptr);
        }
        ncclGroupEnd();
        EXPECT_EQ(everybody, ranks * (ranks - 1) / 2);
        ncclCommDestroy(part);
    });
    EXPECT_EQ(report.code, "") << report.message;
}

TEST_P(Collectives, MessagesRoundARingInOneGroup) {
    const int ranks = GetParam();
    const auto report = run_ranks(ranks, [&](int rank, ncclComm_t world) {
        std::vector<int32_t> mine(1000, rank), got(1000, -1);
        for (int turn = 0; turn < 50; ++turn) {
            ncclGroupStart();
            ncclSend(mine.data(), mine.size(), ncclInt32, (rank + 1) % ranks, world, nullptr);
            ncclRecv(got.data(), got.size(), ncclInt32, (rank + ranks - 1) % ranks, world, nullptr);
            ncclGroupEnd();
            ASSERT_EQ(got[999], ((rank - turn - 1) % ranks + ranks) % ranks);
            mine.swap(got);
        }
    });
    EXPECT_EQ(report.code, "") << report.message;
}

TEST_P(Collectives, EverybodySendsToEverybody) {
    const int ranks = GetParam();
    const auto report = run_ranks(ranks, [&](int rank, ncclComm_t world) {
        std::vector<int32_t> out(static_cast<size_t>(ranks)), in(static_cast<size_t>(ranks));
        ncclGroupStart();
        for (int peer = 0; peer < ranks; ++peer) {
            out[static_cast<size_t>(peer)] = rank * 100 + peer;
            ncclSend(&out[static_cast<size_t>(peer)], 1, ncclInt32, peer, world, nullptr);
            ncclRecv(&in[static_cast<size_t>(peer)], 1, ncclInt32, peer, world, nullptr);
        }
        ncclGroupEnd();
        for (int peer = 0; peer < ranks; ++peer) {
            EXPECT_EQ(in[static_cast<size_t>(peer)], peer * 100 + rank);
        }
    });
    EXPECT_EQ(report.code, "") << report.message;
}

INSTANTIATE_TEST_SUITE_P(OfRanks, Collectives, testing::Values(1, 2, 3, 8, 33));

} // namespace
} // namespace ssp
