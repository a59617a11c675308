// Elaborates a text as if it were a file, with the library of the source tree.
#pragma once

#include "frontend/elaborate/elaborate.h"
#include "ir/support/render_text.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

namespace sspc::testing {

struct Result {
    std::optional<Elaborated> value;
    SourceMap sources;
    Sink sink;

    /// `SSP0201 3:9`, one a line, in the order of the text.
    std::string codes() const {
        std::string out;
        for (const Diagnostic& d : sink.diagnostics()) {
            out += std::string(d.code);
            if (d.span.valid()) {
                const Position at = sources.begin(d.span);
                out += " " + std::to_string(at.line) + ":" + std::to_string(at.column);
            }
            out += "\n";
        }
        return out;
    }
    std::string text() const { return render_text(sink, sources); }
};

inline std::filesystem::path source_dir() {
    return SSPC_SOURCE_DIR;
}

inline Result run_file(const std::filesystem::path& file, ElaborateOptions options = {}) {
    Result out;
    options.library_folders.push_back(source_dir() / "stdlib");
    out.value = elaborate(file, options, out.sources, out.sink);
    return out;
}

class TempFolder {
public:
    TempFolder() {
        static int count = 0;
        path_ = std::filesystem::temp_directory_path() /
                ("sspc_elaborate_" + std::to_string(::getpid()) + "_" + std::to_string(++count));
        std::filesystem::create_directories(path_);
    }
    ~TempFolder() {
        std::error_code error;
        std::filesystem::remove_all(path_, error);
    }
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;
    std::filesystem::path write(const std::string& name, const std::string& text) const {
        std::ofstream(path_ / name) << text;
        return path_ / name;
    }

private:
    std::filesystem::path path_;
};

inline Result run_text(const std::string& text, ElaborateOptions options = {}) {
    const TempFolder folder;
    return run_file(folder.write("test.ssp", text), std::move(options));
}

/// The paths of the forward statements, one a line.
inline std::string forward_paths(const Graph& graph) {
    std::string out;
    for (const Statement& s : graph.statements) {
        out += s.phase == Phase::Forward ? s.path + "\n" : "";
    }
    return out;
}

/// The printed forward statement of this path.
inline std::string statement(const Graph& graph, const std::string& path) {
    for (const Statement& s : graph.statements) {
        if (s.path == path) {
            return print_statement(graph, s);
        }
    }
    return "no statement " + path;
}

} // namespace sspc::testing
