// `sspc explain` in the terminal: stages, layouts, messages and memory as tables; equal rows of repeated blocks are one row.
#include "backend/report/facts.h"
#include "backend/report/table.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace sspc::backend {

namespace {

/// A path with its first index taken out: `layer[3].attn.q` → `layer[`, 3, `].attn.q`; `layer.3.attn.wq` likewise.
struct Indexed {
    std::string before;
    std::optional<int> index;
    std::string after;
};

Indexed indexed(const std::string& path) {
    for (size_t i = 1; i < path.size(); ++i) {
        const bool opens = path[i - 1] == '[' || path[i - 1] == '.';
        if (!opens || path[i] < '0' || path[i] > '9') {
            continue;
        }
        size_t end = i;
        while (end < path.size() && path[end] >= '0' && path[end] <= '9') {
            ++end;
        }
        if (end < path.size() && (path[end] == ']' || path[end] == '.') && end - i < 9) {
            return {path.substr(0, i), std::stoi(path.substr(i, end - i)), path.substr(end)};
        }
    }
    return {path, std::nullopt, ""};
}

/// `0..4`, `3`, `0,2,5` as a selector would say it.
std::string index_text(const std::set<int>& indices) {
    if (indices.size() == 1) {
        return std::to_string(*indices.begin());
    }
    const int first = *indices.begin();
    const int last = *indices.rbegin();
    if (last - first + 1 == static_cast<int>(indices.size())) {
        return std::to_string(first) + ".." + std::to_string(last + 1);
    }
    std::string text;
    for (int index : indices) {
        text += (text.empty() ? "" : ",") + std::to_string(index);
    }
    return text;
}

/// Rows that agree in all but the index of a repeated block, as one.
class Grouped {
public:
    struct Row {
        Indexed path;
        std::set<int> indices;
        std::vector<std::string> cells; ///< the others
        int64_t number = 0;             ///< summed over what is grouped
        std::string name() const {
            return indices.empty() ? path.before
                                   : path.before + index_text(indices) + path.after;
        }
    };
    void add(const std::string& path, std::vector<std::string> cells, int64_t number) {
        Row row{indexed(path), {}, std::move(cells), number};
        std::string key = row.path.before + "\n" + row.path.after;
        for (const std::string& cell : row.cells) {
            key += "\n" + cell;
        }
        const auto [at, is_new] = position_.try_emplace(std::move(key), rows_.size());
        const std::optional<int> index = row.path.index;
        if (is_new) {
            rows_.push_back(std::move(row));
        } else {
            rows_[at->second].number += number;
        }
        if (index) {
            rows_[at->second].indices.insert(*index);
        }
    }
    const std::vector<Row>& rows() const { return rows_; }

private:
    std::vector<Row> rows_;
    std::map<std::string, size_t> position_;
};

/// `0-7`, `0,2,4,6`, `0,2,… (64)`
std::string devices_text(const std::vector<int>& devices) {
    if (devices.empty()) {
        return "-";
    }
    if (devices.size() > 1 &&
        devices.back() - devices.front() + 1 == static_cast<int>(devices.size())) {
        return std::to_string(devices.front()) + "-" + std::to_string(devices.back());
    }
    std::string text;
    for (size_t i = 0; i < devices.size(); ++i) {
        if (i == 4 && devices.size() > 5) {
            return text + ",… (" + std::to_string(devices.size()) + ")";
        }
        text += (i > 0 ? "," : "") + std::to_string(devices[i]);
    }
    return text;
}

std::string blocks_text(const std::vector<std::string>& blocks) {
    Grouped grouped;
    for (const std::string& block : blocks) {
        grouped.add(block, {}, 0);
    }
    std::string text;
    for (const Grouped::Row& row : grouped.rows()) {
        text += (text.empty() ? "" : ", ") + row.name();
    }
    return text;
}

std::string layout_text(const Facts& facts, const TensorFact& tensor) {
    std::string text;
    for (size_t i = 0; i < tensor.layout.size(); ++i) {
        if (tensor.layout[i] != "R") {
            text += (text.empty() ? "" : ", ") + facts.mesh_axes[i] + ": " + tensor.layout[i];
        }
    }
    return text.empty() ? "whole" : text;
}

/// Values show their axes only: there are many, and the sizes stand with the parameters.
std::string shape_text(const TensorFact& tensor) {
    std::string text;
    for (size_t i = 0; i < tensor.axes.size(); ++i) {
        text += (i > 0 ? ", " : "") + tensor.axes[i] +
                (tensor.parameter ? " " + std::to_string(tensor.shape[i]) : "");
    }
    return "[" + text + "]";
}

std::string joined(const std::vector<std::string>& parts, const std::string& separator) {
    std::string text;
    for (const std::string& part : parts) {
        text += (text.empty() ? "" : separator) + part;
    }
    return text;
}

std::string header(const Facts& facts) {
    std::string mesh;
    for (size_t i = 0; i < facts.mesh_axes.size(); ++i) {
        mesh += (i > 0 ? " × " : "") + facts.mesh_axes[i] + " " +
                std::to_string(facts.mesh_sizes[i]);
    }
    std::string text = "plan " + facts.plan + " of model " + facts.model + ": " +
                       std::to_string(facts.devices) +
                       (facts.devices == 1 ? " device" : " devices");
    if (!mesh.empty()) {
        text += " (" + mesh + ")";
    }
    if (facts.micro_batches > 1) {
        text += ", " + facts.split_axis + " in " + std::to_string(facts.micro_batches) +
                " parts, one after another";
    }
    return text + "\n";
}

std::string stages(const Facts& facts) {
    Table table({{"stage"}, {"devices", Table::Align::Left, true}, {"holds", Table::Align::Left, true},
                 {"tasks", Table::Align::Right}, {"parameters", Table::Align::Right},
                 {"flop/step", Table::Align::Right}});
    for (const StageFact& stage : facts.stages) {
        table.row({std::to_string(stage.stage), devices_text(stage.devices),
                   blocks_text(stage.blocks), std::to_string(stage.tasks),
                   in_units(static_cast<double>(stage.parameters)), in_units(stage.flops)});
    }
    return "\nStages (parameters and flop of one device)\n" + table.text();
}

std::string order(const Facts& facts, size_t width) {
    if (facts.stages.size() < 2) {
        return "";
    }
    std::string text = "\nOrder of blocks (F forward, B backward, by micro-batch)\n";
    for (const StageFact& stage : facts.stages) {
        std::string line = "  stage " + std::to_string(stage.stage) + "  " + stage.order;
        if (line.size() > width) {
            line.resize(line.rfind(' ', width - 2));
            line += " …";
        }
        text += line + "\n";
    }
    return text;
}

std::string layouts(const Facts& facts, bool parameters, size_t width) {
    Grouped grouped;
    for (const TensorFact& tensor : facts.tensors) {
        if (tensor.parameter == parameters) {
            grouped.add(tensor.path,
                        {shape_text(tensor) + (tensor.dtype == "f32" ? "" : " " + tensor.dtype),
                         layout_text(facts, tensor)},
                        0);
        }
    }
    if (grouped.rows().empty()) {
        return "";
    }
    Table table({{parameters ? "parameter" : "value", Table::Align::Left, true},
                 {"shape", Table::Align::Left, true}, {"cut", Table::Align::Left, true}});
    for (const Grouped::Row& row : grouped.rows()) {
        table.row({row.name(), row.cells[0], row.cells[1]});
    }
    return (parameters ? "\nParameters and how they are stored\n"
                       : "\nForward values as their tasks leave them\n") +
           table.text(width);
}

std::string messages(const Facts& facts, size_t width) {
    if (facts.messages.empty()) {
        return "\nMessages: none\n";
    }
    Grouped grouped;
    // What one device at most receives in a step: collectives of its stage and what is sent to it.
    std::vector<int64_t> received(facts.stages.size(), 0);
    for (const MessageFact& message : facts.messages) {
        const std::string name =
            message.tensors == 1 ? message.tensor
                                 : message.tensor.substr(0, message.tensor.find(',')) + " +" +
                                       std::to_string(message.tensors - 1) + " more";
        const int at = message.to_stage >= 0 ? message.to_stage : message.stage;
        if (at >= 0 && static_cast<size_t>(at) < received.size()) {
            received[static_cast<size_t>(at)] += message.bytes * message.count;
        }
        std::string kind = message.kind;
        if (message.to_stage >= 0) {
            kind += " " + std::to_string(message.stage) + "→" + std::to_string(message.to_stage);
        }
        grouped.add(name,
                    {kind, joined(message.axes, ",") + " (" + std::to_string(message.group) + ")",
                     in_bytes(message.bytes), std::string(name_of(message.phase)),
                     message.line > 0 ? std::to_string(message.line) : "-"},
                    message.count);
    }
    std::string text = "\nMessages (bytes that the busiest device receives, each time)\n";
    for (const char* phase : {"forward", "backward", "update"}) {
        Table table({{phase, Table::Align::Left, true}, {"kind"}, {"over"},
                     {"bytes", Table::Align::Right}, {"times", Table::Align::Right},
                     {"line", Table::Align::Right}});
        for (const Grouped::Row& row : grouped.rows()) {
            if (row.cells[3] == phase) {
                table.row({row.name(), row.cells[0], row.cells[1], row.cells[2],
                           std::to_string(row.number), row.cells[4]});
            }
        }
        if (!table.empty()) {
            text += table.text(width);
        }
    }
    const int64_t most = *std::max_element(received.begin(), received.end());
    return text + "  in all " + in_bytes(most) + " a step into the busiest device\n";
}

std::string memory(const Facts& facts) {
    Table table({{"device", Table::Align::Left, true}, {"peak", Table::Align::Right},
                 {"params", Table::Align::Right}, {"grads", Table::Align::Right},
                 {"optimizer", Table::Align::Right}, {"activations", Table::Align::Right},
                 {"buffers", Table::Align::Right}});
    for (const MemoryFact& fact : facts.memory) {
        table.row({devices_text(fact.devices), in_bytes(fact.peak), in_bytes(fact.params),
                   in_bytes(fact.grads), in_bytes(fact.optimizer), in_bytes(fact.activations),
                   in_bytes(fact.buffers)});
    }
    return "\nMemory of a device\n" + table.text();
}

} // namespace

std::string explain_text(const Facts& facts, size_t width) {
    return header(facts) + stages(facts) + order(facts, width) + layouts(facts, true, width) +
           layouts(facts, false, width) + messages(facts, width) + memory(facts);
}

} // namespace sspc::backend
