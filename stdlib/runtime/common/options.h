// The options of a generated program.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>

namespace ssp {

struct Options {
    std::optional<int64_t> steps;
    std::string data;                          ///< a file with a tensor for each input
    std::map<std::string, std::string> inputs; ///< `--data input=FILE`
    std::string weights;
    std::string save;
    int64_t save_every = 0;
    std::string checkpoints = "checkpoints"; ///< the folder that `--save-every` writes to
    std::string resume;
    uint64_t seed = 0;
    std::string save_grads;
    std::string outputs;
    std::string metrics;
    std::string trace;
    bool help = false;
};

struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Both `--name value` and `--name=value`. Throws UsageError.
Options parse_options(int argc, char** argv);
const char* options_help();

} // namespace ssp
