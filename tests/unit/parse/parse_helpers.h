// Parsing of short texts in tests.
#pragma once

#include "frontend/parse/parser.h"
#include "frontend/syntax/print_ast.h"
#include "ir/support/render_text.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace sspc {

struct Parsed {
    SourceMap sources;
    Sink sink;
    FileId file;
    std::optional<syntax::Module> module;

    explicit Parsed(std::string text) : file(sources.add_file("t.ssp", std::move(text))), module(parse(file, sources, sink)) {}

    std::string messages() const { return render_text(sink, sources); }
    /// `SSP0101@3:5` for each diagnostic.
    std::vector<std::string> errors() const {
        std::vector<std::string> all;
        for (const Diagnostic& d : sink.diagnostics()) {
            const Position at = sources.begin(d.span);
            all.push_back(std::string(d.code) + "@" + std::to_string(at.line) + ":" + std::to_string(at.column));
        }
        return all;
    }
};

inline std::string read_text(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

/// The files of tests/data/parse, sorted by name.
inline std::vector<std::filesystem::path> sample_files() {
    std::vector<std::filesystem::path> all;
    for (const auto& entry : std::filesystem::directory_iterator(std::string(SSPC_SOURCE_DIR) + "/tests/data/parse")) {
        if (entry.path().extension() == ".ssp") {
            all.push_back(entry.path());
        }
    }
    std::sort(all.begin(), all.end());
    return all;
}

} // namespace sspc
