// NCCL's calls between ranks that are threads: communicators, collectives and messages.
#include "host/nccl.h"

#include "common/types.h"
#include "common/world.h"
#include "host/enqueue.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

using ssp::World;

enum class Kind { AllReduce, ReduceScatter, AllGather, Broadcast, Send, Receive };

struct Call {
    Kind kind;
    const void* from = nullptr;
    void* to = nullptr;
    size_t count = 0; ///< of AllReduce, Broadcast, messages: all elements; of the others: each rank's part
    ncclDataType_t type = ncclFloat32;
    ncclRedOp_t op = ncclSum;
    int peer = -1; ///< or the root
    ncclComm_t comm = nullptr;
    cudaStream_t stream = nullptr;
    const char* site = "";
};

size_t size_of(ncclDataType_t type) {
    switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2: return 1;
    case ncclFloat16:
    case ncclBfloat16: return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32: return 4;
    default: return 8;
    }
}
const char* name_of(ncclDataType_t type) {
    static const char* const names[] = {"i8",  "u8",  "i32", "u32",  "i64",    "u64",
                                        "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2"};
    return names[type];
}
const char* name_of(const Call& call) {
    static const char* const reductions[] = {"all_reduce(sum)", "all_reduce(prod)", "all_reduce(max)", "all_reduce(min)"};
    static const char* const scatters[] = {"reduce_scatter(sum)", "reduce_scatter(prod)", "reduce_scatter(max)",
                                           "reduce_scatter(min)"};
    switch (call.kind) {
    case Kind::AllReduce: return reductions[call.op];
    case Kind::ReduceScatter: return scatters[call.op];
    case Kind::AllGather: return "all_gather";
    case Kind::Broadcast: return "broadcast";
    case Kind::Send: return "send";
    case Kind::Receive: return "receive";
    }
    return "";
}

/// The calls of one group. Shared, so that a rank may still read those of another that has failed meanwhile.
using Group = std::shared_ptr<const std::vector<Call>>;

/// A sent message that waits for its receiver.
struct Sent {
    Group group;
    const Call* call = nullptr;
    std::atomic<bool> done{false};
    ssp::Signal* sender = nullptr;
};
struct Channel {
    std::mutex mutex;
    std::deque<std::shared_ptr<Sent>> sent;
    ssp::Signal posted;
};

/// What the members of a communicator share.
struct Members {
    Members(int count, uint64_t number)
        : size(count), id(number), world_rank(static_cast<size_t>(count)), posts(static_cast<size_t>(count)),
          entered(count), left(count) {}

    const int size;
    const uint64_t id; ///< communicators are numbered in the order in which they are made, equally for all members
    std::vector<int> world_rank;
    /// What a member brings to a meeting. Two take turns: a member may be at the next meeting while others still read of this one.
    struct Post {
        Group group;
        std::vector<const Call*> calls;
        std::vector<char> values; ///< of a small meeting: copies of what the calls send, one after another
    };
    std::vector<std::array<Post, 2>> posts;
    ssp::Barrier entered;
    ssp::Barrier left;
    std::mutex mutex;
    std::map<std::pair<int, int>, Channel> channels; ///< from, to

    struct Split {
        int color = 0;
        int key = 0;
        std::shared_ptr<Members> part;
        int rank = 0;
    };
    std::vector<Split> splits;

    Channel& channel(int from, int to) {
        const std::lock_guard lock(mutex);
        return channels[{from, to}];
    }
};

} // namespace

struct ncclComm {
    std::shared_ptr<Members> members;
    int rank = 0;
    int turn = 0; ///< of the meetings
};

namespace {

std::string describe(const Call& call) {
    std::string text = std::string(name_of(call)) + " of " + std::to_string(call.count) + " " + name_of(call.type);
    if (call.kind == Kind::Broadcast) {
        text += " from member " + std::to_string(call.peer);
    }
    if (*call.site != 0) {
        text += std::string(" at ") + call.site;
    }
    return text;
}
[[noreturn]] void mismatch(const Call* mine, int my_rank, const Call* other, int other_rank) {
    const auto text = [](const Call* call) { return call != nullptr ? describe(*call) : std::string("nothing"); };
    ssp::fail("SSP0802", "calls that meet do not match: rank " + std::to_string(my_rank) + " calls " + text(mine) +
                             ", rank " + std::to_string(other_rank) + " calls " + text(other));
}

/// Names what the calling thread waits for while it does.
class Waiting {
public:
    explicit Waiting(const Call& call) {
        const bool message = call.kind == Kind::Send || call.kind == Kind::Receive;
        World::get().set_pending(
            {name_of(call), call.count, name_of(call.type), message ? 0 : call.comm->members->size, call.site});
    }
    ~Waiting() { World::get().clear_pending(); }
};

// ---- reductions ----

template <ncclRedOp_t Op, typename T>
inline T combine(T a, T b) {
    if constexpr (Op == ncclSum) {
        return a + b;
    } else if constexpr (Op == ncclProd) {
        return a * b;
    } else if constexpr (Op == ncclMax) {
        return (a > b) | (a != a) ? a : b;
    } else {
        return (a < b) | (a != a) ? a : b;
    }
}

/// Elements [begin, end) of all members' `from`, combined in the order of ranks in blocks that fit the first cache; element i goes to index
/// i - offset of every target. A block is stored when all members' elements of it have been read.
template <ncclRedOp_t Op, typename T>
void reduce(const std::vector<const T*>& from, size_t begin, size_t end, const std::vector<T*>& targets, size_t offset) {
    using A = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
    constexpr size_t block = 1024;
    alignas(64) A sum[block];
    for (size_t at = begin; at < end; at += block) {
        const size_t n = std::min(block, end - at);
        const T* first = from[0] + at;
        for (size_t i = 0; i < n; ++i) {
            sum[i] = static_cast<A>(first[i]);
        }
        for (size_t r = 1; r < from.size(); ++r) {
            const T* next = from[r] + at;
#pragma GCC ivdep
            for (size_t i = 0; i < n; ++i) {
                sum[i] = combine<Op, A>(sum[i], static_cast<A>(next[i]));
            }
        }
        for (T* target : targets) {
            T* to = target + (at - offset);
#pragma GCC ivdep
            for (size_t i = 0; i < n; ++i) {
                to[i] = static_cast<T>(sum[i]);
            }
        }
    }
}

template <typename T, typename F>
void with_op(ncclRedOp_t op, const F& f) {
    switch (op) {
    case ncclSum: return f.template operator()<ncclSum, T>();
    case ncclProd: return f.template operator()<ncclProd, T>();
    case ncclMax: return f.template operator()<ncclMax, T>();
    case ncclMin: return f.template operator()<ncclMin, T>();
    }
}
template <typename F>
void with_type(ncclDataType_t type, ncclRedOp_t op, const F& f) {
    switch (type) {
    case ncclInt8: return with_op<int8_t>(op, f);
    case ncclUint8: return with_op<uint8_t>(op, f);
    case ncclInt32: return with_op<int32_t>(op, f);
    case ncclUint32: return with_op<uint32_t>(op, f);
    case ncclInt64: return with_op<int64_t>(op, f);
    case ncclUint64: return with_op<uint64_t>(op, f);
    case ncclFloat16: return with_op<ssp::f16>(op, f);
    case ncclFloat32: return with_op<float>(op, f);
    case ncclFloat64: return with_op<double>(op, f);
    case ncclBfloat16: return with_op<ssp::bf16>(op, f);
    case ncclFloat8e4m3: return with_op<ssp::f8e4m3>(op, f);
    case ncclFloat8e5m2: return with_op<ssp::f8e5m2>(op, f);
    }
}

/// Bytes that one member sends.
size_t sent_bytes(const Call& call) {
    const size_t parts = call.kind == Kind::ReduceScatter ? static_cast<size_t>(call.comm->members->size) : 1;
    return call.count * size_of(call.type) * parts;
}

/// The room that its copy takes: whatever follows is aligned as well.
size_t room(const Call& call) { return (sent_bytes(call) + 15) / 16 * 16; }

/// A member's call, and where what it sends lies.
struct Met {
    const Call* call = nullptr;
    const void* from = nullptr;
};

/// In a small meeting the members' values are copies, and each member makes its own result of them. In a large one each makes its share of
/// everybody's result, and nobody leaves before all shares are done; no member writes what another reads, also where `from` and `to` are the same.
enum class Meeting { Small, Large };

void reduce_all(const std::vector<Met>& met, int rank, Meeting meeting) {
    const Call& mine = *met[static_cast<size_t>(rank)].call;
    const auto part = static_cast<size_t>(rank);
    const size_t n = met.size();
    with_type(mine.type, mine.op, [&]<ncclRedOp_t Op, typename T>() {
        std::vector<const T*> from(n);
        std::vector<T*> to(n);
        for (size_t r = 0; r < n; ++r) {
            from[r] = static_cast<const T*>(met[r].from);
            to[r] = static_cast<T*>(met[r].call->to);
        }
        size_t begin = 0, end = mine.count, offset = 0;
        if (mine.kind == Kind::ReduceScatter) {
            begin = offset = part * mine.count;
            end = begin + mine.count;
            to = {static_cast<T*>(mine.to)};
        } else if (meeting == Meeting::Small) {
            to = {static_cast<T*>(mine.to)};
        } else {
            const size_t share = (mine.count + n - 1) / n;
            begin = std::min(mine.count, part * share);
            end = std::min(mine.count, begin + share);
        }
        reduce<Op, T>(from, begin, end, to, offset);
    });
}

void copy_bytes(void* to, const void* from, size_t bytes) {
    if (to != from && bytes > 0) {
        std::memcpy(to, from, bytes);
    }
}

/// The calling member's work for one collective, once everybody has come.
void carry_out(const std::vector<Met>& met, int rank, Meeting meeting) {
    const auto part = static_cast<size_t>(rank);
    const Call& mine = *met[part].call;
    const size_t bytes = mine.count * size_of(mine.type);
    if (mine.kind == Kind::AllReduce || mine.kind == Kind::ReduceScatter) {
        reduce_all(met, rank, meeting);
    } else if (mine.kind == Kind::AllGather && meeting == Meeting::Small) {
        for (size_t r = 0; r < met.size(); ++r) {
            copy_bytes(static_cast<char*>(mine.to) + r * bytes, met[r].from, bytes);
        }
    } else if (mine.kind == Kind::AllGather) {
        for (const Met& other : met) {
            copy_bytes(static_cast<char*>(other.call->to) + part * bytes, met[part].from, bytes);
        }
    } else {
        copy_bytes(mine.to, met[static_cast<size_t>(mine.peer)].from, bytes);
    }
}

bool meets(const Call& a, const Call& b) {
    const bool reduces = a.kind == Kind::AllReduce || a.kind == Kind::ReduceScatter;
    return a.kind == b.kind && a.count == b.count && a.type == b.type && (!reduces || a.op == b.op) &&
           (a.kind != Kind::Broadcast || a.peer == b.peer);
}

/// All collectives of a group on one communicator: one meeting. A large one has an end that all wait for.
void meet(const Group& group, const std::vector<const Call*>& calls) {
    ncclComm& comm = *calls[0]->comm;
    Members& members = *comm.members;
    const auto rank = static_cast<size_t>(comm.rank);
    const auto size = static_cast<size_t>(members.size);
    const auto turn = static_cast<size_t>(comm.turn++ % 2);
    const Waiting waiting(*calls[0]);

    size_t bytes = 0;
    for (const Call* call : calls) {
        bytes += sent_bytes(*call);
    }
    constexpr size_t small_meeting = 32768; // bytes that each member reads
    const Meeting meeting = bytes * size <= small_meeting ? Meeting::Small : Meeting::Large;
    Members::Post& post = members.posts[rank][turn];
    post.group = group;
    post.calls = calls;
    post.values.clear();
    if (meeting == Meeting::Small) {
        for (const Call* call : calls) {
            const size_t at = post.values.size();
            post.values.resize(at + room(*call));
            if (call->kind != Kind::Broadcast || call->peer == comm.rank) {
                copy_bytes(post.values.data() + at, call->from, sent_bytes(*call));
            }
        }
    }
    members.entered.wait();

    // All members see a difference here, so none begins before all calls are known to match.
    std::vector<std::vector<Met>> met(calls.size(), std::vector<Met>(size));
    for (size_t r = 0; r < size; ++r) {
        const Members::Post& other = members.posts[r][turn];
        size_t at = 0;
        for (size_t i = 0; i < std::max(calls.size(), other.calls.size()); ++i) {
            const Call* mine = i < calls.size() ? calls[i] : nullptr;
            const Call* theirs = i < other.calls.size() ? other.calls[i] : nullptr;
            if (mine == nullptr || theirs == nullptr || !meets(*mine, *theirs)) {
                mismatch(mine, members.world_rank[rank], theirs, members.world_rank[r]);
            }
            met[i][r] = {theirs, meeting == Meeting::Small ? other.values.data() + at : theirs->from};
            at += room(*theirs);
        }
    }
    for (const std::vector<Met>& all : met) {
        carry_out(all, comm.rank, meeting);
    }
    if (meeting == Meeting::Large) {
        members.left.wait();
    }
}

// ---- messages ----

void receive(const Call& call) {
    Channel& channel = call.comm->members->channel(call.peer, call.comm->rank);
    std::shared_ptr<Sent> sent;
    const Waiting waiting(call);
    for (;;) {
        const uint32_t seen = channel.posted.value();
        {
            const std::lock_guard lock(channel.mutex);
            if (!channel.sent.empty()) {
                sent = std::move(channel.sent.front());
                channel.sent.pop_front();
                break;
            }
        }
        channel.posted.wait(seen);
    }
    const Call& other = *sent->call;
    if (other.count != call.count || other.type != call.type) {
        const std::vector<int>& world_rank = call.comm->members->world_rank;
        mismatch(&call, world_rank[static_cast<size_t>(call.comm->rank)], &other,
                 world_rank[static_cast<size_t>(call.peer)]);
    }
    if (call.count > 0) {
        std::memmove(call.to, other.from, call.count * size_of(call.type));
    }
    sent->done.store(true, std::memory_order_release);
    sent->sender->raise();
}

/// What wakes a thread that sent messages. Never destroyed: a receiver may raise it when the thread has gone.
ssp::Signal& my_signal() {
    thread_local ssp::Signal* signal = new ssp::Signal;
    return *signal;
}

/// All messages are posted, then all received, then the collectives, communicator by communicator in the order in which these were made.
void carry_out_group(const Group& group) {
    std::vector<std::shared_ptr<Sent>> sent;
    std::map<uint64_t, std::vector<const Call*>> collectives;
    for (const Call& call : *group) {
        if (call.kind == Kind::Send) {
            auto entry = std::make_shared<Sent>();
            entry->group = group;
            entry->call = &call;
            entry->sender = &my_signal();
            Channel& channel = call.comm->members->channel(call.comm->rank, call.peer);
            {
                const std::lock_guard lock(channel.mutex);
                channel.sent.push_back(entry);
            }
            channel.posted.raise();
            sent.push_back(std::move(entry));
        } else if (call.kind != Kind::Receive) {
            collectives[call.comm->members->id].push_back(&call);
        }
    }
    for (const Call& call : *group) {
        if (call.kind == Kind::Receive) {
            receive(call);
        }
    }
    for (const auto& [id, calls] : collectives) {
        meet(group, calls);
    }
    for (const auto& entry : sent) {
        const Waiting waiting(*entry->call);
        for (;;) {
            const uint32_t seen = my_signal().value();
            if (entry->done.load(std::memory_order_acquire)) {
                break;
            }
            my_signal().wait(seen);
        }
    }
}

thread_local int group_depth = 0;
thread_local std::vector<Call> open_group;

void start(const std::vector<Call>& calls) {
    if (!ssp::host::streams_are_threads()) {
        ssp::host::count_work();
        carry_out_group(std::make_shared<const std::vector<Call>>(calls));
        return;
    }
    // What lies on one stream is one operation of that stream.
    std::vector<cudaStream_t> streams;
    for (const Call& call : calls) {
        if (std::find(streams.begin(), streams.end(), call.stream) == streams.end()) {
            streams.push_back(call.stream);
        }
    }
    for (const cudaStream_t stream : streams) {
        auto same = std::make_shared<std::vector<Call>>();
        std::copy_if(calls.begin(), calls.end(), std::back_inserter(*same),
                     [&](const Call& call) { return call.stream == stream; });
        ssp::host::enqueue(stream, [group = Group(same)] { carry_out_group(group); });
    }
}

ncclResult_t add(Call call) {
    call.site = ssp::site();
    if (call.comm == nullptr || call.peer >= call.comm->members->size) {
        return ncclInvalidArgument;
    }
    open_group.push_back(call);
    return group_depth > 0 ? ncclSuccess : (group_depth = 1, ncclGroupEnd());
}

std::mutex made_mutex;
std::map<std::string, std::weak_ptr<Members>> made; ///< by unique id
uint64_t next_number = 1;

} // namespace

const char* ncclGetErrorString(ncclResult_t result) {
    return result == ncclSuccess ? "no error" : result == ncclInvalidArgument ? "invalid argument" : "invalid usage";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
    const std::lock_guard lock(made_mutex);
    std::memset(id, 0, sizeof *id);
    const std::string text = std::to_string(next_number++);
    std::memcpy(id->internal, text.data(), text.size());
    return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
    if (rank < 0 || rank >= ranks) {
        return ncclInvalidArgument;
    }
    std::shared_ptr<Members> members;
    {
        const std::lock_guard lock(made_mutex);
        std::weak_ptr<Members>& slot = made[id.internal];
        members = slot.lock();
        if (!members) {
            members = std::make_shared<Members>(ranks, next_number++);
            slot = members;
        }
    }
    if (members->size != ranks) {
        return ncclInvalidUsage;
    }
    members->world_rank[static_cast<size_t>(rank)] = World::rank() >= 0 ? World::rank() : rank;
    World::get().set_pending({"ncclCommInitRank", static_cast<uint64_t>(ranks), "ranks", 0, ssp::site()});
    members->entered.wait();
    World::get().clear_pending();
    *comm = new ncclComm{members, rank};
    return ncclSuccess;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* part, ncclConfig_t*) {
    Members& members = *comm->members;
    {
        const std::lock_guard lock(members.mutex);
        members.splits.resize(static_cast<size_t>(members.size));
        members.splits[static_cast<size_t>(comm->rank)] = {color, key, nullptr, 0};
    }
    World::get().set_pending(
        {"ncclCommSplit", static_cast<uint64_t>(members.size), "ranks", 0, ssp::site()});
    members.entered.wait([&] {
        std::map<int, std::vector<std::pair<int, size_t>>> colors;
        for (size_t r = 0; r < members.splits.size(); ++r) {
            if (members.splits[r].color != NCCL_SPLIT_NOCOLOR) {
                colors[members.splits[r].color].emplace_back(members.splits[r].key, r);
            }
        }
        for (auto& [same, list] : colors) {
            std::sort(list.begin(), list.end());
            std::shared_ptr<Members> made_part;
            {
                const std::lock_guard lock(made_mutex);
                made_part = std::make_shared<Members>(static_cast<int>(list.size()), next_number++);
            }
            for (size_t i = 0; i < list.size(); ++i) {
                made_part->world_rank[i] = members.world_rank[list[i].second];
                members.splits[list[i].second].part = made_part;
                members.splits[list[i].second].rank = static_cast<int>(i);
            }
        }
    });
    const Members::Split mine = members.splits[static_cast<size_t>(comm->rank)];
    members.left.wait();
    World::get().clear_pending();
    *part = mine.part ? new ncclComm{mine.part, mine.rank} : nullptr;
    return ncclSuccess;
}

ncclResult_t ncclCommCount(ncclComm_t comm, int* count) {
    *count = comm->members->size;
    return ncclSuccess;
}
ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) {
    *rank = comm->rank;
    return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
    delete comm;
    return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
    return add({Kind::AllReduce, from, to, count, type, op, -1, comm, stream});
}
ncclResult_t ncclReduceScatter(const void* from, void* to, size_t received, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
    return add({Kind::ReduceScatter, from, to, received, type, op, -1, comm, stream});
}
ncclResult_t ncclAllGather(const void* from, void* to, size_t sent, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
    return add({Kind::AllGather, from, to, sent, type, ncclSum, -1, comm, stream});
}
ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
    return add({Kind::Broadcast, from, to, count, type, ncclSum, root, comm, stream});
}
ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
    return add({Kind::Send, from, nullptr, count, type, ncclSum, peer, comm, stream});
}
ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
    return add({Kind::Receive, nullptr, to, count, type, ncclSum, peer, comm, stream});
}

ncclResult_t ncclGroupStart() {
    ++group_depth;
    return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
    if (group_depth == 0) {
        return ncclInvalidUsage;
    }
    if (--group_depth == 0 && !open_group.empty()) {
        std::vector<Call> calls;
        calls.swap(open_group);
        start(calls);
    }
    return ncclSuccess;
}
