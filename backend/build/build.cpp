// Compiles emitted sources into a program, and keeps what it built.
#include "backend/build/build.h"

#include "backend/build/find_tools.h"
#include "backend/build/run_commands.h"
#include "ir/support/format.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace sspc::backend {

namespace fs = std::filesystem;

namespace {

/// Flags that the project was itself built with, so that a sanitizer build makes sanitized programs.
#ifndef SSPC_PROGRAM_FLAGS
#define SSPC_PROGRAM_FLAGS ""
#endif

class Hash {
public:
    void add(std::string_view text) {
        for (const char c : text) {
            a_ = (a_ ^ static_cast<unsigned char>(c)) * 1099511628211ull;
            b_ = (b_ + static_cast<unsigned char>(c)) * 6364136223846793005ull + 1442695040888963407ull;
        }
        a_ = (a_ ^ 0xffu) * 1099511628211ull; // ends a text
        b_ = b_ * 6364136223846793005ull + 1;
    }
    std::string text() const {
        char buffer[40];
        std::snprintf(buffer, sizeof buffer, "%016llx%016llx", static_cast<unsigned long long>(a_),
                      static_cast<unsigned long long>(b_));
        return buffer;
    }

private:
    uint64_t a_ = 14695981039346656037ull;
    uint64_t b_ = 0;
};

std::string read_file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

fs::path cache_folder() {
    if (const char* folder = std::getenv("XDG_CACHE_HOME"); folder && *folder) {
        return fs::path(folder) / "sspc";
    }
    const char* home = std::getenv("HOME");
    return home && *home ? fs::path(home) / ".cache" / "sspc" : fs::temp_directory_path() / "sspc-cache";
}

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> words;
    for (std::string word; in >> word;) {
        words.push_back(word);
    }
    return words;
}

/// The files of the runtime, sorted; those to compile are the sources.
std::vector<fs::path> runtime_files(const fs::path& runtime, Target target) {
    std::vector<fs::path> files;
    std::error_code error;
    for (const char* folder : {"common", target == Target::Cuda ? "cuda" : "host"}) {
        for (auto at = fs::directory_iterator(runtime / folder, error); !error && at != fs::directory_iterator();
             at.increment(error)) {
            files.push_back(at->path());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

struct Builder {
    const BuildOptions& options;
    Sink& sink;
    Tools tools;

    std::vector<std::string> flags_of(const fs::path& source) const {
        const std::string extension = source.extension().string();
        const bool kernels = source.filename().string().substr(0, 7) == "kernels" || source.filename() == "network.cu";
        std::vector<std::string> flags;
        if (options.target == Target::Cuda) {
            flags = {"-std=c++20", "-O3", "--extended-lambda", "-x", extension == ".cu" ? "cu" : "c++",
                     "-arch=" + architecture()};
        } else {
            // Not -ffast-math: infinities and NaN mean what they say.
            // main.cpp is a table of what to store and load: it runs once.
            flags = {"-std=c++20", kernels ? "-O3" : extension == ".cpp" && source.filename() == "main.cpp" ? "-O0" : "-O1", "-march=native", "-fopenmp-simd", "-fno-math-errno",
                     "-fno-trapping-math", "-ffp-contract=fast", "-x", "c++", "-I" + (options.runtime / "host").string()};
        }
        flags.push_back("-I" + options.runtime.string());
        flags.insert(flags.end(), tools.include_flags.begin(), tools.include_flags.end());
        const auto more = extra_flags();
        flags.insert(flags.end(), more.begin(), more.end());
        return flags;
    }

    static std::string architecture() {
        const char* wanted = std::getenv("SSPC_CUDA_ARCH");
        return wanted && *wanted ? wanted : "sm_90";
    }

    static std::vector<std::string> extra_flags() {
        auto flags = words_of(SSPC_PROGRAM_FLAGS);
        const char* wanted = std::getenv("SSPC_CXXFLAGS");
        const auto more = words_of(wanted ? wanted : "");
        flags.insert(flags.end(), more.begin(), more.end());
        return flags;
    }

    void hash_tools(Hash& hash) const {
        std::error_code ignored;
        const fs::path real = fs::canonical(tools.compiler, ignored);
        hash.add(real.string());
        hash.add(to_text(static_cast<int64_t>(fs::file_size(real, ignored))));
        for (const std::string& flag : flags_of("kernels.cu")) {
            hash.add(flag);
        }
    }

    bool run(const std::vector<Command>& commands) const {
        const auto failed = run_commands(commands, options.verbose);
        if (!failed) {
            return true;
        }
        // The first line that speaks of an error, and the rest as a note.
        std::istringstream lines(failed->output);
        std::string first, line;
        while (std::getline(lines, line)) {
            if (first.empty() && line.find("error") != std::string::npos) {
                first = line;
            }
        }
        std::string shown;
        for (const std::string& word : failed->command) {
            shown += word + " ";
        }
        const bool cut = failed->output.size() > 4000;
        sink.report(diag::CompilerFailed, {}, first.empty() ? "no message" : first)
            .note({}, "the command was: " + shown)
            .note({}, "it wrote:\n" + failed->output.substr(0, 4000) + (cut ? "…" : ""));
        return false;
    }

    Command compile(const fs::path& source, const fs::path& object) const {
        Command command = {tools.compiler.string()};
        const auto flags = flags_of(source);
        command.insert(command.end(), flags.begin(), flags.end());
        command.insert(command.end(), {"-c", source.string(), "-o", object.string()});
        return command;
    }

    /// Makes `final_folder` by filling a folder of its own and renaming it: two builds at once cannot disturb one another.
    template <typename Fill>
    bool make_folder(const fs::path& final_folder, const Fill& fill) const {
        std::error_code error;
        fs::create_directories(final_folder.parent_path(), error);
        std::string name = final_folder.string() + ".XXXXXX";
        if (error || !mkdtemp(name.data())) {
            sink.report(diag::CannotWriteProgram, {}, final_folder.parent_path().string(),
                        error ? error.message() : "no folder could be made in it");
            return false;
        }
        const fs::path folder = name;
        const bool fine = fill(folder);
        if (fine) {
            fs::rename(folder, final_folder, error);
        }
        if (!fine || error) {
            std::error_code ignored;
            fs::remove_all(folder, ignored); // another build was first, or this one failed
        }
        return fine;
    }

    /// The object files of the runtime, built once.
    std::optional<fs::path> runtime_objects() const {
        Hash hash;
        hash_tools(hash);
        std::vector<fs::path> sources;
        for (const fs::path& file : runtime_files(options.runtime, options.target)) {
            hash.add(file.filename().string());
            hash.add(read_file(file));
            if (file.extension() == ".cpp" || file.extension() == ".cu") {
                sources.push_back(file);
            }
        }
        const fs::path folder = cache_folder() / ("runtime-" + hash.text());
        if (options.use_cache && fs::exists(folder / "done")) {
            return folder;
        }
        const bool fine = make_folder(folder, [&](const fs::path& temporary) {
            std::vector<Command> commands;
            for (const fs::path& source : sources) {
                commands.push_back(compile(source, temporary / (source.filename().string() + ".o")));
            }
            if (!run(commands)) {
                return false;
            }
            std::ofstream(temporary / "done") << "built\n";
            return true;
        });
        return fine ? std::optional(folder) : std::nullopt;
    }

    bool build(const std::map<std::string, std::string>& files, const fs::path& folder, const fs::path& runtime) const {
        if (!write_sources(files, folder, sink)) {
            return false;
        }
        std::vector<Command> commands;
        Command link = {tools.compiler.string(), "-o", (folder / "plan").string()};
        if (options.target == Target::Cuda) {
            link.push_back("-arch=" + architecture());
        }
        for (const auto& [name, text] : files) {
            const fs::path source = folder / name;
            if (source.extension() == ".cu" || source.extension() == ".cpp") {
                const fs::path object = folder / (name + ".o");
                commands.push_back(compile(source, object));
                link.push_back(object.string());
            }
        }
        // The longest first, so that the last one to finish is short.
        std::stable_sort(commands.begin(), commands.end(), [&](const Command& a, const Command& b) {
            const auto size = [&](const Command& c) { return files.at(fs::path(c[c.size() - 3]).filename().string()).size(); };
            return size(a) > size(b);
        });
        std::error_code error;
        std::vector<std::string> objects;
        for (const auto& entry : fs::directory_iterator(runtime, error)) {
            if (entry.path().extension() == ".o") {
                objects.push_back(entry.path().string());
            }
        }
        std::sort(objects.begin(), objects.end());
        link.insert(link.end(), objects.begin(), objects.end());
        const auto more = extra_flags();
        link.insert(link.end(), more.begin(), more.end());
        link.insert(link.end(), tools.link_flags.begin(), tools.link_flags.end());
        if (!run(commands) || !run({link})) {
            return false;
        }
        for (const Command& command : commands) {
            fs::remove(command.back(), error);
        }
        return true;
    }
};

} // namespace

bool write_sources(const std::map<std::string, std::string>& files, const fs::path& directory, Sink& sink) {
    std::error_code error;
    fs::create_directories(directory, error);
    for (const auto& [name, text] : files) {
        const fs::path path = directory / name;
        if (!error && read_file(path) == text && fs::exists(path, error)) {
            continue; // its time stays, so that a project built from it does not rebuild
        }
        std::ofstream out(path, std::ios::binary);
        out << text;
        out.flush();
        if (!out) {
            sink.report(diag::CannotWriteProgram, {}, path.string(), error ? error.message() : "is the folder writable?");
            return false;
        }
    }
    return true;
}

std::optional<fs::path> build_program(const std::map<std::string, std::string>& files, const BuildOptions& options,
                                      Sink& sink) {
    std::error_code error;
    if (!fs::is_directory(options.runtime / "common", error)) {
        sink.report(diag::NoRuntime, {}, options.runtime.string()).help("set SSPC_STDLIB to the folder `stdlib` of sspc");
        return std::nullopt;
    }
    const auto tools = find_tools(options.target, sink);
    if (!tools) {
        return std::nullopt;
    }
    const Builder builder{options, sink, *tools};
    const auto runtime = builder.runtime_objects();
    if (!runtime) {
        return std::nullopt;
    }
    Hash hash;
    hash.add(runtime->filename().string());
    for (const auto& [name, text] : files) {
        hash.add(name);
        hash.add(text);
    }
    const fs::path folder = cache_folder() / hash.text();
    const fs::path program = folder / "plan";
    if (!options.use_cache || !fs::exists(program, error)) {
        if (!builder.make_folder(folder, [&](const fs::path& temporary) { return builder.build(files, temporary, *runtime); })) {
            return std::nullopt;
        }
    }
    if (options.directory.empty()) {
        return program;
    }
    if (!write_sources(files, options.directory, sink)) {
        return std::nullopt;
    }
    const fs::path result = options.directory / "plan";
    fs::copy_file(program, result, fs::copy_options::overwrite_existing, error);
    if (error) {
        sink.report(diag::CannotWriteProgram, {}, result.string(), error.message());
        return std::nullopt;
    }
    return result;
}

} // namespace sspc::backend
