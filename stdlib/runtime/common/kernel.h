// How generated kernels are launched. A kernel is a function object of one element, one row or one column; the forms below run it on every element
// on a GPU (a block a row) or in loops that the host compiler vectorises.
//
//   launch(stream, extent(n0, n1), k)                k(i0, i1): one element; the last index is the contiguous one
//   launch_rows(stream, extent(n0, n1), k)           k(row, i0, i1): one row; `row` reduces and loops over inner extents
//   launch_columns(stream, outer, inner, k)          k.term(i..., r...) summed (k.reduce) over inner, then k.store(i..., value)
//   launch_scatter(stream, extent(n0, n1), k)        like launch, in order on the host: elements may add to one place (see `add`)
#pragma once

#include "common/types.h"

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>
#include <utility>

#define SSP_KERNEL SSP_INLINE
#ifndef __CUDACC__
#include "host/enqueue.h"
#endif

namespace ssp {

/// A kernel's iteration space: up to five nested loops, the last contiguous.
template <int N>
struct Extent {
    int64_t n[N > 0 ? N : 1];
    SSP_KERNEL int64_t size() const {
        int64_t product = 1;
        for (int i = 0; i < N; ++i) {
            product *= n[i];
        }
        return product;
    }
};
template <typename... Sizes>
SSP_KERNEL Extent<static_cast<int>(sizeof...(Sizes))> extent(Sizes... sizes) {
    return {{static_cast<int64_t>(sizes)...}};
}

enum class Reduction { Sum, Max, Min, Prod };

template <Reduction R, typename T>
SSP_KERNEL T identity() {
    if constexpr (R == Reduction::Sum) {
        return T(0);
    } else if constexpr (R == Reduction::Prod) {
        return T(1);
    } else if constexpr (std::is_floating_point_v<T>) {
        return R == Reduction::Max ? -T(__builtin_inff()) : T(__builtin_inff());
    } else {
        constexpr T top = static_cast<T>((~std::make_unsigned_t<T>(0)) >> (std::is_signed_v<T> ? 1 : 0));
        constexpr T bottom = std::is_signed_v<T> ? static_cast<T>(-top - 1) : T(0);
        return R == Reduction::Max ? bottom : top;
    }
}
template <Reduction R, typename T>
SSP_KERNEL T combine(T a, T b) {
    if constexpr (R == Reduction::Sum) {
        return a + b;
    } else if constexpr (R == Reduction::Prod) {
        return a * b;
    } else if constexpr (R == Reduction::Max) {
        return a > b ? a : (b == b ? b : (a == a ? b : a));
    } else {
        return a < b ? a : (b == b ? b : (a == a ? b : a));
    }
}

/// Adds to a place that other elements of the launch may add to. On a GPU the order of such sums is not fixed.
template <typename T>
SSP_KERNEL void add(T* place, T value) {
#ifdef __CUDA_ARCH__
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
        atomicAdd(place, value);
    } else {
        T::atomic_add(place, value);
    }
#else
    *place = *place + value;
#endif
}

/// The index itself if it lies in [0, size), else 0 with a mark for the launcher: `statement` counts the generated program's checked statements from 1.
SSP_KERNEL int64_t checked(int64_t index, int64_t size, int64_t* error, int64_t statement) {
    if (index >= 0 && index < size) {
        return index;
    }
    *error = statement;
    return 0;
}

#ifndef __CUDACC__

namespace detail {

template <typename F>
inline __attribute__((always_inline)) void loop(const Extent<0>&, const F& f) {
    f();
}
template <typename F>
inline __attribute__((always_inline)) void loop(const Extent<1>& e, const F& f) {
    const int64_t n0 = e.n[0];
#pragma GCC ivdep
    for (int64_t i = 0; i < n0; ++i) {
        f(i);
    }
}
template <int N, typename F>
inline __attribute__((always_inline)) void loop(const Extent<N>& e, const F& f) {
    Extent<N - 1> rest;
    for (int d = 1; d < N; ++d) {
        rest.n[d - 1] = e.n[d];
    }
    for (int64_t i = 0; i < e.n[0]; ++i) {
        loop(rest, [&](auto... j) __attribute__((always_inline)) { f(i, j...); });
    }
}
/// Without the promise that elements are independent.
template <typename F>
inline void loop_in_order(const Extent<0>&, const F& f) {
    f();
}
template <int N, typename F>
inline void loop_in_order(const Extent<N>& e, const F& f) {
    Extent<N - 1> rest{};
    for (int d = 1; d < N; ++d) {
        rest.n[d - 1] = e.n[d];
    }
    for (int64_t i = 0; i < e.n[0]; ++i) {
        loop_in_order(rest, [&](auto... j) { f(i, j...); });
    }
}

/// The type that adds up the sums of blocks: a long sum of floats would else lose what is small beside it.
template <Reduction R, typename T>
using Total = std::conditional_t<R == Reduction::Sum && std::is_same_v<T, float>, double, T>;

template <Reduction R, typename T, typename F>
inline __attribute__((always_inline)) T reduce_loop(int64_t n, const F& f) {
    T value = identity<R, T>();
    if constexpr (R == Reduction::Sum) {
        constexpr int64_t block = 256;
        Total<R, T> total{};
        for (int64_t begin = 0; begin < n; begin += block) {
            const int64_t end = n - begin < block ? n : begin + block;
            T sum{};
#pragma omp simd reduction(+ : sum)
            for (int64_t j = begin; j < end; ++j) {
                sum += f(j);
            }
            total += sum;
        }
        value = static_cast<T>(total);
    } else if constexpr (R == Reduction::Max && std::is_floating_point_v<T>) {
#pragma omp simd reduction(max : value)
        for (int64_t j = 0; j < n; ++j) {
            const T x = f(j);
            value = x > value ? x : value;
        }
    } else if constexpr (R == Reduction::Min && std::is_floating_point_v<T>) {
#pragma omp simd reduction(min : value)
        for (int64_t j = 0; j < n; ++j) {
            const T x = f(j);
            value = x < value ? x : value;
        }
    } else {
        for (int64_t j = 0; j < n; ++j) {
            value = combine<R, T>(value, f(j));
        }
    }
    return value;
}

} // namespace detail

/// The loops of one row on the host.
struct Row {
    template <Reduction R, typename T, typename F>
    SSP_KERNEL T reduce(const Extent<0>&, const F& f) const {
        return f();
    }
    template <Reduction R, typename T, typename F>
    SSP_KERNEL T reduce(const Extent<1>& e, const F& f) const {
        return detail::reduce_loop<R, T>(e.n[0], f);
    }
    template <Reduction R, typename T, int N, typename F>
    SSP_KERNEL T reduce(const Extent<N>& e, const F& f) const {
        Extent<N - 1> rest{};
        for (int d = 1; d < N; ++d) {
            rest.n[d - 1] = e.n[d];
        }
        using Total = detail::Total<R, T>;
        Total value = identity<R, Total>();
        for (int64_t i = 0; i < e.n[0]; ++i) {
            const T inner = reduce<R, T>(rest, [&](auto... j) __attribute__((always_inline)) { return f(i, j...); });
            value = combine<R, Total>(value, inner);
        }
        return static_cast<T>(value);
    }
    template <int N, typename F>
    SSP_KERNEL void each(const Extent<N>& e, const F& f) const {
        detail::loop(e, f);
    }
    /// Once a row: stores of a row's own values.
    template <typename F>
    SSP_KERNEL void once(const F& f) const {
        f();
    }
};

template <int N, typename K>
void launch(cudaStream_t stream, const Extent<N>& e, const K& kernel) {
    host::enqueue(stream, [e, kernel] {
        detail::loop(e, [&](auto... i) __attribute__((always_inline)) { kernel(i...); });
    });
}

template <int N, typename K>
void launch_rows(cudaStream_t stream, const Extent<N>& e, const K& kernel) {
    host::enqueue(stream, [e, kernel] {
        const Row row;
        detail::loop_in_order(e, [&](auto... i) __attribute__((always_inline)) { kernel(row, i...); });
    });
}

template <int N, typename K>
void launch_scatter(cudaStream_t stream, const Extent<N>& e, const K& kernel) {
    host::enqueue(stream, [e, kernel] { detail::loop_in_order(e, [&](auto... i) { kernel(i...); }); });
}

/// The last outer index is the vector: sums run over blocks of columns, so that memory is read in order.
template <int N, int M, typename K>
void launch_columns(cudaStream_t stream, const Extent<N>& outer, const Extent<M>& inner, const K& kernel) {
    host::enqueue(stream, [outer, inner, kernel] {
        constexpr int64_t width = 64;
        using T = typename K::Value;
        Extent<N - 1> prefix{};
        for (int d = 0; d + 1 < N; ++d) {
            prefix.n[d] = outer.n[d];
        }
        const int64_t columns = outer.n[N - 1];
        detail::loop_in_order(prefix, [&](auto... i) {
            for (int64_t begin = 0; begin < columns; begin += width) {
                const int64_t count = columns - begin < width ? columns - begin : width;
                T values[width];
                for (int64_t j = 0; j < width; ++j) {
                    values[j] = identity<K::reduction, T>();
                }
                detail::loop_in_order(inner, [&](auto... r) __attribute__((always_inline)) {
                    if (count == width) {
#pragma GCC ivdep
                        for (int64_t j = 0; j < width; ++j) {
                            values[j] = combine<K::reduction, T>(values[j], kernel.term(i..., begin + j, r...));
                        }
                    } else {
                        for (int64_t j = 0; j < count; ++j) {
                            values[j] = combine<K::reduction, T>(values[j], kernel.term(i..., begin + j, r...));
                        }
                    }
                });
                for (int64_t j = 0; j < count; ++j) {
                    kernel.store(i..., begin + j, values[j]);
                }
            }
        });
    });
}

#else // __CUDACC__

namespace detail {

/// Calls f with the coordinates of element `at` of the extent.
template <int N, typename F, typename... Indices>
__device__ __forceinline__ void at_index(const Extent<N>& e, int64_t at, const F& f, Indices... indices) {
    if constexpr (static_cast<int>(sizeof...(Indices)) == N) {
        f(indices...);
    } else {
        // Coordinates are found from the last to the first.
        const int64_t n = e.n[N - 1 - static_cast<int>(sizeof...(Indices))];
        if constexpr (static_cast<int>(sizeof...(Indices)) == N - 1) {
            f(at, indices...);
        } else {
            at_index(e, at / n, f, at % n, indices...);
        }
    }
}

constexpr int threads = 256;

template <int N, typename K>
__global__ void __launch_bounds__(threads) run_elements(Extent<N> e, K kernel) {
    const int64_t size = e.size();
    for (int64_t i = blockIdx.x * int64_t(threads) + threadIdx.x; i < size; i += int64_t(gridDim.x) * threads) {
        at_index(e, i, [&](auto... j) { kernel(j...); });
    }
}

inline unsigned blocks_for(int64_t work) {
    constexpr int64_t most = 1 << 16;
    return static_cast<unsigned>(work < 1 ? 1 : work < most ? work : most);
}

} // namespace detail

/// The loops of one row, shared by the threads of a block.
struct Row {
    template <Reduction R, typename T, int N, typename F>
    __device__ __forceinline__ T reduce(const Extent<N>& e, const F& f) const {
        __shared__ T partial[detail::threads / 32];
        T value = identity<R, T>();
        const int64_t size = e.size();
        for (int64_t i = threadIdx.x; i < size; i += detail::threads) {
            detail::at_index(e, i, [&](auto... j) { value = combine<R, T>(value, f(j...)); });
        }
        for (int step = 16; step > 0; step /= 2) {
            value = combine<R, T>(value, __shfl_xor_sync(0xffffffffu, value, step));
        }
        __syncthreads();
        if (threadIdx.x % 32 == 0) {
            partial[threadIdx.x / 32] = value;
        }
        __syncthreads();
        value = partial[0];
        for (int w = 1; w < detail::threads / 32; ++w) {
            value = combine<R, T>(value, partial[w]);
        }
        return value;
    }
    template <int N, typename F>
    __device__ __forceinline__ void each(const Extent<N>& e, const F& f) const {
        const int64_t size = e.size();
        for (int64_t i = threadIdx.x; i < size; i += detail::threads) {
            detail::at_index(e, i, f);
        }
        __syncthreads();
    }
    template <typename F>
    __device__ __forceinline__ void once(const F& f) const {
        __syncthreads(); // all have read what the store may change
        if (threadIdx.x == 0) {
            f();
        }
        __syncthreads();
    }
};

namespace detail {

template <int N, typename K>
__global__ void __launch_bounds__(threads) run_rows(Extent<N> e, K kernel) {
    const int64_t size = e.size();
    const Row row;
    for (int64_t i = blockIdx.x; i < size; i += gridDim.x) {
        at_index(e, i, [&](auto... j) { kernel(row, j...); });
    }
}

/// A block sums 32 columns with 8 rows of threads.
template <int N, int M, typename K>
__global__ void __launch_bounds__(threads) run_columns(Extent<N> outer, Extent<M> inner, K kernel) {
    using T = typename K::Value;
    __shared__ T partial[threads / 32][33];
    const int64_t columns = outer.size();
    const int64_t terms = inner.size();
    const int lane = threadIdx.x % 32;
    const int part = threadIdx.x / 32;
    for (int64_t begin = int64_t(blockIdx.x) * 32; begin < columns; begin += int64_t(gridDim.x) * 32) {
        T value = identity<K::reduction, T>();
        if (begin + lane < columns) {
            at_index(outer, begin + lane, [&](auto... i) {
                for (int64_t r = part; r < terms; r += threads / 32) {
                    at_index(inner, r, [&](auto... k) {
                        value = combine<K::reduction, T>(value, kernel.term(i..., k...));
                    });
                }
            });
        }
        partial[part][lane] = value;
        __syncthreads();
        if (part == 0 && begin + lane < columns) {
            for (int p = 1; p < threads / 32; ++p) {
                value = combine<K::reduction, T>(value, partial[p][lane]);
            }
            at_index(outer, begin + lane, [&](auto... i) { kernel.store(i..., value); });
        }
        __syncthreads();
    }
}

} // namespace detail

template <int N, typename K>
void launch(cudaStream_t stream, const Extent<N>& e, const K& kernel) {
    if (e.size() > 0) {
        const unsigned blocks = detail::blocks_for((e.size() + detail::threads - 1) / detail::threads);
        detail::run_elements<<<blocks, detail::threads, 0, stream>>>(e, kernel);
    }
}
template <int N, typename K>
void launch_scatter(cudaStream_t stream, const Extent<N>& e, const K& kernel) {
    launch(stream, e, kernel);
}
template <int N, typename K>
void launch_rows(cudaStream_t stream, const Extent<N>& e, const K& kernel) {
    if (e.size() > 0) {
        detail::run_rows<<<detail::blocks_for(e.size()), detail::threads, 0, stream>>>(e, kernel);
    }
}
template <int N, int M, typename K>
void launch_columns(cudaStream_t stream, const Extent<N>& outer, const Extent<M>& inner, const K& kernel) {
    if (outer.size() > 0) {
        const unsigned blocks = detail::blocks_for((outer.size() + 31) / 32);
        detail::run_columns<<<blocks, detail::threads, 0, stream>>>(outer, inner, kernel);
    }
}

#endif

} // namespace ssp
