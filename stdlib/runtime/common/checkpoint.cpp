// Parameters and optimizer states: initial values, and what files hold of them.
#include "common/checkpoint.h"

#include "common/error.h"
#include "common/philox.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace ssp {
namespace {

double normal(uint64_t seed, uint64_t hash, int64_t index, uint32_t attempt) {
    const Philox p = draw(seed, 0, hash, index, Purpose::Initial, attempt);
    const double u = (static_cast<double>(p.w[0] >> 8) + 1.0) * 0x1p-24;
    const double angle = 6.283185307179586477 * (static_cast<double>(p.w[1] >> 8) * 0x1p-24);
    return std::sqrt(-2.0 * std::log(u)) * std::cos(angle);
}

double value_of(const ProgramInfo::Stored& stored, uint64_t seed, uint64_t hash, int64_t index) {
    using Init = ProgramInfo::Init;
    switch (stored.init) {
    case Init::Zeros: return 0;
    case Init::Ones: return 1;
    case Init::Constant: return stored.a;
    case Init::Normal: return stored.a + stored.b * normal(seed, hash, index, 0);
    case Init::Uniform: {
        const Philox p = draw(seed, 0, hash, index, Purpose::Initial);
        return stored.a + (stored.b - stored.a) * (static_cast<double>(p.w[0] >> 8) * 0x1p-24);
    }
    case Init::TruncatedNormal:
        for (uint32_t attempt = 0; attempt < 64; ++attempt) {
            const double z = normal(seed, hash, index, attempt);
            if (std::fabs(z) <= 2) {
                return stored.a + stored.b * z;
            }
        }
        return stored.a;
    }
    return 0;
}

template <typename T>
void put(char* to, int64_t index, T value) {
    std::memcpy(to + index * static_cast<int64_t>(sizeof value), &value, sizeof value);
}

void store(DType type, char* to, int64_t index, double value) {
    switch (type) {
    case DType::F64: return put(to, index, value);
    case DType::F32: return put(to, index, static_cast<float>(value));
    case DType::BF16: return put(to, index, bf16(static_cast<float>(value)));
    case DType::F16: return put(to, index, f16(static_cast<float>(value)));
    case DType::F8E4M3: return put(to, index, f8e4m3(static_cast<float>(value)));
    case DType::F8E5M2: return put(to, index, f8e5m2(static_cast<float>(value)));
    case DType::I64: return put(to, index, static_cast<int64_t>(value));
    case DType::I32: return put(to, index, static_cast<int32_t>(value));
    case DType::I8: return put(to, index, static_cast<int8_t>(value));
    case DType::U8: return put(to, index, static_cast<uint8_t>(value));
    case DType::Bool: return put(to, index, value != 0);
    }
}

constexpr const char* checkpoint_prefix = "step-";
constexpr const char* checkpoint_suffix = ".safetensors";

/// The step in a checkpoint's file name.
std::optional<int64_t> step_in(const std::string& name) {
    const std::string prefix = checkpoint_prefix, suffix = checkpoint_suffix;
    if (name.size() <= prefix.size() + suffix.size() || name.rfind(prefix, 0) != 0 ||
        name.substr(name.size() - suffix.size()) != suffix) {
        return std::nullopt;
    }
    const std::string digits = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
    if (digits.size() > 18 || digits.find_first_not_of("0123456789") != std::string::npos) {
        return std::nullopt;
    }
    return std::atoll(digits.c_str());
}

} // namespace

void initial_values(const ProgramInfo::Stored& stored, uint64_t seed, const Box& box, char* to) {
    const uint64_t hash = path_hash(stored.path.c_str());
    each_run(sizes_of(stored.home.axes), box, [&](int64_t whole, int64_t part, int64_t count) {
        for (int64_t i = 0; i < count; ++i) {
            store(stored.type, to, part + i, value_of(stored, seed, hash, whole + i));
        }
    });
}

std::string checkpoint_path(const std::string& folder, int64_t step) {
    char name[40];
    std::snprintf(name, sizeof name, "%s%08lld%s", checkpoint_prefix, static_cast<long long>(step), checkpoint_suffix);
    return (std::filesystem::path(folder) / name).string();
}

void Beginning::use(const ProgramInfo& program, const std::string& path, States states) {
    file_ = std::make_unique<SafetensorsFile>(path);
    for (const ProgramInfo::Stored& stored : program.stored) {
        const std::vector<int64_t> sizes = sizes_of(stored.home.axes);
        const FileTensor* tensor = file_->find(stored.path);
        const std::string what = (stored.is_state ? "state `" : "parameter `") + stored.path + "`";
        if (tensor == nullptr) {
            if (stored.is_state && states == States::Optional) {
                continue;
            }
            fail("SSP0809", what + " (" + describe(stored.type, sizes) + ") is not in `" + path + "`");
        }
        if (tensor->type != stored.type || tensor->shape != sizes) {
            fail("SSP0809", what + " is " + describe(stored.type, sizes) + ", and `" + path + "` has " + describe(*tensor));
        }
    }
    for (const auto& [name, tensor] : file_->tensors()) {
        const bool known = std::any_of(program.stored.begin(), program.stored.end(),
                                       [&name = name](const auto& stored) { return stored.path == name; });
        if (!known) {
            std::fprintf(stderr, "warning[SSP0809]: `%s` of `%s` is no tensor of this program, and is left out\n",
                         name.c_str(), path.c_str());
        }
    }
    const auto step = file_->metadata().find("step");
    if (states == States::Required) {
        if (step == file_->metadata().end()) {
            fail("SSP0809", "`" + path + "` does not say which step it was written after, so it is no checkpoint");
        }
        step_ = std::atoll(step->second.c_str());
    }
}

void Beginning::use_weights(const ProgramInfo& program, const std::string& path) { use(program, path, States::Optional); }

void Beginning::use_checkpoint(const ProgramInfo& program, const std::string& folder) {
    std::error_code error;
    if (std::filesystem::is_regular_file(folder, error)) {
        return use(program, folder, States::Required);
    }
    std::optional<int64_t> last;
    std::string path;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
        const auto step = step_in(entry->path().filename().string());
        if (step && (!last || *step > *last)) {
            last = step;
            path = entry->path().string();
        }
    }
    if (error) {
        fail("SSP0804", "`" + folder + "` could not be read: " + error.message());
    }
    if (!last) {
        fail("SSP0804", "`" + folder + "` holds no checkpoint, which is named `step-N.safetensors`");
    }
    use(program, path, States::Required);
}

void Beginning::fill(const ProgramInfo::Stored& stored, const Box& box, char* to) const {
    const FileTensor* tensor = file_ ? file_->find(stored.path) : nullptr;
    if (tensor != nullptr) {
        take_part(tensor->shape, box, size_of(stored.type), file_->data(*tensor), to);
    } else {
        initial_values(stored, seed_, box, to);
    }
}

} // namespace ssp
