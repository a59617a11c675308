// Reads a file and its imports.
#include "frontend/elaborate/library.h"

#include "frontend/parse/parser.h"
#include "ir/graph/selector.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

namespace sspc::elaboration {

namespace fs = std::filesystem;

namespace {

std::optional<std::string> read_text(const fs::path& path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) {
        return std::nullopt;
    }
    std::ifstream in(path, std::ios::binary);
    if (!in) {
        return std::nullopt;
    }
    return std::string(std::istreambuf_iterator<char>(in), {});
}

/// Next to the program where it is installed, else in the source tree that it was built from.
std::vector<fs::path> built_in_folders() {
    std::vector<fs::path> out;
    if (const char* set = std::getenv("SSPC_STDLIB"); set != nullptr && *set != '\0') {
        out.emplace_back(set);
    }
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    if (!error) {
        out.push_back(program.parent_path() / ".." / "share" / "sspc" / "stdlib");
    }
    out.emplace_back(SSPC_STDLIB_SOURCE);
    return out;
}

template <typename T>
void check_list(const std::vector<T>& list, std::string_view kind, Sink& sink) {
    std::map<std::string, Span> seen;
    for (const T& declaration : list) {
        const auto [it, fresh] = seen.emplace(declaration.name.text, declaration.name.span);
        if (!fresh) {
            sink.report(diag::DeclaredTwice, declaration.name.span, kind, declaration.name.text)
                .note(it->second, "the first one is here");
        }
    }
}

} // namespace

bool Library::load(const fs::path& path, const std::vector<fs::path>& folders, SourceMap& sources, Sink& sink) {
    sources_ = &sources;
    sink_ = &sink;
    folders_ = folders;
    for (fs::path& folder : built_in_folders()) {
        folders_.push_back(std::move(folder));
    }
    const size_t before = sink.error_count();
    return load_file(path, Span{}) == 0 && sink.error_count() == before;
}

std::vector<int> Library::visible(int from) const {
    std::vector<int> out;
    const auto visit = [&](const auto& self, int index) -> void {
        if (std::find(out.begin(), out.end(), index) != out.end()) {
            return;
        }
        out.push_back(index);
        for (const int import : file(index).imports) {
            self(self, import);
        }
    };
    visit(visit, from);
    return out;
}

int Library::load_file(const fs::path& path, const Span& from) {
    std::error_code error;
    const fs::path key = fs::weakly_canonical(path, error);
    for (size_t i = 0; i < files_.size(); ++i) {
        if (fs::weakly_canonical(files_[i].path, error) == key) {
            if (std::find(loading_.begin(), loading_.end(), key) != loading_.end()) {
                sink_->report(diag::ImportCycle, from, path.filename().string());
            }
            return static_cast<int>(i);
        }
    }
    std::optional<std::string> text = read_text(path);
    if (!text) {
        sink_->report(diag::FileNotReadable, from, path.string(),
                      fs::exists(path, error) ? "it is no readable file" : "there is no such file");
        return -1;
    }
    const FileId id = sources_->add_file(path.string(), std::move(*text));
    std::optional<syntax::Module> module = parse(id, *sources_, *sink_);
    const int index = static_cast<int>(files_.size());
    files_.push_back({path, module ? std::move(*module) : syntax::Module{}, {}});
    check_names(files_.back().module);
    loading_.push_back(key);
    // Not a reference into the module of `files_.back()`: imports add files.
    const std::vector<syntax::Import> imports = files_.back().module.imports;
    for (const syntax::Import& import : imports) {
        const std::optional<fs::path> found = resolve(import, path);
        const int imported = found ? load_file(*found, import.span) : -1;
        if (imported >= 0) {
            files_[static_cast<size_t>(index)].imports.push_back(imported);
        }
    }
    loading_.pop_back();
    return index;
}

std::optional<fs::path> Library::resolve(const syntax::Import& import, const fs::path& importer) {
    if (import.path.empty()) {
        return importer.parent_path() / import.file;
    }
    fs::path relative;
    std::string dotted;
    for (const syntax::Name& part : import.path) {
        relative /= part.text;
        dotted += (dotted.empty() ? "" : ".") + part.text;
    }
    relative += ".ssp";
    std::error_code error;
    std::vector<std::string> candidates;
    for (const fs::path& folder : folders_) {
        if (fs::is_regular_file(folder / relative, error)) {
            return (folder / relative).lexically_normal();
        }
        for (const auto& entry : fs::directory_iterator((folder / relative).parent_path(), error)) {
            if (entry.path().extension() == ".ssp") {
                candidates.push_back((relative.parent_path() / entry.path().stem()).generic_string());
                std::replace(candidates.back().begin(), candidates.back().end(), '/', '.');
            }
        }
    }
    std::sort(candidates.begin(), candidates.end());
    Diagnostic& diagnostic = sink_->report(diag::UnknownDeclaration, import.span, "library file", dotted);
    if (const auto near = nearest_names(dotted, candidates); !near.empty()) {
        diagnostic.help("did you mean `" + near.front() + "`?");
    }
    return std::nullopt;
}

void Library::check_names(const syntax::Module& module) {
    check_list(module.ops, "op", *sink_);
    check_list(module.modules, "module", *sink_);
    check_list(module.optimizers, "optimizer", *sink_);
    check_list(module.models, "model", *sink_);
    check_list(module.schedules, "schedule", *sink_);
    check_list(module.plans, "plan", *sink_);
    check_list(module.datas, "data", *sink_);
    for (const syntax::Gradient& gradient : module.gradients) {
        sink_->report(diag::NotImplemented, gradient.name.span,
                      "`grad " + gradient.name.text + "`, a gradient that the user states; the derived one is exact");
    }
}

} // namespace sspc::elaboration
