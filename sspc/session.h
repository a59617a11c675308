// One run of the compiler for the command line: the file, its diagnostics, and what has been made of it so far.
#pragma once

#include "frontend/elaborate/elaborate.h"
#include "ir/passes/compile.h"
#include "ir/support/sink.h"
#include "ir/support/source_map.h"
#include "sspc/command.h"

#include <filesystem>
#include <optional>
#include <string>

namespace sspc {

class Session {
public:
    explicit Session(const Options& from_command_line) : options(from_command_line) {}

    /// Reads and types the file, binds the plan's parameters. False if there were errors.
    bool elaborate();
    /// The same up to the device program, which is checked again from scratch.
    bool compile();

    /// Shows the diagnostics found so far that have not been shown; Fine, or InputHasErrors. With --json and errors the document of
    /// `sspc check` is what stdout gets.
    int finish();
    /// Writes to stdout; RunFailed if that fails (a full disk, a closed pipe), else Fine.
    int print(const std::string& text);
    /// The document of `sspc check --json`.
    std::string check_document() const;

    const Options& options;
    SourceMap sources;
    Sink sink;
    std::optional<Elaborated> elaborated;
    std::optional<Compiled> compiled;
    CompileOptions compile_options;

private:
    /// With --strict, plan statements without effect are errors.
    void make_strict();

    bool shown_ = false;
};

/// The folder that holds `std/` and `runtime/`: SSPC_STDLIB, else beside an installed sspc, else the source tree's.
std::filesystem::path stdlib_folder();
/// Why a file cannot be read, in words; empty if it can.
std::string why_unreadable(const std::filesystem::path& file);
std::optional<std::string> read_text(const std::filesystem::path& file, Sink& sink);

} // namespace sspc
