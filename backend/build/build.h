// Compiles emitted sources into a program.
#pragma once

#include "backend/emit/emit.h"
#include "ir/support/sink.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace sspc::backend {

struct BuildOptions {
    Target target = Target::Cpu;
    /// The folder of the runtime that emitted programs include: `stdlib/runtime` of the source tree or of the installation.
    std::filesystem::path runtime;
    /// Where to write the sources and put the program. Empty: in the cache only.
    std::filesystem::path directory;
    bool use_cache = true;
    bool verbose = false; ///< print the compiler's command lines
};

/// Writes the sources and nothing else (`sspc build --emit-only`).
bool write_sources(const std::map<std::string, std::string>& files, const std::filesystem::path& directory, Sink& sink);

/// The path of the executable. Built programs are kept in `${XDG_CACHE_HOME:-~/.cache}/sspc`, so the same sources build once.
std::optional<std::filesystem::path> build_program(const std::map<std::string, std::string>& files,
                                                   const BuildOptions& options, Sink& sink);

} // namespace sspc::backend
