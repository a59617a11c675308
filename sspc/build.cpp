// sspc build: writes the sources of the program and builds them.
#include "sspc/program_files.h"

#include <memory>

namespace sspc {

namespace {

struct Where {
    std::string directory;
    bool emit_only = false;
};

int build(Session& session, const Where& where) {
    if (!session.compile()) {
        return session.finish();
    }
    const Program& program = session.compiled->program;
    std::string made;
    if (where.emit_only) {
        const auto files = sources_of(session, program);
        if (backend::write_sources(files, where.directory, session.sink)) {
            made = format("{0} files in {1}\n", files.size(), where.directory);
        }
    } else if (const auto executable = executable_of(session, program, where.directory)) {
        made = executable->string() + "\n";
    }
    session.finish();
    if (session.sink.has_errors()) {
        return RunFailed; // the input was right: what failed is writing or compiling
    }
    return session.options.quiet ? static_cast<int>(Fine) : session.print(made);
}

} // namespace

Action declare_build(CLI::App& app, Options& options) {
    const auto where = std::make_shared<Where>();
    add_file(app, options);
    add_plan_options(app, options);
    app.add_option("-o,--output", where->directory, "the folder to write to")
        ->type_name("DIR")
        ->required();
    app.add_flag("--emit-only", where->emit_only, "stop after the sources");
    return [where](Session& session) { return build(session, *where); };
}

} // namespace sspc
