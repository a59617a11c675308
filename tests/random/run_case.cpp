// Takes a file through the whole compiler and compares its device program with the uncut model, both on the interpreter.
#include "tests/random/run_case.h"

#include "frontend/elaborate/elaborate.h"
#include "ir/check/check.h"
#include "ir/interpret/graph_interpreter.h"
#include "ir/interpret/program_interpreter.h"
#include "ir/support/check.h"
#include "ir/support/render_text.h"
#include "tests/random/numbers.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace sspc::random {

namespace {

constexpr uint64_t seed = 7;

/// Integer inputs are called `i3_vocab`: indices of that axis.
std::vector<double> draw_input(const Graph& graph, const Tensor& tensor, Numbers& numbers) {
    std::vector<double> out(static_cast<size_t>(element_count(graph, tensor.axes)));
    int limit = 2;
    if (const size_t at = tensor.path.find('_'); at != tensor.path.npos) {
        for (const Axis& axis : graph.axes) {
            limit = axis.name == tensor.path.substr(at + 1) ? static_cast<int>(axis.size) : limit;
        }
    }
    for (double& x : out) {
        x = is_integer(tensor.dtype) ? numbers.below(limit) : numbers.normal();
    }
    return out;
}

/// "" if they agree.
std::string difference(const std::string& path, const std::vector<double>& expected, const std::vector<double>& found) {
    std::ostringstream out;
    if (expected.size() != found.size()) {
        out << path << " has " << found.size() << " elements, not " << expected.size() << "\n";
        return out.str();
    }
    double largest = 0;
    double apart = 0;
    size_t where = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
        largest = std::max(largest, std::abs(expected[i]));
        const bool same = expected[i] == found[i] || (std::isnan(expected[i]) && std::isnan(found[i]));
        const double d = same ? 0 : std::abs(expected[i] - found[i]);
        if (!(d <= apart)) {
            apart = d;
            where = i;
        }
    }
    // What is zero but for rounding has no digits to compare.
    if (apart <= 1e-9 * largest + 1e-12) {
        return "";
    }
    out << path << "[" << where << "] is " << found[where] << ", not " << expected[where] << " (largest " << largest << ")\n";
    return out.str();
}

std::string kind_of(const Placement& p) {
    switch (p.kind) {
    case Placement::Kind::Replicated: return "R";
    case Placement::Kind::Sharded: return "S";
    case Placement::Kind::Partial:
        return p.reduction == Reduce::Sum ? "P(sum)" : p.reduction == Reduce::Max ? "P(max)" : p.reduction == Reduce::Min ? "P(min)" : "P(prod)";
    }
    return "";
}

void count_moves(const Program& program, std::vector<std::string>& met) {
    for (const Class& c : program.classes) {
        for (const Block& block : c.blocks) {
            for (const Instruction& instruction : block.instructions) {
                const auto* move = std::get_if<Communicate>(&instruction);
                if (move == nullptr) {
                    continue;
                }
                met.push_back("move " + std::string(name_of(move->kind)));
                if (move->mesh_axes.size() > 1) {
                    met.push_back("move along several mesh axes");
                }
                if (move->parts.size() > 1) {
                    met.push_back("move of several tensors");
                }
                if (move->chunk) {
                    met.push_back("move in chunks");
                }
                for (const Communicate::Part& part : move->parts) {
                    for (const int axis : move->mesh_axes) {
                        const Placement& from = part.from_layout[static_cast<size_t>(axis)];
                        const Placement& to = part.to_layout[static_cast<size_t>(axis)];
                        std::string pair = kind_of(from) + " to " + kind_of(to);
                        if (from.is_sharded() && to.is_sharded()) {
                            pair = from.axis == to.axis ? "S to the same S" : "S to another S";
                        }
                        met.push_back("layouts " + pair);
                    }
                }
            }
        }
    }
    for (const Message& message : program.messages) {
        met.push_back(message.each_micro ? "move between stages" : "move between stages, once a step");
    }
}

std::string compare(const Graph& graph, const Program& program, int steps, bool& too_large) {
    std::string out;
    Environment reference = initial_environment(graph, seed, Precision::F64);
    ProgramInterpreter interpreter(program);
    WholeTensors stored;
    for (const TensorId id : graph.tensors.ids()) {
        const Tensor& t = graph.tensors[id];
        if (t.kind == TensorKind::Parameter || t.kind == TensorKind::State) {
            stored[t.path] = reference.values[id].data;
        }
    }
    interpreter.store(stored);
    Numbers numbers(5);
    for (int step = 1; step <= steps; ++step) {
        WholeTensors inputs;
        for (const TensorId id : graph.tensors.ids()) {
            if (graph.tensors[id].kind == TensorKind::Input) {
                inputs[graph.tensors[id].path] = reference.values[id].data = draw_input(graph, graph.tensors[id], numbers);
            }
        }
        if (const auto error = run(graph, reference, step, seed, Precision::F64)) {
            return "the uncut model: " + *error + "\n";
        }
        for (const TensorId id : {graph.loss, graph.grad_norm}) {
            if (id.valid() && !(std::abs(reference.values[id].data[0]) < 1e6)) {
                too_large = true; // little more than rounding is left in numbers that grew so far
                return out;
            }
        }
        if (const auto error = interpreter.run_step(step, seed, inputs)) {
            return "the program: " + *error + "\n";
        }
        std::vector<std::string> errors;
        const WholeTensors results = interpreter.results(errors);
        std::vector<TensorId> wanted = graph.outputs;
        for (const TensorId id : {graph.loss, graph.grad_norm}) {
            if (id.valid()) {
                wanted.push_back(id);
            }
        }
        for (const Graph::Gradient& gradient : graph.gradients) {
            wanted.push_back(gradient.gradient);
        }
        const auto at = " in step " + std::to_string(step) + ": ";
        for (const TensorId id : wanted) {
            const auto it = results.find(graph.tensors[id].path);
            if (it == results.end()) {
                out += "no result " + graph.tensors[id].path + at + "\n";
                continue;
            }
            const std::string d = difference(it->first, reference.values[id].data, it->second);
            out += d.empty() ? d : "result" + at + d;
        }
        apply_updates(graph, reference);
        const WholeTensors after = interpreter.stored(errors);
        for (const TensorId id : graph.tensors.ids()) {
            const Tensor& t = graph.tensors[id];
            if (t.kind != TensorKind::Parameter && t.kind != TensorKind::State) {
                continue;
            }
            const auto it = after.find(t.path);
            const std::string d = it == after.end() ? t.path + " is not stored\n" : difference(t.path, reference.values[id].data, it->second);
            out += d.empty() ? d : "stored" + at + d;
        }
        for (const std::string& error : errors) {
            out += "error" + at + error + "\n";
        }
        if (!out.empty()) {
            break;
        }
    }
    return out;
}

} // namespace

Outcome run_case(const std::string& file, const CaseOptions& options) {
    Outcome out;
    SourceMap sources;
    Sink sink;
    const auto refuse = [&] {
        for (const Diagnostic& d : sink.diagnostics()) {
            if (d.severity == Severity::Error) {
                out.refused.emplace_back(d.code);
            }
        }
        out.diagnostics = render_text(sink, sources);
        if (out.refused.empty()) {
            out.different = "refused without an error\n";
        }
    };
    try {
        ElaborateOptions elaborate_options;
        elaborate_options.library_folders = {std::filesystem::path(SSPC_SOURCE_DIR) / "stdlib"};
        auto elaborated = elaborate(file, elaborate_options, sources, sink);
        if (!elaborated) {
            refuse();
            return out;
        }
        CompileOptions compile_options;
        compile_options.fault = options.fault;
        auto compiled = compile(std::move(elaborated->graph), std::move(elaborated->plan), compile_options, sink);
        if (!compiled) {
            refuse();
            return out;
        }
        out.diagnostics = render_text(sink, sources);
        count_moves(compiled->program, out.met);
        Sink findings;
        check_program(compiled->program, compiled->graph, compiled->plan, findings);
        if (findings.has_errors()) {
            out.rejected = render_text(findings, sources);
            if (options.stop_where_rejected) {
                return out;
            }
        }
        bool too_large = false;
        out.different = compare(compiled->graph, compiled->program, options.steps, too_large);
        if (too_large) {
            out.refused.emplace_back("numbers too large");
        }
    } catch (const InternalError& error) {
        out.different += std::string("internal error: ") + error.what() + "\n";
    }
    return out;
}

Outcome run_text(const std::string& text, const CaseOptions& options) {
    const auto file = std::filesystem::temp_directory_path() / ("sspc_random_" + std::to_string(::getpid()) + ".ssp");
    std::ofstream(file) << text;
    Outcome out = run_case(file.string(), options);
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
    return out;
}

} // namespace sspc::random
