// One run of the compiler for the command line.
#include "sspc/session.h"

#include "ir/check/check.h"
#include "ir/mesh/mesh.h"
#include "ir/support/render_json.h"
#include "ir/support/render_text.h"

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

namespace sspc {

namespace {

Color color_for(const std::string& wish) {
    if (wish != "auto") {
        return wish == "always" ? Color::Always : Color::Never;
    }
    const char* no_color = std::getenv("NO_COLOR");
    const bool refused = no_color != nullptr && *no_color != '\0';
    return !refused && isatty(STDERR_FILENO) != 0 ? Color::Always : Color::Never;
}

} // namespace

std::filesystem::path stdlib_folder() {
    namespace fs = std::filesystem;
    if (const char* given = std::getenv("SSPC_STDLIB"); given != nullptr && *given != '\0') {
        return given;
    }
    std::error_code error;
    const fs::path self = fs::read_symlink("/proc/self/exe", error);
    if (!error) {
        const fs::path installed = self.parent_path().parent_path() / "share" / "sspc" / "stdlib";
        if (fs::is_directory(installed, error)) {
            return installed;
        }
    }
    return SSPC_STDLIB_FOLDER;
}

std::string why_unreadable(const std::filesystem::path& file) {
    std::error_code error;
    const auto status = std::filesystem::status(file, error);
    if (status.type() == std::filesystem::file_type::not_found) {
        return "there is no such file";
    }
    if (error) {
        return error.message();
    }
    if (std::filesystem::is_directory(status)) {
        return "it is a folder";
    }
    if (::access(file.c_str(), R_OK) != 0) {
        return std::strerror(errno);
    }
    return "";
}

std::optional<std::string> read_text(const std::filesystem::path& file, Sink& sink) {
    std::string why = why_unreadable(file);
    std::ifstream stream;
    if (why.empty()) {
        stream.open(file, std::ios::binary);
        why = stream ? "" : std::strerror(errno);
    }
    if (!why.empty()) {
        sink.report(diag::FileNotReadable, {}, file.string(), why);
        return std::nullopt;
    }
    return std::string{std::istreambuf_iterator<char>(stream), {}};
}

bool Session::elaborate() {
    if (!options.cluster.empty()) {
        sink.report(diag::NotImplemented, {}, "`--cluster`, the cost model of a machine");
    }
    if (const std::string why = why_unreadable(options.file); !why.empty()) {
        sink.report(diag::FileNotReadable, {}, options.file, why);
    }
    if (sink.has_errors()) {
        return false;
    }
    ElaborateOptions how;
    how.plan = options.plan;
    how.library_folders = {stdlib_folder()};
    for (const std::string& setting : options.settings) {
        const size_t equals = setting.find('=');
        how.set.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
    }
    elaborated = sspc::elaborate(options.file, how, sources, sink);
    return elaborated.has_value() && !sink.has_errors();
}

bool Session::compile() {
    if (!elaborated && !elaborate()) {
        return false;
    }
    compile_options.strict = options.strict;
    compiled = sspc::compile(elaborated->graph, elaborated->plan, compile_options, sink);
    if (options.strict) {
        make_strict();
    }
    if (!compiled || sink.has_errors()) {
        return false;
    }
    check_program(compiled->program, compiled->graph, compiled->plan, sink);
    return !sink.has_errors();
}

void Session::make_strict() {
    const std::vector<Diagnostic> all = sink.diagnostics();
    sink.clear();
    for (Diagnostic diagnostic : all) {
        if (diagnostic.code == diag::NoEffect.code) {
            diagnostic.code = diag::NoEffectStrict.code;
            diagnostic.severity = Severity::Error;
        }
        sink.add(std::move(diagnostic));
    }
}

std::string Session::check_document() const {
    using Json = nlohmann::ordered_json;
    Json document;
    document["ok"] = !sink.has_errors();
    document["plan"] = elaborated ? Json(elaborated->plan.name) : Json(nullptr);
    document["model"] = elaborated ? Json(elaborated->graph.model) : Json(nullptr);
    document["devices"] = elaborated ? Json(device_count(elaborated->plan.mesh)) : Json(nullptr);
    document["diagnostics"] = diagnostics_json(sink, sources);
    return document.dump(2) + "\n";
}

int Session::finish() {
    const int status = sink.has_errors() ? InputHasErrors : Fine;
    if (std::exchange(shown_, true)) {
        return status;
    }
    if (options.json && sink.has_errors()) {
        const int printed = print(check_document());
        return printed == Fine ? status : printed;
    }
    if (!options.quiet || sink.has_errors()) {
        std::cerr << render_text(sink, sources, color_for(options.color));
    }
    const size_t errors = sink.error_count();
    if (errors > 1 && !options.quiet) {
        std::cerr << errors << " errors\n";
    }
    return status;
}

int Session::print(const std::string& text) {
    std::cout << text << std::flush;
    if (!std::cout) {
        std::cerr << "sspc: the output could not be written\n";
        return RunFailed;
    }
    return Fine;
}

} // namespace sspc
