// Files of named tensors in the safetensors format.
#include "common/safetensors.h"

#include "common/error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ssp {
namespace {

constexpr uint64_t longest_header = 100'000'000; // the format's own limit

struct TypeName {
    const char* name;
    std::optional<DType> type;
    uint64_t bytes;
};
const TypeName type_names[] = {
    {"F64", DType::F64, 8},        {"F32", DType::F32, 4},        {"BF16", DType::BF16, 2},   {"F16", DType::F16, 2},
    {"F8_E4M3", DType::F8E4M3, 1}, {"F8_E5M2", DType::F8E5M2, 1}, {"I64", DType::I64, 8},     {"I32", DType::I32, 4},
    {"I8", DType::I8, 1},          {"U8", DType::U8, 1},          {"BOOL", DType::Bool, 1},   {"I16", std::nullopt, 2},
    {"U16", std::nullopt, 2},      {"U32", std::nullopt, 4},      {"U64", std::nullopt, 8},
};

[[noreturn]] void broken(const std::string& path, const std::string& why) {
    fail("SSP0804", "`" + path + "` is no safetensors file: " + why);
}

/// Product of sizes times `unit`, or nothing if it does not fit.
std::optional<uint64_t> byte_count(const std::vector<int64_t>& shape, uint64_t unit) {
    uint64_t bytes = unit;
    for (const int64_t size : shape) {
        if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes)) {
            return std::nullopt;
        }
    }
    return bytes;
}

FileTensor read_entry(const std::string& path, const std::string& name, const nlohmann::json& entry, uint64_t data_bytes) {
    const auto wrong = [&](const std::string& why) { broken(path, "tensor `" + name + "` " + why); };
    if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") || !entry.contains("data_offsets")) {
        wrong("lacks dtype, shape or data_offsets");
    }
    FileTensor tensor;
    if (!entry["dtype"].is_string()) {
        wrong("has a dtype that is no string");
    }
    tensor.type_name = entry["dtype"].get<std::string>();
    const auto* known = std::find_if(std::begin(type_names), std::end(type_names),
                                     [&](const TypeName& type) { return tensor.type_name == type.name; });
    if (known == std::end(type_names)) {
        wrong("has the unknown dtype `" + tensor.type_name + "`");
    }
    tensor.type = known->type;
    const nlohmann::json& shape = entry["shape"];
    if (!shape.is_array()) {
        wrong("has a shape that is no list");
    }
    for (const nlohmann::json& size : shape) {
        if (!size.is_number_unsigned() || size.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
            wrong("has a size that is no natural number");
        }
        tensor.shape.push_back(size.get<int64_t>());
    }
    const nlohmann::json& offsets = entry["data_offsets"];
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned()) {
        wrong("has data_offsets that are not two natural numbers");
    }
    tensor.begin = offsets[0].get<uint64_t>();
    tensor.end = offsets[1].get<uint64_t>();
    if (tensor.begin > tensor.end || tensor.end > data_bytes) {
        wrong("ends at byte " + std::to_string(tensor.end) + " of " + std::to_string(data_bytes) + " bytes of data");
    }
    const auto bytes = byte_count(tensor.shape, known->bytes);
    if (!bytes || *bytes != tensor.end - tensor.begin) {
        wrong("has " + std::to_string(tensor.end - tensor.begin) + " bytes, which is not " + describe(tensor));
    }
    return tensor;
}

std::string system_error(int error) { return std::strerror(error); }

} // namespace

std::string type_name(DType type) {
    for (const TypeName& known : type_names) {
        if (known.type == type) {
            return known.name;
        }
    }
    return "?";
}
std::string shape_text(const std::vector<int64_t>& shape) {
    std::string text = "[";
    for (size_t i = 0; i < shape.size(); ++i) {
        text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
    }
    return text + "]";
}
std::string describe(DType type, const std::vector<int64_t>& shape) { return type_name(type) + " " + shape_text(shape); }
std::string describe(const FileTensor& tensor) { return tensor.type_name + " " + shape_text(tensor.shape); }

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        fail("SSP0804", "`" + path + "` could not be read: " + system_error(errno));
    }
    struct stat status {};
    const int stat_result = ::fstat(file, &status);
    if (stat_result != 0 || !S_ISREG(status.st_mode)) {
        ::close(file);
        fail("SSP0804", "`" + path + "` could not be read: it is no ordinary file");
    }
    map_bytes_ = static_cast<uint64_t>(status.st_size);
    if (map_bytes_ < 8) {
        ::close(file);
        broken(path, "it has " + std::to_string(map_bytes_) + " bytes, and a header's length takes 8");
    }
    map_ = ::mmap(nullptr, map_bytes_, PROT_READ, MAP_PRIVATE, file, 0);
    const int error = errno;
    ::close(file);
    if (map_ == MAP_FAILED) {
        map_ = nullptr;
        fail("SSP0804", "`" + path + "` could not be read: " + system_error(error));
    }
    try {
        uint64_t size = 0;
        std::memcpy(&size, map_, sizeof size);
        read_header(size);
    } catch (...) {
        ::munmap(map_, map_bytes_);
        throw;
    }
}
SafetensorsFile::~SafetensorsFile() { ::munmap(map_, map_bytes_); }

void SafetensorsFile::read_header(uint64_t size) {
    if (size > longest_header || size > map_bytes_ - 8) {
        broken(path_, "its header would have " + std::to_string(size) + " bytes, and the file has " +
                          std::to_string(map_bytes_));
    }
    const char* text = static_cast<const char*>(map_) + 8;
    data_ = text + size;
    const uint64_t data_bytes = map_bytes_ - 8 - size;
    std::set<std::string> keys;
    std::string twice;
    const nlohmann::json::parser_callback_t watch = [&](int depth, nlohmann::json::parse_event_t event,
                                                        nlohmann::json& value) {
        if (depth == 1 && event == nlohmann::json::parse_event_t::key && !keys.insert(value.get<std::string>()).second) {
            twice = value.get<std::string>();
        }
        return true;
    };
    const nlohmann::json header = nlohmann::json::parse(text, text + size, watch, false);
    if (header.is_discarded() || !header.is_object()) {
        broken(path_, "its header is no JSON object");
    }
    if (!twice.empty()) {
        broken(path_, "it has two tensors named `" + twice + "`");
    }
    std::vector<const FileTensor*> in_order;
    for (const auto& [name, entry] : header.items()) {
        if (name == "__metadata__") {
            if (!entry.is_object()) {
                broken(path_, "its __metadata__ is no object");
            }
            for (const auto& [key, value] : entry.items()) {
                if (!value.is_string()) {
                    broken(path_, "its __metadata__ holds something that is no string");
                }
                metadata_[key] = value.get<std::string>();
            }
            continue;
        }
        in_order.push_back(&(tensors_[name] = read_entry(path_, name, entry, data_bytes)));
    }
    std::sort(in_order.begin(), in_order.end(), [](const FileTensor* a, const FileTensor* b) {
        return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
    });
    uint64_t at = 0;
    for (const FileTensor* tensor : in_order) {
        if (tensor->begin != at) {
            broken(path_, tensor->begin < at ? "two tensors overlap" : "bytes between two tensors belong to none");
        }
        at = tensor->end;
    }
    if (at != data_bytes) {
        broken(path_, std::to_string(data_bytes - at) + " bytes at its end belong to no tensor");
    }
}

const FileTensor* SafetensorsFile::find(const std::string& name) const {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second;
}

namespace {

bool is_special(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}
std::string aside_of(const std::string& path) {
    return is_special(path) ? std::string() : path + ".part-" + std::to_string(::getpid());
}

} // namespace

SafetensorsWriter::SafetensorsWriter(const std::string& path, const std::vector<Entry>& entries,
                                     const std::map<std::string, std::string>& metadata)
    : path_(path), aside_(aside_of(path)) {
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    if (!metadata.empty()) {
        header["__metadata__"] = metadata;
    }
    uint64_t at = 0;
    for (const Entry& entry : entries) {
        const uint64_t bytes = byte_count(entry.shape, static_cast<uint64_t>(size_of(entry.type))).value();
        header[entry.name] = {
            {"dtype", type_name(entry.type)}, {"shape", entry.shape}, {"data_offsets", {at, at + bytes}}};
        at += bytes;
    }
    std::string text = header.dump();
    text.append((8 - text.size() % 8) % 8, ' ');
    file_ = aside_.empty() ? ::open(path_.c_str(), O_WRONLY | O_CLOEXEC)
                           : ::open(aside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file_ < 0) {
        fail_with(errno);
    }
    const uint64_t length = text.size();
    write(&length, sizeof length);
    write(text.data(), text.size());
}
SafetensorsWriter::~SafetensorsWriter() { discard(); }

void SafetensorsWriter::discard() {
    if (file_ >= 0) {
        ::close(file_);
        file_ = -1;
        if (!aside_.empty()) {
            ::unlink(aside_.c_str());
        }
    }
}
void SafetensorsWriter::fail_with(int error) {
    discard();
    fail("SSP0805", "`" + path_ + "` could not be written: " + system_error(error));
}

void SafetensorsWriter::write(const void* data, uint64_t bytes) {
    const char* from = static_cast<const char*>(data);
    while (bytes > 0) {
        const ssize_t written = ::write(file_, from, std::min<uint64_t>(bytes, 1u << 30));
        if (written < 0 && errno != EINTR) {
            fail_with(errno);
        }
        if (written > 0) {
            from += written;
            bytes -= static_cast<uint64_t>(written);
        }
    }
}

void SafetensorsWriter::commit() {
    if (aside_.empty()) {
        const int closed = ::close(file_);
        file_ = -1;
        if (closed != 0) {
            fail_with(errno);
        }
        return;
    }
    if (::fsync(file_) != 0) {
        fail_with(errno);
    }
    const int closed = ::close(file_);
    file_ = -1;
    if (closed != 0 || ::rename(aside_.c_str(), path_.c_str()) != 0) {
        const int error = errno;
        ::unlink(aside_.c_str());
        fail_with(error);
    }
    // The new name is safe only when its folder is.
    const std::string folder = std::filesystem::path(path_).parent_path().string();
    const int directory = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory >= 0) {
        ::fsync(directory);
        ::close(directory);
    }
}

void check_writable(const std::string& path) {
    if (std::filesystem::is_directory(path)) {
        fail("SSP0805", "`" + path + "` could not be written: it is a folder");
    }
    const std::string aside = aside_of(path);
    const int file = aside.empty() ? ::open(path.c_str(), O_WRONLY | O_CLOEXEC)
                                   : ::open(aside.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) {
        fail("SSP0805", "`" + path + "` could not be written: " + system_error(errno));
    }
    ::close(file);
    if (!aside.empty()) {
        ::unlink(aside.c_str());
    }
}

} // namespace ssp
