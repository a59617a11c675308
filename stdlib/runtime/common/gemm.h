// Matrix products, row-major: c[m, n] = alpha * sum over k of a[m, k] * b[k, n], added to c if `accumulate`, for every turn of the loops.
// By cuBLAS on a GPU, by OpenBLAS on the host.
#pragma once

#include "common/types.h"

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#ifdef __CUDACC__
#include <cublas_v2.h>
#include <cstdio>
#include <cstdlib>
#else
#include "host/enqueue.h"
#include <cblas.h>
#endif

namespace ssp {

/// A loop around a product: how often, and the steps of the operands and the result each time (in elements). `sums`: over an axis
/// that is summed, so that the turns after the first add.
struct GemmLoop {
    int64_t count = 1;
    int64_t a = 0, b = 0, c = 0;
    bool sums = false;
};

struct GemmShape {
    int64_t m = 0, n = 0, k = 0;
    bool transpose_a = false; ///< a is stored [k, m]
    bool transpose_b = false; ///< b is stored [n, k]
    int64_t lda = 0, ldb = 0, ldc = 0;
};

namespace detail {

constexpr int most_loops = 6;
struct GemmLoops {
    std::array<GemmLoop, most_loops> loop;
    int count = 0;
};

/// Calls f(offset of a, of b, of c, adds) for every turn.
template <typename F>
void each_turn(const GemmLoops& loops, int depth, int64_t a, int64_t b, int64_t c, bool adds, const F& f) {
    if (depth == loops.count) {
        f(a, b, c, adds);
        return;
    }
    const GemmLoop& loop = loops.loop[static_cast<size_t>(depth)];
    for (int64_t i = 0; i < loop.count; ++i) {
        each_turn(loops, depth + 1, a + i * loop.a, b + i * loop.b, c + i * loop.c, adds || (loop.sums && i > 0), f);
    }
}

#ifndef __CUDACC__

/// OpenBLAS is not built with ThreadSanitizer, so its reads and writes are told.
template <typename T>
void tell_sanitizer([[maybe_unused]] const T* from, [[maybe_unused]] int64_t rows, [[maybe_unused]] int64_t columns,
                    [[maybe_unused]] int64_t ld, [[maybe_unused]] void (*touch)(void*, unsigned long)) {
    for (int64_t i = 0; touch != nullptr && i < rows; ++i) {
        touch(const_cast<T*>(from + i * ld), static_cast<unsigned long>(columns) * sizeof(T));
    }
}
#ifdef __SANITIZE_THREAD__
extern "C" void __tsan_read_range(void* address, unsigned long bytes);
extern "C" void __tsan_write_range(void* address, unsigned long bytes);
constexpr auto touch_read = &__tsan_read_range;
constexpr auto touch_write = &__tsan_write_range;
#else
constexpr void (*touch_read)(void*, unsigned long) = nullptr;
constexpr void (*touch_write)(void*, unsigned long) = nullptr;
#endif

inline int leading(int64_t ld, int64_t least) { return static_cast<int>(ld > least ? ld : (least > 0 ? least : 1)); }

template <typename T>
void host_gemm(const GemmShape& s, double alpha, double beta, const T* a, const T* b, T* c) {
    const auto ta = s.transpose_a ? CblasTrans : CblasNoTrans;
    const auto tb = s.transpose_b ? CblasTrans : CblasNoTrans;
    const int m = static_cast<int>(s.m), n = static_cast<int>(s.n), k = static_cast<int>(s.k);
    const int lda = leading(s.lda, s.transpose_a ? s.m : s.k);
    const int ldb = leading(s.ldb, s.transpose_b ? s.k : s.n);
    const int ldc = leading(s.ldc, s.n);
    tell_sanitizer(a, s.transpose_a ? s.k : s.m, s.transpose_a ? s.m : s.k, lda, touch_read);
    tell_sanitizer(b, s.transpose_b ? s.n : s.k, s.transpose_b ? s.k : s.n, ldb, touch_read);
    tell_sanitizer(c, s.m, s.n, ldc, touch_write);
    if (s.k == 0) {
        for (int64_t i = 0; beta == 0 && i < s.m; ++i) {
            for (int64_t j = 0; j < s.n; ++j) {
                c[i * s.ldc + j] = T(0);
            }
        }
    } else if constexpr (std::is_same_v<T, double>) {
        cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    } else if constexpr (std::is_same_v<T, float>) {
        cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, static_cast<float>(alpha), a, lda, b, ldb, static_cast<float>(beta), c,
                    ldc);
    } else {
        for (int64_t i = 0; i < s.m; ++i) {
            for (int64_t j = 0; j < s.n; ++j) {
                float sum = 0;
                for (int64_t l = 0; l < s.k; ++l) {
                    const int64_t at_a = s.transpose_a ? l * s.lda + i : i * s.lda + l;
                    const int64_t at_b = s.transpose_b ? j * s.ldb + l : l * s.ldb + j;
                    sum += float(a[at_a]) * float(b[at_b]);
                }
                const float before = beta == 0 ? 0.0f : float(c[i * s.ldc + j]);
                c[i * s.ldc + j] = T(before + static_cast<float>(alpha) * sum);
            }
        }
    }
}

#else

inline void check_blas(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) {
        std::fprintf(stderr, "error: cuBLAS failed with status %d\n", static_cast<int>(status));
        std::exit(3);
    }
}

inline cublasHandle_t blas_handle() {
    thread_local cublasHandle_t handle = nullptr;
    if (!handle) {
        check_blas(cublasCreate(&handle));
    }
    return handle;
}

template <typename T>
constexpr cudaDataType_t blas_type() {
    if constexpr (std::is_same_v<T, double>) {
        return CUDA_R_64F;
    } else if constexpr (std::is_same_v<T, float>) {
        return CUDA_R_32F;
    } else if constexpr (std::is_same_v<T, bf16>) {
        return CUDA_R_16BF;
    } else {
        return CUDA_R_16F;
    }
}

#endif

} // namespace detail

template <typename T>
void gemm(cudaStream_t stream, const GemmShape& shape, double alpha, bool accumulate, const T* a, const T* b, T* c,
          std::initializer_list<GemmLoop> around = {}) {
    detail::GemmLoops loops;
    for (const GemmLoop& loop : around) {
        loops.loop[static_cast<size_t>(loops.count++)] = loop;
    }
    if (shape.m == 0 || shape.n == 0) {
        return;
    }
    GemmShape s = shape;
    for (int i = 0; i < loops.count; ++i) {
        GemmLoop& loop = loops.loop[static_cast<size_t>(i)];
        if (loop.sums && loop.count == 0) { // an empty sum: the result is 0 (or stays as it is)
            s.k = 0;
            loop.count = 1;
        }
    }
#ifndef __CUDACC__
    host::enqueue(stream, [=] {
        detail::each_turn(loops, 0, 0, 0, 0, accumulate, [&](int64_t at_a, int64_t at_b, int64_t at_c, bool adds) {
            detail::host_gemm(s, alpha, adds ? 1.0 : 0.0, a + at_a, b + at_b, c + at_c);
        });
    });
#else
    // The innermost loop that does not sum is cuBLAS's batch. cuBLAS is column-major: c^T = b^T a^T.
    GemmLoop batch;
    if (loops.count > 0 && !loops.loop[static_cast<size_t>(loops.count - 1)].sums) {
        batch = loops.loop[static_cast<size_t>(--loops.count)];
    }
    if (batch.count == 0) {
        return;
    }
    constexpr bool wide = std::is_same_v<T, double>;
    const cublasComputeType_t compute = wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;
    detail::check_blas(cublasSetStream(detail::blas_handle(), stream));
    const auto at_least = [](int64_t ld, int64_t least) { return static_cast<int>(ld > least ? ld : least > 0 ? least : 1); };
    detail::each_turn(loops, 0, 0, 0, 0, accumulate, [&](int64_t at_a, int64_t at_b, int64_t at_c, bool adds) {
        const double alpha64 = alpha, beta64 = adds ? 1.0 : 0.0;
        const float alpha32 = static_cast<float>(alpha), beta32 = adds ? 1.0f : 0.0f;
        const void* by = wide ? static_cast<const void*>(&alpha64) : &alpha32;
        const void* keep = wide ? static_cast<const void*>(&beta64) : &beta32;
        const auto type = detail::blas_type<T>();
        if (s.k == 0) {
            if (!adds) {
                for (int64_t t = 0; t < batch.count; ++t) {
                    cudaMemset2DAsync(c + at_c + t * batch.c, size_t(s.ldc) * sizeof(T), 0, size_t(s.n) * sizeof(T),
                                      size_t(s.m), stream);
                }
            }
            return;
        }
        detail::check_blas(cublasGemmStridedBatchedEx(
            detail::blas_handle(), s.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N, s.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N,
            static_cast<int>(s.n), static_cast<int>(s.m), static_cast<int>(s.k), by, b + at_b, type,
            at_least(s.ldb, s.transpose_b ? s.k : s.n), batch.b, a + at_a, type,
            at_least(s.lda, s.transpose_a ? s.m : s.k), batch.a, keep, c + at_c, type, at_least(s.ldc, s.n), batch.c,
            static_cast<int>(batch.count), compute, CUBLAS_GEMM_DEFAULT));
    });
#endif
}

} // namespace ssp
