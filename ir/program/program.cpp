// Small questions about a device program.
#include "ir/program/program.h"

namespace sspc {

std::string to_token(const BlockCall& block) {
    const char letter = block.kind == BlockCall::Kind::Forward         ? 'F'
                        : block.kind == BlockCall::Kind::Backward      ? 'B'
                        : block.kind == BlockCall::Kind::InputGradient ? 'I'
                                                                       : 'W';
    return std::to_string(block.stage) + letter + std::to_string(block.micro);
}

int micro_count(const Program& program) {
    const auto axis = find_role(program.mesh, AxisRole::Micro);
    return axis ? program.mesh.axes[static_cast<size_t>(*axis)].size : 1;
}

int64_t peak_bytes(const Class& device_class) {
    return device_class.static_bytes + device_class.frames * device_class.frame_bytes +
           device_class.scratch_bytes;
}

} // namespace sspc
