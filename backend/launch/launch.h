// Runs a built program.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace sspc::backend {

/// Starts the program with the launcher's options and waits for it; its output passes through and an interrupt is handed on.
/// The exit status for the command line: 0 fine, 2 wrong options, 3 the run failed (a signal is reported as SSP0801).
int launch_program(const std::filesystem::path& executable, const std::vector<std::string>& options);

} // namespace sspc::backend
