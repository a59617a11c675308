// Small models built and run as programs under several plans; the interpreter of graphs is the oracle.
#include "backend/build/build.h"
#include "backend/launch/launch.h"
#include "backend/report/tensor_file.h"
#include "ir/interpret/graph_interpreter.h"
#include "ir/passes/compile.h"
#include "tests/unit/backend/graph_builder.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

namespace sspc {
namespace {

namespace fs = std::filesystem;
using Numbers = std::map<std::string, std::vector<double>>;

fs::path scratch_folder() {
    static const fs::path folder = [] {
        std::string name = (fs::temp_directory_path() / "sspc-backend-XXXXXX").string();
        return fs::path(mkdtemp(name.data()));
    }();
    return folder;
}

/// Writes inputs as the launcher reads them: with a leading axis of steps, here 1.
void write_inputs(const Graph& graph, const Numbers& inputs, const fs::path& file) {
    std::string header = "{", bytes;
    for (const Tensor& tensor : graph.tensors) {
        if (tensor.kind != TensorKind::Input) {
            continue;
        }
        const bool real = tensor.dtype == DType::F32;
        const size_t begin = bytes.size();
        for (const double value : inputs.at(tensor.path)) {
            const auto f = static_cast<float>(value);
            const auto i = static_cast<int64_t>(value);
            bytes.append(real ? reinterpret_cast<const char*>(&f) : reinterpret_cast<const char*>(&i), real ? 4 : 8);
        }
        std::string shape = "1";
        for (const AxisId axis : tensor.axes) {
            shape += "," + std::to_string(graph.axes[axis].size);
        }
        header += std::string(header.size() > 1 ? "," : "") + "\"" + tensor.path + "\":{\"dtype\":\"" + (real ? "F32" : "I64") +
                  "\",\"shape\":[" + shape + "],\"data_offsets\":[" + std::to_string(begin) + "," +
                  std::to_string(bytes.size()) + "]}";
    }
    header += "}";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    const uint64_t size = header.size();
    std::ofstream out(file, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&size), 8);
    out << header << bytes;
}

std::optional<Numbers> run_compiled(const Graph& graph, const Plan& plan, const Numbers& inputs, int& status) {
    Sink sink;
    const auto show = [&] {
        for (const Diagnostic& d : sink.diagnostics()) {
            ADD_FAILURE() << d.code << " " << d.message << (d.notes.empty() ? "" : "\n" + d.notes.back().message);
        }
    };
    const auto compiled = compile(graph, plan, {}, sink);
    if (!compiled) {
        show();
        return std::nullopt;
    }
    backend::EmitOptions emit;
    emit.graph = &compiled->graph;
    backend::BuildOptions build;
    build.runtime = fs::path(SSPC_SOURCE_DIR) / "stdlib/runtime";
    const auto program = backend::build_program(backend::emit(compiled->program, emit), build, sink);
    if (!program) {
        show();
        return std::nullopt;
    }
    const fs::path data = scratch_folder() / "inputs.safetensors", outputs = scratch_folder() / "outputs.safetensors";
    write_inputs(graph, inputs, data);
    fs::remove(outputs);
    status = backend::launch_program(*program, {"--steps", "1", "--data", data.string(), "--outputs", outputs.string()});
    Numbers numbers;
    if (status == 0) {
        const auto tensors = backend::read_tensor_file(outputs, sink);
        show();
        for (const auto& [name, tensor] : *tensors) {
            numbers[name] = tensor.values;
        }
    }
    return numbers;
}

Numbers interpreted(const Graph& graph, const Numbers& inputs) {
    Environment environment = initial_environment(graph, 0, Precision::F64);
    for (const TensorId id : graph.tensors.ids()) {
        if (graph.tensors[id].kind == TensorKind::Input) {
            environment.values[id].data = inputs.at(graph.tensors[id].path);
        }
    }
    const auto wrong = run(graph, environment, 1, 0, Precision::F64);
    EXPECT_FALSE(wrong) << *wrong;
    Numbers numbers;
    for (const TensorId id : graph.outputs) {
        numbers[graph.tensors[id].path] = environment.values[id].data;
    }
    return numbers;
}

void expect_equal(const Numbers& expected, const Numbers& found) {
    for (const auto& [name, values] : expected) {
        ASSERT_TRUE(found.contains(name)) << name;
        ASSERT_EQ(values.size(), found.at(name).size()) << name;
        double largest = 1e-3;
        for (const double value : values) {
            largest = std::max(largest, std::fabs(value));
        }
        for (size_t i = 0; i < values.size(); ++i) {
            ASSERT_NEAR(values[i], found.at(name)[i], 2e-5 * largest) << name << " at " << i;
        }
    }
}

/// One statement of each kind that a model has: contractions of all shapes, softmax, gathers, scatters, convolution, columns, whole sums.
struct Everything {
    GraphBuilder b;
    AxisId batch, seq, heads, kv;
    Numbers inputs;

    Everything() {
        batch = b.axis("batch", 5);
        seq = b.axis("seq", 6);
        heads = b.axis("heads", 4);
        kv = b.axis("kv", 6);
        const AxisId hd = b.axis("hd", 8), vocab = b.axis("vocab", 10), wide = b.axis("wide", 32), half = b.axis("half", 3),
                     taps = b.axis("taps", 3);
        const TensorId q = b.input("q", {batch, seq, heads, hd}), k = b.input("k", {batch, seq, heads, hd});
        const TensorId table = b.input("table", {vocab, hd}), tokens = b.input("tokens", {batch, seq}, DType::I64);
        for (const Tensor& tensor : b.graph.tensors) {
            auto& values = inputs[tensor.path];
            for (int64_t i = 0; i < element_count(b.graph, tensor.axes); ++i) {
                values.push_back(tensor.dtype == DType::I64 ? static_cast<double>(i * 7 % 10)
                                                            : static_cast<float>(std::sin(static_cast<double>(i) * 1.7 + 0.3)));
            }
        }
        const std::vector<AxisId> scores = {batch, seq, heads, kv};
        const TensorId renamed = b.add("renamed", {batch, kv, heads, hd}, {k},
                                       access(0, DType::F32, std::vector<AxisId>{batch, kv, heads, hd}));
        const TensorId s = b.add("s", scores, {q, renamed}, b.read(0, q) * b.read(1, renamed), Reduce::Sum, {hd});
        const TensorId masked = b.add("masked", scores, {s},
                                      make(ExprOp::Where, {make(ExprOp::Le, {iota(kv), iota(seq)}), b.read(0, s),
                                                           constant(-INFINITY, DType::F32)}));
        const TensorId m = b.add("p.m", {batch, seq, heads}, {masked}, b.read(0, masked), Reduce::Max, {kv});
        const TensorId e = b.add("p.e", scores, {masked, m}, make(ExprOp::Exp, {b.read(0, masked) - b.read(1, m)}));
        const TensorId z = b.add("p.sum", {batch, seq, heads}, {e}, b.read(0, e), Reduce::Sum, {kv});
        const TensorId p = b.add("p", scores, {e, z}, b.read(0, e) / b.read(1, z));
        const TensorId o = b.add("o", {batch, seq, heads, hd}, {p, renamed}, b.read(0, p) * b.read(1, renamed), Reduce::Sum, {kv});
        b.output(p);
        b.output(o);
        b.output(b.add("columns", {hd}, {o}, b.read(0, o), Reduce::Sum, {batch, seq, heads}));
        b.output(b.add("smallest", {seq, hd}, {o}, b.read(0, o), Reduce::Min, {batch, heads}));
        b.output(b.add("square", {heads, hd}, {o, q}, b.read(0, o) * b.read(1, q), Reduce::Sum, {batch, seq}));
        b.output(b.add("gathered", {batch, seq, hd}, {table, tokens},
                       access(0, DType::F32, {access(1, DType::I64, std::vector<AxisId>{batch, seq}), iota(hd)})));
        const auto merged_index = make(ExprOp::FloorDiv, {iota(wide), constant(8, DType::I64)});
        const auto merged_rest = make(ExprOp::Mod, {iota(wide), constant(8, DType::I64)});
        b.output(b.add("merged", {batch, seq, wide}, {o},
                       access(0, DType::F32, {iota(batch), iota(seq), merged_index, merged_rest})));
        const auto place = make(ExprOp::Sub, {make(ExprOp::Add, {make(ExprOp::Mul, {iota(half), constant(2, DType::I64)}),
                                                                 iota(taps)}),
                                              constant(1, DType::I64)});
        const TensorId window = b.add("window", {batch, half, taps, heads, hd}, {q},
                                      access(0, DType::F32, {iota(batch), place, iota(heads), iota(hd)},
                                             constant(0, DType::F32)));
        b.output(b.add("strided", {batch, half, heads, hd}, {window}, b.read(0, window), Reduce::Sum, {taps}));
        b.output(b.add("counted", {vocab, hd}, {o, tokens}, b.read(0, o), Reduce::Sum, {batch, seq, heads},
                       {access(1, DType::I64, std::vector<AxisId>{batch, seq}), iota(hd)}));
        b.output(b.add("drawn", {batch, seq, hd}, {}, random_draw(DrawKind::Uniform, 0, "drawn", {batch, seq, hd})));
        b.output(b.add("whole", {}, {o}, b.read(0, o) * b.read(0, o), Reduce::Sum, {batch, seq, heads, hd}));
    }
};

Plan plan_over(const std::string& name, std::vector<MeshAxis> axes, std::vector<std::pair<AxisId, int>> cuts) {
    Plan plan;
    plan.name = name;
    plan.mesh.name = "g";
    plan.mesh.axes = std::move(axes);
    for (const auto& [axis, mesh_axis] : cuts) {
        plan.statements.push_back(plan::ShardAxes{{axis}, {{}}, mesh_axis, {}, {}});
    }
    return plan;
}

void check_everything(const Everything& model, const Plan& plan) {
    const auto broken = verify(model.b.graph);
    ASSERT_FALSE(broken) << *broken;
    int status = -1;
    const auto found = run_compiled(model.b.graph, plan, model.inputs, status);
    ASSERT_TRUE(found);
    ASSERT_EQ(status, 0);
    expect_equal(interpreted(model.b.graph, model.inputs), *found);
}

TEST(CompiledPrograms, AgreeWithTheInterpreterOnOneDevice) {
    const Everything model;
    check_everything(model, plan_over("single", {}, {}));
}

TEST(CompiledPrograms, AgreeWithTheInterpreterWithUnevenBatchAndHeads) {
    const Everything model;
    check_everything(model, plan_over("uneven", {{"dp", 2, AxisRole::Device, {}}, {"tp", 3, AxisRole::Device, {}}},
                                      {{model.batch, 0}, {model.heads, 1}}));
}

TEST(CompiledPrograms, AgreeWithTheInterpreterWithSequencesCut) {
    const Everything model;
    check_everything(model, plan_over("sequence", {{"cp", 4, AxisRole::Device, {}}}, {{model.seq, 0}}));
}

TEST(CompiledPrograms, AnIndexOutsideItsAxisEndsTheRun) {
    GraphBuilder b;
    const AxisId rows = b.axis("rows", 4), vocab = b.axis("vocab", 3);
    const TensorId table = b.input("table", {vocab}), at = b.input("at", {rows}, DType::I64);
    b.output(b.add("picked", {rows}, {table, at},
                   access(0, DType::F32, std::vector<ExprPtr>{access(1, DType::I64, std::vector<AxisId>{rows})})));
    int status = -1;
    ASSERT_TRUE(run_compiled(b.graph, plan_over("single", {}, {}), {{"table", {1, 2, 3}}, {"at", {0, 1, 2, 3}}}, status));
    EXPECT_EQ(status, 3);
}

TEST(Emit, GivesTheSameBytesEachTime) {
    const Everything model;
    Sink sink;
    const auto compiled = compile(model.b.graph, plan_over("cut", {{"dp", 2, AxisRole::Device, {}}}, {{model.batch, 0}}), {}, sink);
    ASSERT_TRUE(compiled);
    backend::EmitOptions options;
    options.graph = &compiled->graph;
    EXPECT_EQ(backend::emit(compiled->program, options), backend::emit(compiled->program, options));
    for (const auto& [name, text] : backend::emit(compiled->program, options)) {
        EXPECT_EQ(text.find(SSPC_SOURCE_DIR), std::string::npos) << name;
    }
}

} // namespace
} // namespace sspc
