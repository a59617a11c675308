// All kernels of a program: equal ones are one, each named after its first use, a few to a file.
#include "backend/emit/kernel.h"

#include "ir/support/format.h"

#include <set>

namespace sspc::backend {
namespace {

/// Kernels to a translation unit: small enough to compile side by side, few enough to read.
constexpr size_t kernels_per_file = 24;

std::string fill_names(const std::string& text, const std::map<std::string, std::string>& names) {
    std::string result;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\x01') {
            result += text[i];
            continue;
        }
        const size_t end = text.find('\x02', i);
        const std::string key = text.substr(i + 1, end - i - 1);
        const auto found = names.find(key);
        result += found == names.end() ? key : found->second;
        i = end;
    }
    return result;
}

/// Names from the hints, each once; keys without a hint stand for themselves.
std::map<std::string, std::string> names_of(const KernelSource& source) {
    std::map<std::string, std::string> names;
    std::set<std::string> taken;
    const auto give = [&](const std::string& key, const std::string& hint) {
        const std::string plain = identifier(hint);
        std::string name = plain;
        for (int i = 2; !taken.insert(name).second; ++i) {
            name = plain + "_" + to_text(i);
        }
        names[key] = name;
    };
    for (const KernelArgument& argument : source.arguments) {
        if (argument.hint == "step" || argument.hint == "seed" || argument.hint == "error") {
            names[argument.key] = argument.hint;
            taken.insert(argument.hint);
        } else {
            give(argument.key, argument.hint);
        }
    }
    for (const auto& [key, hint] : source.hints) {
        give(key, hint);
    }
    return names;
}

std::string parameters(const KernelSource& source, const std::map<std::string, std::string>& names) {
    std::string text = "cudaStream_t stream";
    for (const KernelArgument& argument : source.arguments) {
        text += ", " + argument.type + " " + names.at(argument.key);
    }
    return text;
}

/// Breaks a long line at its last comma before the limit.
std::string wrapped(const std::string& line, const std::string& indent) {
    std::string result;
    std::string rest = line;
    while (rest.size() > 118) {
        const size_t comma = rest.rfind(", ", 116);
        if (comma == std::string::npos || comma < 20) {
            break;
        }
        result += rest.substr(0, comma + 1) + "\n";
        rest = indent + rest.substr(comma + 2);
    }
    return result + rest;
}

} // namespace

std::string open_name(const std::string& key) { return "\x01" + key + "\x02"; }

std::string KernelSet::call(const KernelSource& source, const std::string& stream) {
    std::string canonical = source.members + "\n" + source.launch;
    for (const KernelArgument& argument : source.arguments) {
        canonical += "\n" + argument.type + " " + argument.key;
    }
    auto [entry, added] = index_.emplace(canonical, kernels_.size());
    if (added) {
        const std::string plain = identifier(source.name);
        const int number = ++names_[plain];
        kernels_.push_back({number == 1 ? plain : plain + "_" + to_text(number), source});
    }
    std::string text = "kernels::" + kernels_[entry->second].name + "(" + stream;
    for (const KernelArgument& argument : source.arguments) {
        text += ", " + argument.value;
    }
    return text + ");";
}

std::vector<std::string> KernelSet::headers() const {
    std::vector<std::string> names;
    for (size_t begin = 0; begin < kernels_.size(); begin += kernels_per_file) {
        names.push_back(format("kernels_{0}.h", begin / kernels_per_file));
    }
    return names;
}

std::map<std::string, std::string> KernelSet::files() const {
    std::map<std::string, std::string> files;
    for (size_t begin = 0; begin < kernels_.size(); begin += kernels_per_file) {
        const std::string base = format("kernels_{0}", begin / kernels_per_file);
        std::string header = "// Kernels of the plan; each is used wherever the same work is done.\n#pragma once\n\n"
                             "#include \"common/types.h\"\n\n#include <cuda_runtime.h>\n\n#include <cstdint>\n\n"
                             "namespace plan::kernels {\n\n";
        std::string source = "// Kernels of the plan, by their first use.\n#include \"" + base +
                             ".h\"\n\n#include \"common/kernel.h\"\n#include \"common/math.h\"\n"
                             "#include \"common/philox.h\"\n\nnamespace plan::kernels {\n\n";
        for (size_t i = begin; i < kernels_.size() && i < begin + kernels_per_file; ++i) {
            const Kernel& kernel = kernels_[i];
            const auto names = names_of(kernel.first);
            const std::string declaration =
                wrapped("void " + kernel.name + "(" + parameters(kernel.first, names) + ")", "    ");
            header += kernel.first.comment + declaration + ";\n\n";

            const std::string object = kernel.name + "_kernel";
            source += "namespace {\n\n" + kernel.first.comment + "struct " + object + " {\n";
            std::string fields;
            for (const KernelArgument& argument : kernel.first.arguments) {
                source += "    " + argument.type + " " + names.at(argument.key) + ";\n";
                fields += (fields.empty() ? "" : ", ") + names.at(argument.key);
            }
            source += "\n" + fill_names(kernel.first.members, names) + "};\n\n} // namespace\n\n";
            std::string launch = fill_names(kernel.first.launch, names);
            const size_t at = launch.find("$K");
            launch.replace(at, 2, object + "{" + fields + "}");
            source += declaration + " {\n" + wrapped("    " + launch, "        ") + "\n}\n\n";
        }
        files[base + ".h"] = header + "} // namespace plan::kernels\n";
        files[base + ".cu"] = source + "} // namespace plan::kernels\n";
    }
    return files;
}

} // namespace sspc::backend
