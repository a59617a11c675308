// sspc lower: prints the plan file after any stage of the compiler.
#include "frontend/parse/parser.h"
#include "frontend/syntax/print_ast.h"
#include "ir/program/program.h"
#include "sspc/session.h"

#include <memory>

namespace sspc {

namespace {

int print_tree(Session& session) {
    const auto text = read_text(session.options.file, session.sink);
    if (!text) {
        return session.finish();
    }
    const FileId file = session.sources.add_file(session.options.file, *text);
    const auto module = parse(file, session.sources, session.sink);
    const int status = session.finish();
    return module && status == Fine ? session.print(syntax::print_ast(*module)) : status;
}

int lower(Session& session, const std::string& stage) {
    if (stage == "ast") {
        return print_tree(session);
    }
    if (stage == "typed") {
        // Typing and elaboration are one stage: what it makes is the graph.
        session.sink.report(diag::NotImplemented, {},
                            "`--stage typed`; `--stage graph` shows the typed statements");
        return session.finish();
    }
    const bool good = stage == "graph" ? session.elaborate() : session.compile();
    const int status = session.finish();
    // A program that the checker refuses is printed all the same: it is what one looks at to see why.
    if (!good && !(stage == "program" && session.compiled)) {
        return status;
    }
    std::string text;
    if (stage == "graph") {
        text = print_graph(session.elaborated->graph);
    } else if (stage == "training") {
        text = print_graph(session.compiled->graph);
    } else if (stage == "tasks") {
        text = session.compiled->tasks_text;
    } else if (stage == "messages") {
        text = session.compiled->messages_text;
    } else {
        text = print_program(session.compiled->program);
    }
    const int printed = session.print(text);
    return printed != Fine ? printed : status;
}

} // namespace

Action declare_lower(CLI::App& app, Options& options) {
    add_file(app, options);
    add_plan_options(app, options);
    const auto stage = std::make_shared<std::string>("program");
    app.add_option("--stage", *stage, "which stage to print")
        ->check(CLI::IsMember(
            {"ast", "typed", "graph", "training", "tasks", "messages", "program"}))
        ->type_name("ast|typed|graph|training|tasks|messages|program")
        ->capture_default_str();
    return [stage](Session& session) { return lower(session, *stage); };
}

} // namespace sspc
