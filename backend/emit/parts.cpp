// Sizes and places of local parts, as text of the generated program.
#include "backend/emit/parts.h"

#include "ir/passes/kernel_shape.h"
#include "ir/support/format.h"

#include <algorithm>
#include <set>

namespace sspc::backend {

Size Size::operator*(const Size& other) const {
    Size result = *this;
    result.number_ *= other.number_;
    result.origin_.insert(other.origin_.begin(), other.origin_.end());
    for (const auto& [name, power] : other.names_) {
        result.names_[name] += power;
    }
    if (result.number_ == 0) {
        result.names_.clear();
    }
    return result;
}

std::string Size::text() const {
    std::string text;
    for (const auto& [name, power] : names_) {
        for (int i = 0; i < power; ++i) {
            text += (text.empty() ? "" : " * ") + name;
        }
    }
    if (text.empty()) {
        return to_text(number_);
    }
    return number_ == 1 ? text : text + " * " + to_text(number_);
}

std::string identifier(std::string_view text) {
    std::string result;
    for (const char c : text) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        const bool digit = c >= '0' && c <= '9';
        if (letter || digit) {
            result += c;
        } else if (!result.empty() && result.back() != '_') {
            result += '_';
        }
    }
    while (!result.empty() && result.back() == '_') {
        result.pop_back();
    }
    static const std::set<std::string> taken = {
        "alignas", "and", "asm", "auto", "bool", "break", "case", "catch", "char", "class", "const", "continue",
        "default", "delete", "do", "double", "else", "enum", "explicit", "export", "extern", "false", "float", "for",
        "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new", "not", "operator", "or",
        "private", "protected", "public", "register", "return", "short", "signed", "sizeof", "static", "struct",
        "switch", "template", "this", "throw", "true", "try", "typedef", "typename", "union", "unsigned", "using",
        "virtual", "void", "volatile", "while", "xor", "stream", "p", "ssp", "error", "step", "seed", "row", "kernels", "micro", "fixed", "scratch", "frame", "record", "wait", "plan", "std"};
    if (result.empty() || (result[0] >= '0' && result[0] <= '9') || taken.count(result) != 0) {
        result += '_';
        if (result[0] >= '0' && result[0] <= '9') {
            result = "t" + result;
        }
    }
    return result;
}

PartKey Parts::key(const Cut& cut, AxisId axis, const std::optional<Chunk>& chunk) const {
    PartKey key{axis, cutters(program_.mesh, cut, axis), 0, 1};
    if (chunk && chunk->axis == axis && chunk->count > 1) {
        key.chunk = chunk->index;
        key.chunks = chunk->count;
    }
    return key;
}

PartKey Parts::key(const Layout& layout, AxisId axis) const {
    return {axis, cutters(program_.mesh, layout, axis), 0, 1};
}

namespace {

int64_t part_count(const Mesh& mesh, const PartKey& key) {
    int64_t parts = key.chunks;
    for (const int cutter : key.cutters) {
        parts *= mesh.axes[static_cast<size_t>(cutter)].size;
    }
    return parts;
}

} // namespace

Size Parts::size(const PartKey& key) {
    const int64_t whole = program_.axes[key.axis].size;
    const int64_t parts = part_count(program_.mesh, key);
    const std::string origin = program_.axes[key.axis].name;
    if (whole % parts == 0) {
        return Size(whole / parts).from(origin);
    }
    return Size::named("p." + name(key) + ".size()").from(origin);
}

std::string Parts::begin(const PartKey& key) {
    if (key.cutters.empty() && key.chunks == 1) {
        return "0";
    }
    return "p." + name(key) + ".begin";
}

Size Parts::elements(const Buffer& buffer) {
    Size size;
    for (const AxisId axis : buffer.axes) {
        size = size * this->size(key(buffer.layout, axis));
    }
    return size;
}

std::string Parts::name(const PartKey& key) {
    if (const auto found = names_.find(key); found != names_.end()) {
        return found->second;
    }
    std::string name = identifier(program_.axes[key.axis].name);
    for (const int cutter : key.cutters) {
        name += "_" + identifier(program_.mesh.axes[static_cast<size_t>(cutter)].name);
    }
    if (key.chunks > 1) {
        name += format("_{0}of{1}", key.chunk + 1, key.chunks);
    }
    const std::string plain = name;
    for (int i = 2;; ++i) {
        const bool used = std::any_of(names_.begin(), names_.end(),
                                      [&](const auto& entry) { return entry.second == name; });
        if (!used) {
            break;
        }
        name = plain + "_" + to_text(i);
    }
    names_[key] = name;
    return name;
}

std::string Parts::declaration() const {
    std::string members, body;
    for (const auto& [key, name] : names_) {
        const Axis& axis = program_.axes[key.axis];
        std::string cuts;
        std::string value = format("ssp::Interval{0, {0}}", axis.size);
        value = "ssp::Interval{0, " + to_text(axis.size) + "}";
        for (const int cutter : key.cutters) {
            const MeshAxis& mesh_axis = program_.mesh.axes[static_cast<size_t>(cutter)];
            cuts += (cuts.empty() ? "" : ", ") + mesh_axis.name;
            const std::string at = mesh_axis.role == AxisRole::Micro
                                       ? std::string("micro")
                                       : "at[" + to_text(cutter) + "]";
            value = format("ssp::part_of({0}, {1}, {2})", value, mesh_axis.size, at);
        }
        if (key.chunks > 1) {
            value = format("ssp::part_of({0}, {1}, {2})", value, key.chunks, key.chunk);
        }
        members += format("    ssp::Interval {0}; // {1}{2}{3}\n", name, axis.name,
                          cuts.empty() ? "" : " over ", cuts);
        body += format("        {0} = {1};\n", name, value);
    }
    return "/// The parts of the axes that the device at mesh coordinates `at` works on, for one micro-batch.\n"
           "struct Parts {\n" +
           members +
           "\n    Parts([[maybe_unused]] const int* at, [[maybe_unused]] int micro) {\n" + body + "    }\n};\n";
}

} // namespace sspc::backend
