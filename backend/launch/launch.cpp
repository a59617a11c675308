// Runs a built program: passes its output through, hands an interrupt on, turns its end into an exit status.
#include "backend/launch/launch.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>

namespace sspc::backend {
namespace {

volatile sig_atomic_t child_process = 0;

void hand_on(int signal) {
    if (child_process > 0) {
        kill(static_cast<pid_t>(child_process), signal);
    }
}

} // namespace

int launch_program(const std::filesystem::path& executable, const std::vector<std::string>& options) {
    const std::string path = executable.string();
    std::vector<char*> words = {const_cast<char*>(path.c_str())};
    for (const std::string& option : options) {
        words.push_back(const_cast<char*>(option.c_str()));
    }
    words.push_back(nullptr);
    std::cout.flush();
    const pid_t child = fork();
    if (child == 0) {
        // Interrupts come from this process, once; the terminal's would reach the child a second time.
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        execv(words[0], words.data());
        std::cerr << "error[SSP0801]: `" << path << "` could not be started: " << std::strerror(errno) << "\n";
        _exit(3);
    }
    if (child < 0) {
        std::cerr << "error[SSP0801]: no process could be started: " << std::strerror(errno) << "\n";
        return 3;
    }
    child_process = child;
    struct sigaction forward = {}, old_interrupt = {}, old_terminate = {};
    forward.sa_handler = hand_on;
    sigaction(SIGINT, &forward, &old_interrupt);
    sigaction(SIGTERM, &forward, &old_terminate);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    sigaction(SIGINT, &old_interrupt, nullptr);
    sigaction(SIGTERM, &old_terminate, nullptr);
    child_process = 0;
    if (WIFSIGNALED(status)) {
        std::cerr << "error[SSP0801]: the program was ended by signal " << WTERMSIG(status) << " ("
                  << strsignal(WTERMSIG(status)) << ")\n";
        return 3;
    }
    const int result = WEXITSTATUS(status);
    return result == 0 || result == 2 || result == 130 ? result : 3;
}

} // namespace sspc::backend
