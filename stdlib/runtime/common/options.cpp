// The options of a generated program.
#include "common/options.h"

#include <charconv>
#include <functional>
#include <vector>

namespace ssp {
namespace {

template <typename T>
T number(const std::string& name, const std::string& text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
        throw UsageError("`" + name + "` takes a natural number, not `" + text + "`");
    }
    return value;
}

int64_t count(const std::string& name, const std::string& text, int64_t least) {
    const auto value = number<int64_t>(name, text);
    if (value < least) {
        throw UsageError("`" + name + "` takes a number of at least " + std::to_string(least) + ", not " + text);
    }
    return value;
}

} // namespace

const char* options_help() {
    return "  --steps N            train N steps in all (200)\n"
           "  --data FILE          a safetensors file with a tensor for each input, its first axis the steps\n"
           "  --data INPUT=FILE    the same for one input\n"
           "  --weights FILE       begin with these parameters (and optimizer states, where the file has them)\n"
           "  --save FILE          write parameters and optimizer states after the last step\n"
           "  --save-every N       write a checkpoint after every N steps\n"
           "  --checkpoints DIR    where to (checkpoints)\n"
           "  --resume DIR         go on from the last checkpoint in DIR\n"
           "  --seed S             of initial values and random draws (0)\n"
           "  --save-grads FILE    write the first step's gradients, before clipping\n"
           "  --outputs FILE       write the last step's outputs\n"
           "  --metrics FILE       write a line of JSON for each step\n"
           "  --trace FILE         write a timeline of the first steps for Perfetto\n";
}

Options parse_options(int argc, char** argv) {
    Options options;
    const auto text = [](std::string& place) {
        return [&place](const std::string&, const std::string& value) { place = value; };
    };
    using Set = std::function<void(const std::string&, const std::string&)>;
    const std::map<std::string, Set> known = {
        {"--steps", [&](const auto& name, const auto& value) { options.steps = count(name, value, 0); }},
        {"--data",
         [&](const std::string&, const std::string& value) {
             const size_t equals = value.find('=');
             if (equals == std::string::npos) {
                 options.data = value;
             } else {
                 options.inputs[value.substr(0, equals)] = value.substr(equals + 1);
             }
         }},
        {"--weights", text(options.weights)},
        {"--save", text(options.save)},
        {"--save-every", [&](const auto& name, const auto& value) { options.save_every = count(name, value, 1); }},
        {"--checkpoints", text(options.checkpoints)},
        {"--resume", text(options.resume)},
        {"--seed", [&](const auto& name, const auto& value) { options.seed = number<uint64_t>(name, value); }},
        {"--save-grads", text(options.save_grads)},
        {"--outputs", text(options.outputs)},
        {"--metrics", text(options.metrics)},
        {"--trace", text(options.trace)},
    };
    for (int i = 1; i < argc; ++i) {
        std::string name = argv[i];
        if (name == "--help" || name == "-h") {
            options.help = true;
            continue;
        }
        std::optional<std::string> value;
        if (const size_t equals = name.find('='); name.rfind("--", 0) == 0 && equals != std::string::npos) {
            value = name.substr(equals + 1);
            name.resize(equals);
        }
        const auto found = known.find(name);
        if (found == known.end()) {
            throw UsageError("no option is named `" + name + "`; --help lists them");
        }
        if (!value) {
            if (i + 1 == argc) {
                throw UsageError("`" + name + "` takes a value");
            }
            value = argv[++i];
        }
        if (value->empty()) {
            throw UsageError("the value of `" + name + "` is empty");
        }
        found->second(name, *value);
    }
    if (!options.weights.empty() && !options.resume.empty()) {
        throw UsageError("`--weights` and `--resume` both say what to begin with");
    }
    return options;
}

} // namespace ssp
