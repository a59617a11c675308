// sspc run: builds the program if the cache has not got it, and launches it.
#include "backend/launch/launch.h"
#include "sspc/program_files.h"

#include <memory>

namespace sspc {

namespace {

int run(Session& session) {
    if (!session.compile()) {
        return session.finish();
    }
    const auto executable = executable_of(session, session.compiled->program);
    session.finish();
    if (!executable) {
        return RunFailed;
    }
    return backend::launch_program(*executable, session.options.launcher);
}

} // namespace

Action declare_run(CLI::App& app, Options& options) {
    add_file(app, options);
    add_plan_options(app, options);
    // Launcher options may also stand before `--`: no option of sspc has their names.
    const auto given = std::make_shared<std::vector<std::vector<std::string>>>(
        std::size(launcher_options));
    for (size_t i = 0; i < std::size(launcher_options); ++i) {
        const LauncherOption& option = launcher_options[i];
        app.add_option("--" + std::string(option.name), (*given)[i], option.summary)
            ->type_name(option.type)
            ->expected(1)
            ->take_all()
            ->group("Launcher options (here or after `--`)");
    }
    return [given, &options](Session& session) {
        std::vector<std::string> all;
        for (size_t i = 0; i < std::size(launcher_options); ++i) {
            for (const std::string& value : (*given)[i]) {
                all.push_back("--" + std::string(launcher_options[i].name));
                all.push_back(value);
            }
        }
        options.launcher.insert(options.launcher.begin(), all.begin(), all.end());
        return run(session);
    };
}

} // namespace sspc
