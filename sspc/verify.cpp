// sspc verify: trains a few steps under the plan and uncut on one device, and compares the numbers.
#include "backend/launch/launch.h"
#include "backend/report/compare.h"
#include "sspc/program_files.h"

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>

namespace sspc {

namespace {

namespace fs = std::filesystem;

constexpr const char* default_steps = "3";
/// See backend::Tolerance::floor_share. An optimizer such as Adam makes steps of one size out of gradients of any, so rounding weighs
/// more in parameters that are nearly zero than in gradients.
constexpr double gradient_floor = 1e-5;
constexpr double parameter_floor = 1e-2;
constexpr size_t shown_tensors = 12;

/// A folder of its own, gone when this is.
class ScratchFolder {
public:
    ScratchFolder() {
        std::string name = (fs::temp_directory_path() / "sspc-verify-XXXXXX").string();
        if (mkdtemp(name.data()) != nullptr) {
            path_ = name;
        }
    }
    ~ScratchFolder() {
        std::error_code ignored;
        if (!path_.empty()) {
            fs::remove_all(path_, ignored);
        }
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    const fs::path& path() const { return path_; }

private:
    fs::path path_;
};

/// 64 ulp × √(longest reduction); the ulp is of the coarsest float type among the parameters (f32 without any).
double tolerance_of(const Graph& graph) {
    double longest = 1;
    for (const Statement& statement : graph.statements) {
        if (statement.reduce != Reduce::None) {
            longest = std::max(longest, static_cast<double>(
                                            element_count(graph, statement.reduced)));
        }
    }
    double ulp = 0;
    for (const Tensor& tensor : graph.tensors) {
        if (tensor.kind != TensorKind::Parameter) {
            continue;
        }
        switch (tensor.dtype) {
        case DType::F64:
            ulp = std::max(ulp, std::ldexp(1.0, -52));
            break;
        case DType::BF16:
            ulp = std::max(ulp, std::ldexp(1.0, -7));
            break;
        case DType::F16:
            ulp = std::max(ulp, std::ldexp(1.0, -10));
            break;
        default:
            ulp = std::max(ulp, std::ldexp(1.0, -23));
        }
    }
    return 64 * (ulp > 0 ? ulp : std::ldexp(1.0, -23)) * std::sqrt(longest);
}

/// What one run left behind.
struct Numbers {
    std::map<std::string, backend::StoredTensor> metrics, gradients, parameters, outputs;
};

/// Loss and gradient norm of each step, from a metrics file.
std::map<std::string, backend::StoredTensor> read_metrics(const fs::path& file, Sink& sink) {
    std::map<std::string, backend::StoredTensor> metrics;
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) {
        const auto step = nlohmann::json::parse(line, nullptr, false);
        if (!step.is_object()) {
            sink.report(diag::FileNotReadable, {}, file.filename().string(),
                        "a line of it is not a JSON object");
            return {};
        }
        for (const char* key : {"loss", "grad_norm"}) {
            if (step.contains(key)) {
                const auto& value = step[key];
                metrics[key].values.push_back(value.is_number()
                                                  ? value.get<double>()
                                                  : std::numeric_limits<double>::quiet_NaN());
            }
        }
    }
    for (auto& [name, tensor] : metrics) {
        tensor.shape = {static_cast<int64_t>(tensor.values.size())};
    }
    return metrics;
}

/// Runs with stdout sent to stderr, which `--json` keeps for the document.
int launch_quietly(const fs::path& executable, const std::vector<std::string>& options) {
    std::cout.flush();
    const int saved = dup(STDOUT_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    const int status = backend::launch_program(executable, options);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    return status;
}

/// Builds and runs one program; nullopt if that failed (said already, or in the sink).
std::optional<Numbers> run_once(Session& session, const Program& program, const fs::path& folder,
                                const std::string& name) {
    const auto executable = executable_of(session, program);
    if (!executable) {
        return std::nullopt;
    }
    const bool trains = session.compiled->graph.loss.valid();
    const bool updates = !session.compiled->graph.updates.empty();
    std::vector<std::string> options = session.options.launcher;
    const auto given = [&](const std::string& option) {
        return std::any_of(options.begin(), options.end(), [&](const std::string& word) {
            return word == option || word.starts_with(option + "=");
        });
    };
    if (!given("--steps")) {
        options.insert(options.end(), {"--steps", updates ? default_steps : "1"});
    }
    const auto file = [&](const std::string& suffix) { return folder / (name + suffix); };
    options.insert(options.end(), {"--save", file(".safetensors").string()});
    if (trains) {
        options.insert(options.end(), {"--save-grads", file(".grads.safetensors").string(),
                                       "--metrics", file(".jsonl").string()});
    }
    if (!session.compiled->graph.outputs.empty()) {
        options.insert(options.end(), {"--outputs", file(".outputs.safetensors").string()});
    }
    if (!session.options.quiet) {
        std::cerr << (name == "uncut" ? "uncut model, 1 device\n"
                                      : "plan `" + program.plan + "`, " +
                                            std::to_string(device_count(program.mesh)) +
                                            " devices\n");
    }
    if (launch_quietly(*executable, options) != 0) {
        return std::nullopt;
    }
    Numbers numbers;
    const auto read = [&](const std::string& suffix) {
        auto tensors = backend::read_tensor_file(file(suffix), session.sink);
        return tensors ? std::move(*tensors) : std::map<std::string, backend::StoredTensor>();
    };
    if (fs::exists(file(".safetensors"))) {
        numbers.parameters = read(".safetensors");
    }
    if (trains) {
        numbers.gradients = read(".grads.safetensors");
        numbers.metrics = read_metrics(file(".jsonl"), session.sink);
    }
    if (!session.compiled->graph.outputs.empty()) {
        numbers.outputs = read(".outputs.safetensors");
    }
    if (session.sink.has_errors()) {
        return std::nullopt;
    }
    return numbers;
}

int verify_plan(Session& session) {
    for (const std::string& word : session.options.launcher) {
        for (const char* own : {"--save", "--save-grads", "--metrics", "--outputs", "--save-every"}) {
            if (word == own || word.starts_with(std::string(own) + "=")) {
                std::cerr << "sspc: `verify` sets " << own << " itself\n";
                return WrongUsage;
            }
        }
    }
    if (!session.compile()) {
        return session.finish();
    }
    Plan empty;
    empty.name = "single";
    empty.span = session.elaborated->plan.span;
    const auto uncut = compile(session.elaborated->graph, empty, {}, session.sink);
    if (!uncut) {
        return session.finish();
    }
    const ScratchFolder scratch;
    if (scratch.path().empty()) {
        session.sink.report(diag::FileNotWritable, {}, fs::temp_directory_path().string(),
                            "no folder can be made in it");
        session.finish();
        return RunFailed;
    }
    const auto reference = run_once(session, uncut->program, scratch.path(), "uncut");
    const auto cut = reference ? run_once(session, session.compiled->program, scratch.path(), "plan")
                               : std::nullopt;
    session.finish();
    if (!reference || !cut) {
        return RunFailed;
    }
    const double tolerance = tolerance_of(uncut->graph);
    std::vector<backend::Comparison> all;
    const auto add = [&](const auto& a, const auto& b, double floor, const char* prefix) {
        const auto some = backend::compare(a, b, {tolerance, floor}, prefix);
        all.insert(all.end(), some.begin(), some.end());
    };
    add(reference->metrics, cut->metrics, 0, "");
    add(reference->outputs, cut->outputs, 0, "output ");
    add(reference->gradients, cut->gradients, gradient_floor, "grad ");
    add(reference->parameters, cut->parameters, parameter_floor, "");
    backend::worst_first(all);
    const int printed = session.print(
        session.options.json ? backend::comparison_json(all, tolerance)
                             : backend::comparison_text(all, tolerance,
                                                        session.options.verbose ? all.size()
                                                                                : shown_tensors));
    return printed != Fine ? printed : backend::all_ok(all) ? Fine : InputHasErrors;
}

} // namespace

Action declare_verify(CLI::App& app, Options& options) {
    add_file(app, options);
    add_plan_options(app, options);
    app.footer("Launcher options such as `-- --steps 5 --data FILE --weights FILE --seed S` hold for both runs");
    return verify_plan;
}

} // namespace sspc
