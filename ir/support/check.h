// Internal checks: a failure is a bug in sspc, never a user's error (those go to a Sink).
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace sspc {

/// The one exception of the compiler. Caught in sspc/main only, which says where and exits with 4.
class InternalError : public std::exception {
public:
    InternalError(std::string_view path, int at_line, std::string text)
        : file(path.substr(path.find_last_of('/') + 1)), line(at_line), message(std::move(text)),
          what_("internal error: " + message + " at " + file + ":" + std::to_string(line) +
                "; this is a bug in sspc") {}

    const char* what() const noexcept override { return what_.c_str(); }

    std::string file; ///< the name without its folder
    int line;
    std::string message;

private:
    std::string what_;
};

} // namespace sspc

#define SSPC_CHECK(condition, message)                                                             \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            throw ::sspc::InternalError(__FILE__, __LINE__,                                        \
                                        std::string(message) + " (`" #condition "`)");             \
        }                                                                                          \
    } while (false)

#define SSPC_UNREACHABLE(message)                                                                  \
    throw ::sspc::InternalError(__FILE__, __LINE__, std::string(message) + " (unreachable)")
