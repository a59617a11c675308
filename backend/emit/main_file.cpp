// main.cpp: what the program tells the launcher.
#include "backend/emit/main_file.h"

#include "ir/passes/kernel_shape.h"
#include "ir/support/check.h"
#include "ir/support/format.h"

#include <algorithm>
#include <cmath>

namespace sspc::backend {
namespace {

std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            result += '\\';
        }
        result += c;
    }
    return result + "\"";
}

const Class& class_of(const Program& program, int stage) {
    for (const Class& device_class : program.classes) {
        if (device_class.stage == stage) {
            return device_class;
        }
    }
    SSPC_UNREACHABLE("no class of stage " + to_text(stage));
}

/// `{stage, offset, axes, sums}`
std::string held(const Program& program, int stage, BufferId id) {
    const Buffer& buffer = class_of(program, stage).buffers[id];
    SSPC_CHECK(buffer.space == Space::Static, "the launcher reads static memory only: " + buffer.name);
    std::vector<int> sums;
    for (size_t i = 0; i < buffer.layout.size(); ++i) {
        const MeshAxis& axis = program.mesh.axes[i];
        if (buffer.layout[i].is_partial() && axis.size > 1 && axis.role != AxisRole::Micro) {
            sums.push_back(static_cast<int>(i));
        }
    }
    return "{" + to_text(stage) + ", " + to_text(buffer.offset) + ", " + held_text(program, buffer.axes, buffer.layout) +
           ", " + list_text(sums) + "}";
}

std::string number_text(double value) {
    return std::isinf(value) ? (value < 0 ? "-INFINITY" : "INFINITY") : to_text(value);
}

std::string stored_text(const Program& program, const Program::Stored& stored) {
    static constexpr std::string_view kinds[] = {"Zeros", "Ones", "Constant", "Normal", "Uniform", "TruncatedNormal"};
    const Buffer& buffer = class_of(program, stored.stage).buffers[stored.buffer];
    std::string copies;
    for (const auto& copy : stored.copies) {
        copies += (copies.empty() ? "" : ", ") + held(program, copy.stage, copy.buffer);
    }
    return "        {" + quoted(stored.tensor) + ", " + (stored.kind == TensorKind::State ? "true" : "false") + ", " +
           dtype_text(buffer.dtype) + ", ssp::ProgramInfo::Init::" +
           std::string(kinds[static_cast<size_t>(stored.init.kind)]) + ", " + number_text(stored.init.a) + ", " +
           number_text(stored.init.b) + ",\n         " + held(program, stored.stage, stored.buffer) + ", {" + copies + "}},\n";
}

std::string result_text(const Program& program, const Program::Result& result) {
    static constexpr std::string_view kinds[] = {"Loss", "GradNorm", "Output", "Gradient"};
    const Buffer& buffer = class_of(program, result.stage).buffers[result.buffer];
    // A gradient is stored under its parameter's name.
    constexpr std::string_view prefix = "grad ";
    const bool gradient = result.what == Program::Result::What::Gradient && result.tensor.starts_with(prefix);
    return "        {" + quoted(gradient ? result.tensor.substr(prefix.size()) : result.tensor) + ", ssp::ProgramInfo::What::" +
           std::string(kinds[static_cast<size_t>(result.what)]) + ", " + dtype_text(buffer.dtype) + ", " +
           held(program, result.stage, result.buffer) + "},\n";
}

std::string input_lines(const Emission& emission) {
    std::string text;
    if (!emission.options.graph) {
        return text;
    }
    const Graph& graph = *emission.options.graph;
    for (const Tensor& tensor : graph.tensors) {
        if (tensor.kind != TensorKind::Input) {
            continue;
        }
        std::string sizes;
        for (const AxisId axis : tensor.axes) {
            sizes += (sizes.empty() ? "" : ", ") + to_text(graph.axes[axis].size);
        }
        text += "        {" + quoted(tensor.path) + ", " + dtype_text(tensor.dtype) + ", {" + sizes + "}},\n";
    }
    return text;
}

std::string feed_text(const Emission& emission, const Feed& feed) {
    const Graph& graph = *emission.options.graph;
    std::vector<int> numbers, row_axes;
    for (const std::string& input : feed.inputs) {
        numbers.push_back(emission.input_number(input));
        for (const Tensor& tensor : graph.tensors) {
            if (tensor.kind == TensorKind::Input && tensor.path == input) {
                const auto found = std::find(tensor.axes.begin(), tensor.axes.end(), feed.rows);
                row_axes.push_back(found == tensor.axes.end() ? -1 : static_cast<int>(found - tensor.axes.begin()));
            }
        }
    }
    std::string columns;
    for (const std::string& column : feed.columns) {
        columns += (columns.empty() ? "" : ", ") + quoted(column);
    }
    return std::string("        {ssp::ProgramInfo::Feed::Kind::") +
           (feed.kind == Feed::Kind::NextToken ? "NextToken" : "Columns") + ", " + quoted(feed.file) + ", " +
           list_text(numbers) + ", {" + columns + "}, " + to_text(feed.seed) + "u, " + list_text(row_axes) + "},\n";
}

} // namespace

std::string main_source(const Emission& emission) {
    const Program& program = emission.program;
    std::string declarations, cases, arenas, names, sizes, communicators;
    for (const Class& device_class : program.classes) {
        declarations += format("ssp::Stage* make_stage_{0}(ssp::Device& device);\n", device_class.stage);
        cases += format("        case {0}: return make_stage_{0}(device);\n", device_class.stage);
        arenas += format("        {{0}, {1}, {2}}, // stage {3}\n", device_class.static_bytes,
                         device_class.frames * device_class.frame_bytes, device_class.scratch_bytes, device_class.stage);
    }
    for (const MeshAxis& axis : program.mesh.axes) {
        names += (names.empty() ? "" : ", ") + quoted(axis.name);
        sizes += (sizes.empty() ? "" : ", ") + to_text(axis.size);
    }
    for (const auto& axes : emission.communicators) {
        communicators += (communicators.empty() ? "" : ", ") + list_text(axes);
    }
    std::string stored, results, feeds, checked;
    for (const auto& entry : program.stored) {
        stored += stored_text(program, entry);
    }
    for (const auto& entry : program.results) {
        results += result_text(program, entry);
    }
    for (const Feed& feed : emission.options.feeds) {
        feeds += feed_text(emission, feed);
    }
    for (const std::string& statement : emission.checked) {
        checked += "        " + quoted(statement) + ",\n";
    }
    const auto list = [](const std::string& name, const std::string& lines) {
        return lines.empty() ? std::string() : "    info." + name + " = {\n" + lines + "    };\n";
    };
    const auto stage_axis = find_role(program.mesh, AxisRole::Stage);
    return format("// Plan `{0}` for model `{1}`: the mesh, the tensors that the launcher reads and writes, where data comes from.\n",
                  program.plan, program.model) +
           "#include \"common/launcher.h\"\n\n#include <cmath>\n\nnamespace plan {\n\n" + declarations +
           "\nnamespace {\n\nssp::Stage* make(int stage, ssp::Device& device) {\n    switch (stage) {\n" + cases +
           "        default: return nullptr;\n    }\n}\n\n} // namespace\n\nssp::ProgramInfo program() {\n"
           "    ssp::ProgramInfo info;\n    info.model = " +
           quoted(program.model) + ";\n    info.plan = " + quoted(program.plan) + ";\n    info.mesh_names = {" + names +
           "};\n    info.mesh = {" + sizes + "};\n    info.stage_axis = " + to_text(stage_axis ? *stage_axis : -1) +
           ";\n    info.communicators = {" + communicators + "};\n" + list("arenas", arenas) + "    info.make = make;\n" +
           list("inputs", input_lines(emission)) + list("stored", stored) + list("results", results) +
           list("feeds", feeds) + list("checked", checked) +
           "    return info;\n}\n\n} // namespace plan\n\n"
           "int main(int argc, char** argv) { return ssp::run(plan::program(), argc, argv); }\n";
}

} // namespace sspc::backend
