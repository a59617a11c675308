// Reads safetensors files: an 8-byte length, a JSON header, then the elements.
#include "backend/report/tensor_file.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>

namespace sspc::backend {

namespace {

template <typename T>
T load(const char* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

double half(uint16_t bits) {
    const int exponent = (bits >> 10) & 31;
    const double fraction = bits & 1023;
    double value = 0;
    if (exponent == 31) {
        value = fraction == 0 ? std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::quiet_NaN();
    } else {
        value = exponent == 0 ? std::ldexp(fraction, -24)
                              : std::ldexp(1 + fraction / 1024, exponent - 15);
    }
    return (bits & 0x8000) != 0 ? -value : value;
}

struct Element {
    const char* name;
    size_t bytes;
    double (*read)(const char*);
};

constexpr Element elements[] = {
    {"F64", 8, [](const char* p) { return load<double>(p); }},
    {"F32", 4, [](const char* p) { return static_cast<double>(load<float>(p)); }},
    {"BF16", 2,
     [](const char* p) {
         const uint32_t bits = static_cast<uint32_t>(load<uint16_t>(p)) << 16;
         float value = 0;
         std::memcpy(&value, &bits, sizeof value);
         return static_cast<double>(value);
     }},
    {"F16", 2, [](const char* p) { return half(load<uint16_t>(p)); }},
    {"I64", 8, [](const char* p) { return static_cast<double>(load<int64_t>(p)); }},
    {"I32", 4, [](const char* p) { return static_cast<double>(load<int32_t>(p)); }},
    {"I16", 2, [](const char* p) { return static_cast<double>(load<int16_t>(p)); }},
    {"I8", 1, [](const char* p) { return static_cast<double>(load<int8_t>(p)); }},
    {"U8", 1, [](const char* p) { return static_cast<double>(load<uint8_t>(p)); }},
    {"BOOL", 1, [](const char* p) { return *p != 0 ? 1.0 : 0.0; }},
};

/// Fills one tensor from its header entry, or says what is wrong.
std::string read_entry(const nlohmann::json& entry, std::string_view data, StoredTensor& tensor) {
    if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string() ||
        !entry.contains("shape") || !entry["shape"].is_array() ||
        !entry.contains("data_offsets") || !entry["data_offsets"].is_array() ||
        entry["data_offsets"].size() != 2) {
        return "its header entry lacks dtype, shape or data_offsets";
    }
    tensor.dtype = entry["dtype"].get<std::string>();
    const Element* element = nullptr;
    for (const Element& candidate : elements) {
        if (tensor.dtype == candidate.name) {
            element = &candidate;
        }
    }
    if (element == nullptr) {
        return "its element type " + tensor.dtype + " is not known";
    }
    uint64_t count = 1;
    for (const auto& size : entry["shape"]) {
        if (!size.is_number_unsigned() || size.get<uint64_t>() > data.size() ||
            (count *= size.get<uint64_t>()) > data.size()) {
            return "its shape is larger than the file";
        }
        tensor.shape.push_back(size.get<int64_t>());
    }
    for (const auto& offset : entry["data_offsets"]) {
        if (!offset.is_number_unsigned()) {
            return "its data_offsets are no positions in the file";
        }
    }
    const uint64_t begin = entry["data_offsets"][0].get<uint64_t>();
    const uint64_t end = entry["data_offsets"][1].get<uint64_t>();
    if (begin > end || end > data.size() || end - begin != count * element->bytes) {
        return "its data_offsets do not fit its shape and the file";
    }
    tensor.values.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
        tensor.values.push_back(element->read(data.data() + begin + i * element->bytes));
    }
    return "";
}

} // namespace

std::optional<std::map<std::string, StoredTensor>> parse_tensor_file(std::string_view bytes,
                                                                     std::string& problem) {
    if (bytes.size() < 8 || load<uint64_t>(bytes.data()) > bytes.size() - 8) {
        problem = "it does not begin with the length of a header";
        return std::nullopt;
    }
    const uint64_t length = load<uint64_t>(bytes.data());
    const auto header = nlohmann::json::parse(bytes.substr(8, length), nullptr, false);
    if (!header.is_object()) {
        problem = "its header is not a JSON object";
        return std::nullopt;
    }
    std::map<std::string, StoredTensor> tensors;
    for (const auto& [name, entry] : header.items()) {
        if (name == "__metadata__") {
            continue;
        }
        const std::string wrong = read_entry(entry, bytes.substr(8 + length), tensors[name]);
        if (!wrong.empty()) {
            problem = "tensor `" + name + "`: " + wrong;
            return std::nullopt;
        }
    }
    return tensors;
}

std::optional<std::map<std::string, StoredTensor>> read_tensor_file(const std::filesystem::path& file,
                                                                    Sink& sink) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) {
        sink.report(diag::FileNotReadable, {}, file.string(), "it cannot be opened");
        return std::nullopt;
    }
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    std::string problem;
    auto tensors = parse_tensor_file(bytes, problem);
    if (!tensors) {
        sink.report(diag::FileNotReadable, {}, file.string(),
                    "it is not a safetensors file: " + problem);
    }
    return tensors;
}

} // namespace sspc::backend
