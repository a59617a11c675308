// Runs compilers side by side.
#include "backend/build/run_commands.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <thread>

namespace sspc::backend {
namespace {

/// The exit status and what the command wrote.
std::pair<int, std::string> run(const Command& command) {
    std::vector<char*> words;
    for (const std::string& word : command) {
        words.push_back(const_cast<char*>(word.c_str()));
    }
    words.push_back(nullptr);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return {-1, "no pipe could be made"};
    }
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        execv(words[0], words.data());
        _exit(127);
    }
    close(ends[1]);
    std::string output;
    char chunk[4096];
    for (ssize_t n; child > 0 && (n = read(ends[0], chunk, sizeof chunk)) > 0;) {
        output.append(chunk, static_cast<size_t>(n));
    }
    close(ends[0]);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0) {
        return {-1, "no process could be started"};
    }
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}

} // namespace

std::optional<Failed> run_commands(const std::vector<Command>& commands, bool verbose) {
    std::atomic<size_t> next = 0;
    std::mutex mutex;
    std::optional<Failed> failed;
    const auto work = [&] {
        for (size_t at = next++; at < commands.size(); at = next++) {
            {
                const std::lock_guard lock(mutex);
                if (failed) {
                    return;
                }
                if (verbose) {
                    for (const std::string& word : commands[at]) {
                        std::cerr << word << ' ';
                    }
                    std::cerr << '\n';
                }
            }
            const auto [status, output] = run(commands[at]);
            const std::lock_guard lock(mutex);
            if (status != 0 && !failed) {
                failed = Failed{commands[at], output};
            } else if (verbose && !output.empty()) {
                std::cerr << output;
            }
        }
    };
    const size_t count = std::min<size_t>(std::max(1u, std::thread::hardware_concurrency()), commands.size());
    std::vector<std::thread> threads;
    for (size_t i = 1; i < count; ++i) {
        threads.emplace_back(work);
    }
    work();
    for (std::thread& thread : threads) {
        thread.join();
    }
    return failed;
}

} // namespace sspc::backend
