// Reads safetensors files: what runs leave behind, and the fixtures they are compared with.
#pragma once

#include "ir/support/sink.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sspc::backend {

struct StoredTensor {
    std::string dtype; ///< as the file spells it, `F32`
    std::vector<int64_t> shape;
    std::vector<double> values;
};

/// By name. A file that is absent or malformed is reported (SSP0002).
std::optional<std::map<std::string, StoredTensor>> read_tensor_file(const std::filesystem::path& file,
                                                                    Sink& sink);
/// The same from bytes in memory; `problem` says what is wrong.
std::optional<std::map<std::string, StoredTensor>> parse_tensor_file(std::string_view bytes,
                                                                     std::string& problem);

} // namespace sspc::backend
