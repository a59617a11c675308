// Runs compilers side by side.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sspc::backend {

using Command = std::vector<std::string>;

struct Failed {
    Command command;
    std::string output; ///< what it wrote, both streams
};

/// Runs all, as many at a time as there are cores; the first that fails ends the rest. nullopt if all went well.
std::optional<Failed> run_commands(const std::vector<Command>& commands, bool verbose);

} // namespace sspc::backend
