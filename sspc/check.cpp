// sspc check: is the plan right? Also reads a device program back (`sspc check program.sspd --against plan.ssp`).
#include "ir/check/check.h"
#include "ir/program/parse_program.h"
#include "sspc/session.h"

#include <memory>

namespace sspc {

namespace {

std::string summary(const Session& session) {
    const Compiled& compiled = *session.compiled;
    const int devices = device_count(compiled.program.mesh);
    return format("{0}: plan `{1}` of model `{2}` on {3} device{4} is correct\n",
                  session.options.file, compiled.program.plan, compiled.program.model, devices,
                  devices == 1 ? "" : "s");
}

int report(Session& session, const std::string& text) {
    if (session.options.json) {
        const int printed = session.print(session.check_document());
        return printed != Fine ? printed : session.sink.has_errors() ? InputHasErrors : Fine;
    }
    const int status = session.finish();
    if (status != Fine || session.options.quiet) {
        return status;
    }
    return session.print(text);
}

int check_plan(Session& session) {
    const bool good = session.compile();
    return report(session, good ? summary(session) : "");
}

/// The program of a `.sspd` file, held against what the plan file says.
int check_device_program(Session& session, const std::string& program_file) {
    if (!session.elaborate()) {
        return report(session, "");
    }
    const auto text = read_text(program_file, session.sink);
    if (!text) {
        return report(session, "");
    }
    const FileId file = session.sources.add_file(program_file, *text);
    const auto program = parse_program(file, session.sources.text(file), session.sink);
    // The training graph is what the checker trusts; compiling the plan makes it.
    if (program && !session.sink.has_errors() && session.compile()) {
        check_program(*program, session.compiled->graph, session.compiled->plan, session.sink);
    }
    return report(session, format("{0} does what plan `{1}` of {2} asks\n", program_file,
                                  session.elaborated->plan.name, session.options.file));
}

} // namespace

Action declare_check(CLI::App& app, Options& options) {
    struct Extra {
        std::string file;
        std::string against;
    };
    const auto extra = std::make_shared<Extra>();
    app.add_option("FILE", extra->file, "the plan file, or a device program (.sspd)")->required();
    app.add_option("--against", extra->against, "the plan file that a device program belongs to")
        ->type_name("FILE");
    add_plan_options(app, options);
    return [extra, &options](Session& session) {
        const bool is_program = extra->file.ends_with(".sspd");
        if (is_program != !extra->against.empty()) {
            std::cerr << (is_program ? "sspc: a device program is checked against its plan: sspc check "
                                           + extra->file + " --against plan.ssp\n"
                                     : "sspc: --against goes with a device program (.sspd)\n");
            return static_cast<int>(WrongUsage);
        }
        options.file = is_program ? extra->against : extra->file;
        return is_program ? check_device_program(session, extra->file) : check_plan(session);
    };
}

} // namespace sspc
