// Failures of a running program, and the plan's place that a rank is at.
#pragma once

#include <stdexcept>
#include <string>

namespace ssp {

/// Ends the run: every rank stops, the message is printed with its code, the exit status is 3.
struct Failure : std::runtime_error {
    Failure(std::string failure_code, const std::string& message)
        : std::runtime_error(message), code(std::move(failure_code)) {}
    std::string code;
};
[[noreturn]] inline void fail(const std::string& code, const std::string& message) { throw Failure(code, message); }

/// Another rank failed, so this one stops without a message of its own.
struct Stopped {};

namespace detail {
inline thread_local const char* current_site = "";
}
/// Says which line of the plan (or model) the calls that follow come from. The text must live as long as the program.
inline void site(const char* text) { detail::current_site = text; }
inline const char* site() { return detail::current_site; }

} // namespace ssp

#define SSP_STRINGIFY_(x) #x
#define SSP_CHECKED_(call, type, success, text)                                                                        \
    do {                                                                                                               \
        const type ssp_status = (call);                                                                                \
        if (ssp_status != success) {                                                                                   \
            ssp::fail("SSP0801", std::string(SSP_STRINGIFY_(call) ": ") + text(ssp_status) +                           \
                                     (*ssp::site() ? std::string(" (at ") + ssp::site() + ")" : std::string()));       \
        }                                                                                                              \
    } while (false)
#define SSP_CUDA(call) SSP_CHECKED_(call, cudaError_t, cudaSuccess, cudaGetErrorString)
#define SSP_NCCL(call) SSP_CHECKED_(call, ncclResult_t, ncclSuccess, ncclGetErrorString)
