// Names and comments of the generated program, from the plan's paths.
#include "backend/emit/names.h"

#include "backend/emit/parts.h"
#include "ir/support/format.h"

#include <algorithm>

namespace sspc::backend {
namespace {

constexpr std::string_view gradient_prefix = "grad ";

std::vector<std::string> components(std::string_view path) {
    std::vector<std::string> parts(1);
    for (const char c : path) {
        if (c == '.') {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

bool is_number(const std::string& text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Statements of the update and of gradients may say so in their path already.
std::string_view without_phase(std::string_view path) {
    for (const std::string_view word : {gradient_prefix, std::string_view("update ")}) {
        if (path.substr(0, word.size()) == word) {
            path.remove_prefix(word.size());
        }
    }
    return path;
}

std::string phase_prefix(Phase phase) {
    return phase == Phase::Backward ? "grad_" : phase == Phase::Update ? "update_" : "";
}

} // namespace

std::string without_indices(std::string_view path) {
    std::string result;
    int depth = 0;
    for (const char c : path) {
        depth += c == '[' ? 1 : 0;
        if (depth == 0) {
            result += c;
        }
        depth -= c == ']' ? 1 : 0;
    }
    std::string joined;
    for (const std::string& part : components(result)) {
        if (!is_number(part)) {
            joined += (joined.empty() ? "" : ".") + part;
        }
    }
    return joined;
}

std::string short_name(std::string_view buffer) {
    const bool gradient = buffer.substr(0, gradient_prefix.size()) == gradient_prefix;
    if (gradient) {
        buffer.remove_prefix(gradient_prefix.size());
    }
    buffer = buffer.substr(0, buffer.find('@'));
    auto parts = components(without_indices(buffer));
    std::string name = parts.back().substr(0, parts.back().find('#'));
    if (parts.size() > 1 && (name == "sum" || name == "gather" || name == "max")) {
        name = parts[parts.size() - 2] + "_" + name;
    }
    return (gradient ? "d_" : "") + identifier(name);
}

std::string long_name(std::string_view buffer) { return identifier(buffer); }

std::string kernel_name(const std::vector<const Compute*>& group) {
    auto common = components(without_indices(without_phase(group[0]->path)));
    for (const Compute* member : group) {
        const auto other = components(without_indices(without_phase(member->path)));
        size_t same = 0;
        while (same < common.size() && same < other.size() && common[same] == other[same]) {
            ++same;
        }
        common.resize(same);
    }
    if (common.empty()) {
        common = components(without_indices(without_phase(group.back()->path)));
    }
    std::string name;
    for (size_t i = common.size() > 2 ? common.size() - 2 : 0; i < common.size(); ++i) {
        name += (name.empty() ? "" : "_") + common[i];
    }
    return identifier(phase_prefix(group[0]->phase) + name);
}

std::string kernel_comment(const Program& program, const Class& device_class,
                           const std::vector<const Compute*>& group) {
    const auto axis_name = [&](AxisId axis) { return program.axes[axis].name; };
    std::string text;
    for (const Compute* member : group) {
        const auto operand = [&](int slot) {
            return without_indices(device_class.buffers[member->reads[static_cast<size_t>(slot)]].name);
        };
        std::string axes;
        for (const AxisId axis : device_class.buffers[member->out].axes) {
            axes += (axes.empty() ? "" : ", ") + axis_name(axis);
        }
        std::string line = without_indices(device_class.buffers[member->out].name) + "[" + axes + "] " +
                           (member->accumulate || !member->scatter.empty() ? "+= " : "= ");
        if (member->reduce != Reduce::None && member->scatter.empty()) {
            static constexpr std::string_view words[] = {"", "sum", "max", "min", "prod"};
            std::string over;
            for (const AxisId axis : member->reduced) {
                over += (over.empty() ? "" : ", ") + axis_name(axis);
            }
            line += std::string(words[static_cast<size_t>(member->reduce)]) + "[" + over + "] ";
        }
        line += to_text(member->body, axis_name, operand);
        std::replace(line.begin(), line.end(), '\n', ' ');
        if (line.size() > 114) {
            line = line.substr(0, 111) + "...";
        }
        text += "// " + line + "\n";
    }
    return text;
}

} // namespace sspc::backend
