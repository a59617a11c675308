// Parameters and optimizer states: initial values, and what files hold of them.
#pragma once

#include "common/device.h"
#include "common/regions.h"
#include "common/safetensors.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace ssp {

/// The part `box` of a tensor's initial value, dense: draws depend on the seed, the path and the global coordinates.
void initial_values(const ProgramInfo::Stored& stored, uint64_t seed, const Box& box, char* to);

/// Where stored tensors begin: a file, or their declared initial values.
class Beginning {
public:
    explicit Beginning(uint64_t seed) : seed_(seed) {}

    /// Parameters must be there; states that are not begin anew. Failures: SSP0804, SSP0809.
    void use_weights(const ProgramInfo& program, const std::string& path);
    /// The checkpoint with the greatest step in the folder (or the one that is named). All tensors must be there.
    void use_checkpoint(const ProgramInfo& program, const std::string& folder);

    void fill(const ProgramInfo::Stored& stored, const Box& box, char* to) const;
    /// Steps that were done before.
    int64_t step() const { return step_; }

private:
    enum class States { Required, Optional };
    void use(const ProgramInfo& program, const std::string& path, States states);

    uint64_t seed_;
    int64_t step_ = 0;
    std::unique_ptr<SafetensorsFile> file_;
};

/// `DIR/step-00000010.safetensors`
std::string checkpoint_path(const std::string& folder, int64_t step);

} // namespace ssp
