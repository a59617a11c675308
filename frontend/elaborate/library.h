// The files of one compilation: the user's and what it imports, and the declarations that each of them sees.
#pragma once

#include "frontend/syntax/ast.h"
#include "ir/support/sink.h"
#include "ir/support/source_map.h"

#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sspc::elaboration {

struct LoadedFile {
    std::filesystem::path path;
    syntax::Module module;
    std::vector<int> imports; ///< indices of files
};

template <typename T>
struct Found {
    const T* declaration = nullptr;
    int file = -1;
    explicit operator bool() const { return declaration != nullptr; }
};

class Library {
public:
    /// Loads the file (number 0) and what it imports; false if anything could not be read.
    bool load(const std::filesystem::path& path, const std::vector<std::filesystem::path>& folders, SourceMap& sources,
              Sink& sink);

    const LoadedFile& file(int index) const { return files_[static_cast<size_t>(index)]; }
    /// The files that `from` sees: itself, then its imports, theirs, and so on.
    std::vector<int> visible(int from) const;

    template <typename T>
    Found<T> find(std::vector<T> syntax::Module::*list, const std::string& name, int from) const {
        for (const int index : visible(from)) {
            for (const T& declaration : file(index).module.*list) {
                if (declaration.name.text == name) {
                    return {&declaration, index};
                }
            }
        }
        return {};
    }
    template <typename T>
    std::vector<std::string> names(std::vector<T> syntax::Module::*list, int from) const {
        std::vector<std::string> out;
        for (const int index : visible(from)) {
            for (const T& declaration : file(index).module.*list) {
                out.push_back(declaration.name.text);
            }
        }
        return out;
    }

private:
    int load_file(const std::filesystem::path& path, const Span& from);
    std::optional<std::filesystem::path> resolve(const syntax::Import& import, const std::filesystem::path& importer);
    void check_names(const syntax::Module& module);

    std::deque<LoadedFile> files_;
    std::vector<std::filesystem::path> folders_;
    std::vector<std::filesystem::path> loading_;
    SourceMap* sources_ = nullptr;
    Sink* sink_ = nullptr;
};

} // namespace sspc::elaboration
