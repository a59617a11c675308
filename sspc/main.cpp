// sspc: reads the command line, runs one subcommand, turns what went wrong into an exit status.
#include "ir/graph/selector.h"
#include "ir/support/check.h"
#include "sspc/command.h"
#include "sspc/session.h"

#include <algorithm>
#include <iostream>
#include <map>

namespace sspc {

namespace {

constexpr const char* version = "sspc 0.1.0";

struct Command {
    const char* name;
    const char* summary;
    Action (*declare)(CLI::App&, Options&); ///< null: not implemented yet
};

const std::vector<Command>& commands() {
    static const std::vector<Command> all = {
#define SSPC_COMMAND(name, summary) {#name, summary, declare_##name},
#define SSPC_LATER(name, summary) {#name, summary, nullptr},
#include "sspc/commands.def"
#undef SSPC_COMMAND
#undef SSPC_LATER
    };
    return all;
}

int refuse(Session& session, const std::string& name) {
    session.sink.report(diag::NotImplemented, {}, "the command `" + name + "`");
    return session.finish();
}

/// A first word that is no command: what was meant?
void suggest_command(const std::string& word) {
    std::vector<std::string> names;
    for (const Command& command : commands()) {
        names.emplace_back(command.name);
    }
    std::cerr << "sspc: there is no command `" << word << "`";
    const auto nearest = nearest_names(word, names, 1);
    if (word.ends_with(".ssp")) {
        std::cerr << "; did you mean `sspc run " << word << "`?";
    } else if (!nearest.empty()) {
        std::cerr << "; did you mean `" << nearest.front() << "`?";
    }
    std::cerr << "\nsspc --help lists the commands\n";
}

int guarded(Session& session, const Action& action) {
    try {
        return action(session);
    } catch (const InternalError& error) {
        session.finish();
        std::cerr << "sspc: " << error.what() << "\n";
        return Bug;
    } catch (const std::exception& error) {
        session.finish();
        std::cerr << "sspc: internal error: " << error.what() << "; this is a bug in sspc\n";
        return Bug;
    }
}

int run_command_line(int argc, char** argv) {
    Options options;
    std::vector<std::string> words(argv + 1, argv + argc);
    const auto dashes = std::find(words.begin(), words.end(), "--");
    const bool has_dashes = dashes != words.end();
    if (has_dashes) {
        options.launcher.assign(dashes + 1, words.end());
        words.erase(dashes, words.end());
    }

    CLI::App app("sspc compiles a model and a plan into a program for many devices");
    app.set_version_flag("--version", version);
    app.require_subcommand(1);
    app.footer("Exit status: 0 fine, 1 the input has errors, 2 wrong usage, 3 an outside tool or "
               "the run failed, 4 a bug in sspc");
    std::map<std::string, Action> actions;
    for (const Command& command : commands()) {
        if (command.declare == nullptr) {
            CLI::App* later = app.add_subcommand(command.name, std::string(command.summary) + " (not yet)");
            later->prefix_command();
            actions[command.name] = [name = std::string(command.name)](Session& session) {
                return refuse(session, name);
            };
            continue;
        }
        CLI::App* subcommand = app.add_subcommand(command.name, command.summary);
        subcommand->add_option("--color", options.color, "when to use colour")
            ->check(CLI::IsMember({"auto", "always", "never"}))
            ->type_name("auto|always|never");
        subcommand->add_flag("--json", options.json, "one JSON document on stdout");
        subcommand->add_flag("-q,--quiet", options.quiet, "say less");
        subcommand->add_flag("-v,--verbose", options.verbose, "say more");
        actions[command.name] = command.declare(*subcommand, options);
    }
    if (!words.empty() && !words.front().starts_with("-") && !actions.contains(words.front())) {
        suggest_command(words.front());
        return WrongUsage;
    }
    try {
        std::reverse(words.begin(), words.end()); // CLI11 takes them from the back
        app.parse(words);
    } catch (const CLI::ParseError& error) {
        // CLI11 has exit statuses of its own; ours are 0 for --help and --version, else 2.
        return app.exit(error, std::cout, std::cerr) == 0 ? Fine : WrongUsage;
    }
    const CLI::App* chosen = app.get_subcommands().front();
    if (has_dashes && chosen->get_name() != "run" && chosen->get_name() != "verify") {
        std::cerr << "sspc: nothing follows `--` in `sspc " << chosen->get_name()
                  << "`; launcher options belong to `run` and `verify`\n";
        return WrongUsage;
    }
    Session session(options);
    return guarded(session, actions.at(chosen->get_name()));
}

} // namespace

void add_file(CLI::App& app, Options& options) {
    app.add_option("FILE", options.file, "the plan file")->required();
}

void add_plan_options(CLI::App& app, Options& options) {
    app.add_option("--plan", options.plan, "the plan; else the default, the only or the first one")
        ->type_name("NAME");
    app.add_option("--set", options.settings, "a parameter of the model or the plan; repeatable")
        ->type_name("name=value")
        ->expected(1)
        ->take_all()
        ->check([](const std::string& setting) {
            const size_t equals = setting.find('=');
            return equals == std::string::npos || equals == 0
                       ? "`" + setting + "` is not of the form name=value"
                       : std::string();
        });
    app.add_option("--cluster", options.cluster, "the machine to run on")->type_name("FILE|NAME");
    app.add_option("--target", options.target, "what to build for")
        ->check(CLI::IsMember({"cpu", "mpi", "cuda"}))
        ->type_name("cpu|mpi|cuda");
    app.add_flag("--strict", options.strict, "plan statements without effect are errors");
}

} // namespace sspc

int main(int argc, char** argv) { return sspc::run_command_line(argc, argv); }
