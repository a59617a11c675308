// What all subcommands share: the common options, and how a subcommand is declared.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

namespace sspc {

class Session;

struct Options {
    std::string file;
    std::string plan;                  ///< empty: the file's default
    std::vector<std::string> settings; ///< `name=value`
    std::string cluster;
    std::string target = "cpu";
    std::string color = "auto";
    bool json = false;
    bool quiet = false;
    bool verbose = false;
    bool strict = false;
    std::vector<std::string> launcher; ///< what follows `--`
};

/// What a subcommand does; the exit status.
using Action = std::function<int(Session&)>;

/// Adds the options of one subcommand to `app` (the common ones are there) and says what to do once they are read.
/// `options` outlives the action.
#define SSPC_COMMAND(name, summary) Action declare_##name(CLI::App& app, Options& options);
#define SSPC_LATER(name, summary)
#include "sspc/commands.def"
#undef SSPC_COMMAND
#undef SSPC_LATER

/// The plan file as the positional argument FILE.
void add_file(CLI::App& app, Options& options);
/// --plan, --set, --cluster, --target, --strict
void add_plan_options(CLI::App& app, Options& options);

enum ExitStatus : int { Fine = 0, InputHasErrors = 1, WrongUsage = 2, RunFailed = 3, Bug = 4 };

} // namespace sspc
