// Finds what a program is built with: compilers and libraries.
#include "backend/build/find_tools.h"

#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace sspc::backend {

namespace fs = std::filesystem;

namespace {

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

bool is_file(const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored);
}

/// The first folder that holds `file`.
std::optional<fs::path> find_folder(const std::vector<fs::path>& folders, const std::string& file) {
    for (const fs::path& folder : folders) {
        if (!folder.empty() && is_file(folder / file)) {
            return folder;
        }
    }
    return std::nullopt;
}

std::vector<fs::path> library_folders() {
    return {"/usr/lib",
            "/usr/lib64",
            "/usr/local/lib",
            "/usr/lib/x86_64-linux-gnu",
            "/usr/lib/aarch64-linux-gnu",
            "/usr/lib/x86_64-linux-gnu/openblas-pthread",
            "/usr/lib/aarch64-linux-gnu/openblas-pthread"};
}

std::optional<Tools> find_host_tools(Sink& sink) {
    Tools tools;
    const std::string chosen = environment("CXX");
    const auto compiler = find_program(chosen.empty() ? std::vector<std::string>{"g++", "clang++", "c++"}
                                                      : std::vector<std::string>{chosen});
    if (!compiler) {
        sink.report(diag::NoCompiler, {}, chosen.empty() ? "`g++`, `clang++` and `c++`" : "`" + chosen + "` ($CXX)")
            .help("install one: `apt install g++`");
        return std::nullopt;
    }
    tools.compiler = *compiler;
    const auto blas = find_folder({"/usr/include", "/usr/local/include", "/usr/include/x86_64-linux-gnu",
                                   "/usr/include/aarch64-linux-gnu", "/usr/include/openblas"},
                                  "cblas.h");
    if (!blas) {
        sink.report(diag::NoLibrary, {}, "OpenBLAS", "`cblas.h`").help("install it: `apt install libopenblas-dev`");
        return std::nullopt;
    }
    if (*blas == fs::path("/usr/include/openblas")) {
        tools.include_flags.push_back("-I" + blas->string());
    }
    tools.link_flags = {"-lopenblas", "-lpthread"};
    return tools;
}

std::optional<Tools> find_cuda_tools(Sink& sink) {
    Tools tools;
    std::vector<fs::path> homes;
    for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
        if (const std::string home = environment(name); !home.empty()) {
            homes.push_back(fs::path(home) / "bin");
        }
    }
    auto compiler = find_folder(homes, "nvcc");
    if (!compiler) {
        if (const auto found = find_program({"nvcc"})) {
            compiler = found->parent_path();
        } else {
            compiler = find_folder({"/usr/local/cuda/bin"}, "nvcc");
        }
    }
    if (!compiler) {
        sink.report(diag::NoCuda, {}).help("install the CUDA toolkit, or set CUDA_HOME to where it is");
        return std::nullopt;
    }
    tools.compiler = *compiler / "nvcc";
    const fs::path home = compiler->parent_path();
    const std::string nccl_home = environment("NCCL_HOME");
    const auto nccl = find_folder({nccl_home.empty() ? fs::path() : fs::path(nccl_home) / "include", home / "include",
                                   "/usr/include", "/usr/local/include"},
                                  "nccl.h");
    if (!nccl) {
        sink.report(diag::NoLibrary, {}, "NCCL", "`nccl.h`")
            .help("install it: `apt install libnccl-dev`, or set NCCL_HOME to where it is");
        return std::nullopt;
    }
    tools.include_flags.push_back("-I" + nccl->string());
    auto folders = library_folders();
    folders.insert(folders.begin(), {nccl->parent_path() / "lib", nccl->parent_path() / "lib64", home / "lib64"});
    if (const auto library = find_folder(folders, "libnccl.so")) {
        tools.link_flags.push_back("-L" + library->string());
        tools.link_flags.push_back("-Xlinker=-rpath," + library->string());
    }
    tools.link_flags.insert(tools.link_flags.end(), {"-lcublas", "-lnccl"});
    return tools;
}

} // namespace

std::optional<fs::path> find_program(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        if (name.find('/') != std::string::npos) {
            if (::access(name.c_str(), X_OK) == 0) {
                return fs::path(name);
            }
            continue;
        }
        std::istringstream folders(environment("PATH"));
        for (std::string folder; std::getline(folders, folder, ':');) {
            const fs::path path = fs::path(folder.empty() ? "." : folder) / name;
            if (is_file(path) && ::access(path.c_str(), X_OK) == 0) {
                return path;
            }
        }
    }
    return std::nullopt;
}

std::optional<Tools> find_tools(Target target, Sink& sink) {
    if (target == Target::Mpi) {
        sink.report(diag::NotImplemented, {}, "`--target mpi`; ranks are threads with `--target cpu`");
        return std::nullopt;
    }
    return target == Target::Cuda ? find_cuda_tools(sink) : find_host_tools(sink);
}

} // namespace sspc::backend
