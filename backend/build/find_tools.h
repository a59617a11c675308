// Finds what a program is built with: compilers and libraries.
#pragma once

#include "backend/emit/emit.h"
#include "ir/support/sink.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sspc::backend {

struct Tools {
    std::filesystem::path compiler;         ///< g++, clang++ or nvcc
    std::vector<std::string> include_flags; ///< of libraries that are not where the compiler looks
    std::vector<std::string> link_flags;
};

/// Reports what is missing and what to install.
std::optional<Tools> find_tools(Target target, Sink& sink);

/// The first of `names` on $PATH.
std::optional<std::filesystem::path> find_program(const std::vector<std::string>& names);

} // namespace sspc::backend
