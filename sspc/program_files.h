// From a device program to an executable, for `build`, `run` and `verify`.
#pragma once

#include "backend/build/build.h"
#include "backend/emit/emit.h"
#include "sspc/session.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace sspc {

backend::Target target_of(const Options& options);
/// The sources of a program compiled from the session's model.
std::map<std::string, std::string> sources_of(Session& session, const Program& program);
/// The executable, built in the cache, or in `directory` if it is not empty.
std::optional<std::filesystem::path> executable_of(Session& session, const Program& program,
                                                   const std::filesystem::path& directory = {});

/// The options of a launched program (docs/language.md): name without dashes, type for --help, what it does.
struct LauncherOption {
    const char* name;
    const char* type;
    const char* summary;
};
inline constexpr LauncherOption launcher_options[] = {
    {"steps", "N", "training steps (default 200)"},
    {"data", "FILE", "a tensor for each input, or input=FILE"},
    {"weights", "FILE", "initial parameters (safetensors)"},
    {"save", "FILE", "where to save the parameters at the end"},
    {"save-every", "N", "also save every N steps"},
    {"checkpoints", "DIR", "where --save-every saves"},
    {"resume", "DIR", "go on from a saved run"},
    {"seed", "S", "seed of initial values and draws"},
    {"save-grads", "FILE", "the first step's gradients"},
    {"outputs", "FILE", "the model's outputs"},
    {"metrics", "FILE", "loss, norm and time of each step (JSON lines)"},
    {"trace", "FILE", "a measured timeline"},
};

} // namespace sspc
