// Reads safetensors files, for tests: every element type as double.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace sspc::test {

struct StoredTensor {
    std::string dtype;
    std::vector<int64_t> shape;
    std::vector<double> data;
};

template <typename T>
std::vector<double> widened(const char* bytes, size_t count) {
    std::vector<double> values(count);
    for (size_t i = 0; i < count; ++i) {
        T value;
        std::memcpy(&value, bytes + i * sizeof value, sizeof value);
        values[i] = static_cast<double>(value);
    }
    return values;
}

inline std::map<std::string, StoredTensor> read_safetensors(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw std::runtime_error("no file " + path);
    }
    std::ostringstream all;
    all << file.rdbuf();
    const std::string bytes = all.str();
    uint64_t header_size = 0;
    std::memcpy(&header_size, bytes.data(), sizeof header_size);
    const auto header = nlohmann::json::parse(bytes.substr(8, header_size));
    std::map<std::string, StoredTensor> tensors;
    for (const auto& [name, entry] : header.items()) {
        if (name == "__metadata__") {
            continue;
        }
        StoredTensor tensor;
        tensor.dtype = entry.at("dtype").get<std::string>();
        tensor.shape = entry.at("shape").get<std::vector<int64_t>>();
        size_t count = 1;
        for (const int64_t size : tensor.shape) {
            count *= static_cast<size_t>(size);
        }
        const char* data =
            bytes.data() + 8 + header_size + entry.at("data_offsets").at(0).get<size_t>();
        if (tensor.dtype == "F32") {
            tensor.data = widened<float>(data, count);
        } else if (tensor.dtype == "F64") {
            tensor.data = widened<double>(data, count);
        } else if (tensor.dtype == "I64") {
            tensor.data = widened<int64_t>(data, count);
        } else {
            throw std::runtime_error("element type " + tensor.dtype);
        }
        tensors.emplace(name, std::move(tensor));
    }
    return tensors;
}

} // namespace sspc::test
