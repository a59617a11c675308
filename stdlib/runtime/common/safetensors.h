// Files of named tensors in the safetensors format: 8 bytes with the header's length, a JSON header, the data.
#pragma once

#include "common/types.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ssp {

struct FileTensor {
    std::optional<DType> type; ///< none: a type that programs do not have (I16, …)
    std::string type_name;
    std::vector<int64_t> shape;
    uint64_t begin = 0; ///< bytes from the start of the data
    uint64_t end = 0;
};

std::string type_name(DType type); ///< as in the files: `F32`
std::string shape_text(const std::vector<int64_t>& shape);
/// `F32 [4, 16, 64]`
std::string describe(DType type, const std::vector<int64_t>& shape);
std::string describe(const FileTensor& tensor);

/// A file that is read in place. Anything the format forbids is a Failure (SSP0804): nothing of a broken file is used.
class SafetensorsFile {
public:
    explicit SafetensorsFile(const std::string& path);
    ~SafetensorsFile();
    SafetensorsFile(const SafetensorsFile&) = delete;
    SafetensorsFile& operator=(const SafetensorsFile&) = delete;

    const std::string& path() const { return path_; }
    const std::map<std::string, FileTensor>& tensors() const { return tensors_; }
    const FileTensor* find(const std::string& name) const;
    /// The first byte of a tensor; not aligned.
    const char* data(const FileTensor& tensor) const { return data_ + tensor.begin; }
    const std::map<std::string, std::string>& metadata() const { return metadata_; }

private:
    void read_header(uint64_t size);

    std::string path_;
    void* map_ = nullptr;
    uint64_t map_bytes_ = 0;
    const char* data_ = nullptr;
    std::map<std::string, FileTensor> tensors_;
    std::map<std::string, std::string> metadata_;
};

/// Writes a file aside and puts it in place when it is complete, so that no reader sees half a file. Failures are SSP0805.
class SafetensorsWriter {
public:
    struct Entry {
        std::string name;
        DType type;
        std::vector<int64_t> shape;
    };
    SafetensorsWriter(const std::string& path, const std::vector<Entry>& entries,
                      const std::map<std::string, std::string>& metadata = {});
    ~SafetensorsWriter();
    SafetensorsWriter(const SafetensorsWriter&) = delete;
    SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

    /// The tensors' bytes, in the order of the entries.
    void write(const void* data, uint64_t bytes);
    void commit();

private:
    [[noreturn]] void fail_with(int error);
    void discard();

    std::string path_;
    std::string aside_; ///< empty: the target is no ordinary file and is written to directly
    int file_ = -1;
};

/// Fails (SSP0805) if no file can be made at `path`; leaves nothing behind.
void check_writable(const std::string& path);

} // namespace ssp
