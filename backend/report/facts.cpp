// Gathers what `sspc explain` tells from the device program, which is what will run.
#include "backend/report/facts.h"

#include "ir/support/check.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace sspc::backend {

namespace {

/// Positions of the mesh axes that stand for devices (Micro does not).
std::vector<size_t> device_axes(const Mesh& mesh) {
    std::vector<size_t> axes;
    for (size_t i = 0; i < mesh.axes.size(); ++i) {
        if (mesh.axes[i].role != AxisRole::Micro) {
            axes.push_back(i);
        }
    }
    return axes;
}

std::vector<int> devices_of(const Program& program, const Class& device_class) {
    const auto stage_axis = find_role(program.mesh, AxisRole::Stage);
    std::vector<int> devices;
    for (int device = 0; device < device_count(program.mesh); ++device) {
        if (!stage_axis || coordinates(program.mesh, device)[static_cast<size_t>(*stage_axis)] ==
                               device_class.stage) {
            devices.push_back(device);
        }
    }
    return devices;
}

/// How often each block of the class runs in a step.
std::vector<int64_t> runs_of_blocks(const Class& device_class) {
    std::vector<int64_t> runs(device_class.blocks.size(), 0);
    for (const OrderStep& step : device_class.order) {
        if (const auto* run = std::get_if<RunBlock>(&step)) {
            ++runs.at(static_cast<size_t>(run->block));
        }
    }
    return runs;
}

int line_of(const Span& span, const SourceMap& sources) {
    return span.valid() ? sources.begin(span).line : 0;
}

struct Gatherer {
    const Compiled& compiled;
    const SourceMap& sources;
    Facts facts;
    std::map<std::string, const Tensor*> tensor_of; ///< by path

    Gatherer(const Compiled& c, const SourceMap& s) : compiled(c), sources(s) {
        for (const Tensor& tensor : compiled.graph.tensors) {
            tensor_of[tensor.path] = &tensor;
        }
    }

    TensorFact tensor_fact(const Buffer& buffer, int stage, bool parameter) const {
        const Program& program = compiled.program;
        TensorFact fact;
        fact.path = buffer.tensor;
        fact.parameter = parameter;
        for (AxisId axis : buffer.axes) {
            fact.axes.push_back(program.axes[axis].name);
            fact.shape.push_back(program.axes[axis].size);
        }
        fact.dtype = name_of(buffer.dtype);
        fact.stage = stage;
        for (size_t i : device_axes(program.mesh)) {
            fact.layout.push_back(i < buffer.layout.size()
                                      ? to_text(buffer.layout[i], program.axes)
                                      : std::string("R"));
        }
        return fact;
    }

    void tensors() {
        const Program& program = compiled.program;
        for (const Program::Stored& stored : program.stored) {
            if (stored.kind == TensorKind::Parameter) {
                const Class& home = program.classes.at(static_cast<size_t>(stored.stage));
                facts.tensors.push_back(
                    tensor_fact(home.buffers[stored.buffer], stored.stage, true));
            }
        }
        std::set<std::string> seen;
        for (const Class& device_class : program.classes) {
            for (const Block& block : device_class.blocks) {
                for (const Instruction& instruction : block.instructions) {
                    const auto* compute = std::get_if<Compute>(&instruction);
                    if (compute == nullptr || compute->phase != Phase::Forward ||
                        block.kind != Block::Kind::Forward) {
                        continue;
                    }
                    const Buffer& buffer = device_class.buffers[compute->out];
                    if (seen.insert(buffer.tensor).second) {
                        facts.tensors.push_back(tensor_fact(buffer, device_class.stage, false));
                    }
                }
            }
        }
    }

    void collectives() {
        const Program& program = compiled.program;
        using Key = std::tuple<std::string, std::string, Phase, std::vector<int>, int64_t, int, int>;
        std::map<Key, size_t> known;
        for (const Class& device_class : program.classes) {
            const std::vector<int64_t> runs = runs_of_blocks(device_class);
            for (size_t b = 0; b < device_class.blocks.size(); ++b) {
                for (const Instruction& instruction : device_class.blocks[b].instructions) {
                    const auto* move = std::get_if<Communicate>(&instruction);
                    if (move == nullptr || is_local(move->kind) || runs[b] == 0) {
                        continue;
                    }
                    MessageFact fact;
                    fact.kind = name_of(move->kind);
                    for (const Communicate::Part& part : move->parts) {
                        fact.tensor += (fact.tensor.empty() ? "" : ", ") +
                                       device_class.buffers[part.from].tensor;
                    }
                    fact.tensors = move->parts.size();
                    fact.phase = move->phase;
                    fact.group = 1;
                    for (int axis : move->mesh_axes) {
                        const MeshAxis& mesh_axis = program.mesh.axes.at(static_cast<size_t>(axis));
                        fact.axes.push_back(mesh_axis.name);
                        fact.group *= mesh_axis.size;
                    }
                    fact.bytes = move->bytes;
                    fact.count = runs[b];
                    fact.stage = device_class.stage;
                    fact.line = line_of(move->span, sources);
                    const Key key{fact.kind,  fact.tensor, fact.phase,        move->mesh_axes,
                                  fact.bytes, fact.line,   device_class.stage};
                    const auto [at, is_new] = known.try_emplace(key, facts.messages.size());
                    if (is_new) {
                        facts.messages.push_back(std::move(fact));
                    } else {
                        facts.messages[at->second].count += runs[b];
                    }
                }
            }
        }
    }

    void sends() {
        const Program& program = compiled.program;
        const auto stage_axis = find_role(program.mesh, AxisRole::Stage);
        for (const Message& message : program.messages) {
            MessageFact fact;
            fact.kind = "send";
            fact.tensor = message.tensor;
            fact.phase = message.phase;
            if (stage_axis) {
                fact.axes.push_back(program.mesh.axes[static_cast<size_t>(*stage_axis)].name);
            }
            fact.group = 2;
            fact.bytes = message.bytes;
            fact.count = message.each_micro ? micro_count(program) : 1;
            fact.stage = message.from_stage;
            fact.to_stage = message.to_stage;
            fact.line = line_of(message.span, sources);
            facts.messages.push_back(std::move(fact));
        }
    }

    /// Bytes of the static arena under buffers of the kind, less those that an earlier kind already covers.
    struct Coverage {
        std::vector<Interval> covered; ///< disjoint, sorted
        int64_t add(Interval next) {
            int64_t added = next.size();
            std::vector<Interval> kept;
            for (const Interval& old : covered) {
                if (old.end <= next.begin || next.end <= old.begin) {
                    kept.push_back(old);
                    continue;
                }
                added -= std::min(old.end, next.end) - std::max(old.begin, next.begin);
                next = {std::min(old.begin, next.begin), std::max(old.end, next.end)};
            }
            kept.push_back(next);
            covered = std::move(kept);
            return added;
        }
    };

    void memory() {
        for (const Class& device_class : compiled.program.classes) {
            MemoryFact fact;
            fact.devices = devices_of(compiled.program, device_class);
            fact.peak = peak_bytes(device_class);
            Coverage coverage;
            const auto cover = [&](const auto& takes) {
                int64_t bytes = 0;
                for (const Buffer& buffer : device_class.buffers) {
                    const auto tensor = tensor_of.find(buffer.tensor);
                    if (buffer.space == Space::Static && buffer.bytes > 0 &&
                        tensor != tensor_of.end() && takes(buffer, *tensor->second)) {
                        bytes += coverage.add({buffer.offset, buffer.offset + buffer.bytes});
                    }
                }
                return bytes;
            };
            fact.params = cover([](const Buffer& b, const Tensor& t) {
                return t.kind == TensorKind::Parameter && b.life == Life::Persistent;
            });
            fact.optimizer =
                cover([](const Buffer&, const Tensor& t) { return t.kind == TensorKind::State; });
            fact.grads = cover([](const Buffer&, const Tensor& t) {
                return t.kind == TensorKind::Value && t.parameter.valid();
            });
            fact.activations = device_class.frames * device_class.frame_bytes;
            fact.buffers =
                fact.peak - fact.params - fact.optimizer - fact.grads - fact.activations;
            facts.memory.push_back(std::move(fact));
        }
    }

    /// Operations of one run of the compute on one device: its part of the iteration space times the operations at a point.
    double flops_of(const Compute& compute, const Class& device_class) const {
        const Program& program = compiled.program;
        std::set<AxisId> axes(compute.reduced.begin(), compute.reduced.end());
        if (compute.scatter.empty()) {
            const Buffer& out = device_class.buffers[compute.out];
            axes.insert(out.axes.begin(), out.axes.end());
        }
        double points = 1;
        for (AxisId axis : axes) {
            Interval part{0, program.axes[axis].size};
            for (size_t m = 0; m < compute.cut.size(); ++m) {
                if (compute.cut[m] == axis) {
                    part = part_of(part, program.mesh.axes[m].size, 0);
                }
            }
            points *= static_cast<double>(part.size());
        }
        double operations = compute.reduce == Reduce::None ? 0 : 1;
        for_each(compute.body, [&](const Expr& node) {
            switch (node.op) {
            case ExprOp::Constant:
            case ExprOp::Iota:
            case ExprOp::Step:
            case ExprOp::Access:
            case ExprOp::Cast:
                break;
            default:
                operations += 1;
            }
        });
        return points * operations / (compute.chunk ? compute.chunk->count : 1);
    }

    void stages() {
        const Program& program = compiled.program;
        std::map<std::string, const Statement*> statement_of;
        for (const Statement& statement : compiled.graph.statements) {
            if (statement.phase == Phase::Forward) {
                statement_of.try_emplace(statement.path, &statement);
            }
        }
        for (const Class& device_class : program.classes) {
            StageFact fact;
            fact.stage = device_class.stage;
            fact.devices = devices_of(program, device_class);
            const std::vector<int64_t> runs = runs_of_blocks(device_class);
            for (size_t b = 0; b < device_class.blocks.size(); ++b) {
                const Block& block = device_class.blocks[b];
                for (const Instruction& instruction : block.instructions) {
                    const auto* compute = std::get_if<Compute>(&instruction);
                    if (compute == nullptr) {
                        continue;
                    }
                    fact.flops += flops_of(*compute, device_class) * static_cast<double>(runs[b]);
                    if (block.kind != Block::Kind::Forward) {
                        continue;
                    }
                    if (!compute->chunk || compute->chunk->index == 0) {
                        ++fact.tasks;
                    }
                    const auto statement = statement_of.find(compute->path);
                    if (statement != statement_of.end()) {
                        const auto& blocks = statement->second->blocks;
                        const std::string name = blocks.empty() ? compute->path : blocks.front();
                        if (std::find(fact.blocks.begin(), fact.blocks.end(), name) ==
                            fact.blocks.end()) {
                            fact.blocks.push_back(name);
                        }
                    }
                }
            }
            for (const Program::Stored& stored : program.stored) {
                if (stored.kind != TensorKind::Parameter) {
                    continue;
                }
                const auto count = [&](BufferId id) {
                    const Buffer& buffer = device_class.buffers[id];
                    fact.parameters +=
                        largest_volume(program.axes, buffer.axes, program.mesh, buffer.layout);
                };
                if (stored.stage == device_class.stage) {
                    count(stored.buffer);
                }
                for (const auto& copy : stored.copies) {
                    if (copy.stage == device_class.stage) {
                        count(copy.buffer);
                    }
                }
            }
            for (const OrderStep& step : device_class.order) {
                const auto* run = std::get_if<RunBlock>(&step);
                if (run == nullptr) {
                    continue;
                }
                const Block& block = device_class.blocks[static_cast<size_t>(run->block)];
                const char* letter = block.kind == Block::Kind::Forward          ? "F"
                                     : block.kind == Block::Kind::Backward       ? "B"
                                     : block.kind == Block::Kind::InputGradient  ? "I"
                                     : block.kind == Block::Kind::WeightGradient ? "W"
                                                                                 : nullptr;
                if (letter != nullptr) {
                    fact.order += (fact.order.empty() ? "" : " ") + std::string(letter) +
                                  std::to_string(std::max(run->micro, 0));
                }
            }
            facts.stages.push_back(std::move(fact));
        }
    }
};

} // namespace

std::string_view name_of(Phase phase) {
    switch (phase) {
    case Phase::Forward:
        return "forward";
    case Phase::Backward:
        return "backward";
    case Phase::Update:
        return "update";
    }
    SSPC_UNREACHABLE("phase");
}

Facts gather(const Compiled& compiled, const SourceMap& sources) {
    Gatherer gatherer(compiled, sources);
    Facts& facts = gatherer.facts;
    const Program& program = compiled.program;
    facts.plan = program.plan;
    facts.model = program.model;
    facts.devices = device_count(program.mesh);
    facts.micro_batches = micro_count(program);
    facts.split_axis = program.split.valid() ? program.axes[program.split].name : "";
    for (size_t i : device_axes(program.mesh)) {
        facts.mesh_axes.push_back(program.mesh.axes[i].name);
        facts.mesh_sizes.push_back(program.mesh.axes[i].size);
    }
    gatherer.tensors();
    gatherer.collectives();
    gatherer.sends();
    gatherer.memory();
    gatherer.stages();
    std::stable_sort(facts.messages.begin(), facts.messages.end(),
                     [](const MessageFact& a, const MessageFact& b) { return a.phase < b.phase; });
    return facts;
}

} // namespace sspc::backend
