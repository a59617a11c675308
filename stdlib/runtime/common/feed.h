// The batches of a run: from files given on the command line, else from what the program's feeds say.
#pragma once

#include "common/device.h"
#include "common/options.h"
#include "common/regions.h"
#include "common/safetensors.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace ssp {

class Batches {
public:
    /// Opens every file and compares it with the inputs. Failures: SSP0804 and SSP0806.
    Batches(const ProgramInfo& program, const Options& options);

    /// The steps that files with an axis of steps have; nothing if none limits the run.
    std::optional<int64_t> steps() const { return steps_; }
    const std::string& shortest_file() const { return shortest_file_; }

    /// The box of step `step` (from 1) of an input, dense and row-major. The same under every plan. Threads may call it at once.
    void fill(int input, int64_t step, const Box& box, char* to);

private:
    struct Text {
        std::string bytes;
        uint64_t seed = 0;
        uint64_t hash = 0;
    };
    struct Source {
        enum class Kind { None, Steps, Rows, Tokens, Labels } kind = Kind::None;
        std::shared_ptr<SafetensorsFile> file; ///< Steps, Rows
        const FileTensor* tensor = nullptr;
        std::shared_ptr<Text> text; ///< Tokens, Labels
        int rows = -1;              ///< the input's axis of rows
        uint64_t seed = 0;
    };

    std::shared_ptr<SafetensorsFile> open(const std::string& path);
    Source steps_of(const ProgramInfo::Input& input, const std::string& path, bool only_tensor);
    void bind_feed(const ProgramInfo::Feed& feed, const std::vector<bool>& bound);
    void fill_windows(const ProgramInfo::Input& input, const Source& source, int64_t step, const Box& box, char* to);
    void fill_rows(const ProgramInfo::Input& input, const Source& source, int64_t step, const Box& box, char* to);
    /// Row number `row` (counted over all epochs) of a file with `count` rows.
    int64_t shuffled(uint64_t seed, int64_t count, int64_t row);

    const ProgramInfo& program_;
    std::vector<Source> sources_;
    std::map<std::string, std::shared_ptr<SafetensorsFile>> files_;
    std::optional<int64_t> steps_;
    std::string shortest_file_;

    std::mutex mutex_;
    using Epoch = std::tuple<uint64_t, int64_t, int64_t>; // seed, rows, epoch
    std::map<Epoch, std::vector<int64_t>> orders_;
};

} // namespace ssp
