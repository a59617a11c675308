// Carries out device programs on numbers, in double: every device of every class, one instruction after another.
#include "ir/interpret/program_interpreter.h"

#include "ir/support/check.h"
#include "ir/support/format.h"
#include "ir/support/match.h"

#include <algorithm>
#include <numeric>
#include <cmath>
#include <limits>

namespace sspc {
namespace {

struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Calls `visit` for every point of the box, setting `coordinates[axes[i]]`.
template <typename Visit>
void for_points(const std::vector<AxisId>& axes, const Box& box, std::vector<int64_t>& coordinates, Visit visit, size_t depth = 0) {
    if (depth == axes.size()) {
        visit();
        return;
    }
    for (int64_t i = box[depth].begin; i < box[depth].end; ++i) {
        coordinates[axes[depth].value] = i;
        for_points(axes, box, coordinates, visit, depth + 1);
    }
}

} // namespace

ProgramInterpreter::ProgramInterpreter(const Program& program)
    : program_(program), coordinates_(program.classes.size()), memory_(program.classes.size()), runners_(program.classes.size()) {
    const auto stage_axis = find_role(program.mesh, AxisRole::Stage);
    for (int device = 0; device < device_count(program.mesh); ++device) {
        std::vector<int> at = sspc::coordinates(program.mesh, device);
        const int stage = stage_axis ? at[*stage_axis] : 0;
        coordinates_[stage].push_back(std::move(at));
    }
}

ProgramInterpreter::Key ProgramInterpreter::key(int stage, BufferId id, int micro) const {
    return {id, buffer(stage, id).life == Life::Micro ? std::max(micro, 0) : -1};
}

Box ProgramInterpreter::box_of(int stage, size_t device, BufferId id, int micro) const {
    std::vector<int> at = coordinates_[stage][device];
    at[0] = std::max(micro, 0);
    const Buffer& b = buffer(stage, id);
    return region(program_.axes, b.axes, program_.mesh, b.layout, at);
}

ProgramInterpreter::Locals& ProgramInterpreter::make(int stage, BufferId id, int micro) {
    Locals& locals = memory_[stage][key(stage, id, micro)];
    if (locals.empty())
        for (size_t d = 0; d < coordinates_[stage].size(); ++d) {
            LocalTensor local;
            local.box = box_of(stage, d, id, micro);
            local.data.assign(volume(local.box), std::nan(""));
            locals.push_back(std::move(local));
        }
    return locals;
}

ProgramInterpreter::Locals& ProgramInterpreter::get(int stage, BufferId id, int micro) {
    auto it = memory_[stage].find(key(stage, id, micro));
    if (it == memory_[stage].end())
        throw Failure(format("`{0}` of stage {1} is read, but nothing has written it", buffer(stage, id).name, stage));
    return it->second;
}

void ProgramInterpreter::store(const WholeTensors& values) {
    for (const Program::Stored& stored : program_.stored) {
        auto value = values.find(stored.tensor);
        if (value == values.end())
            continue;
        auto fill = [&](int stage, BufferId id) {
            const std::vector<int64_t> sizes = sizes_of(buffer(stage, id).axes);
            memory_[stage].erase(key(stage, id, -1));
            for (LocalTensor& local : make(stage, id, -1)) {
                std::vector<int64_t> at(program_.axes.size(), 0);
                std::vector<AxisId> axes = buffer(stage, id).axes;
                size_t n = 0;
                for_points(axes, local.box, at, [&] {
                    int64_t offset = 0;
                    for (size_t i = 0; i < axes.size(); ++i)
                        offset = offset * sizes[i] + at[axes[i].value];
                    local.data[n++] = value->second[offset];
                });
            }
        };
        fill(stored.stage, stored.buffer);
        for (const auto& copy : stored.copies)
            fill(copy.stage, copy.buffer);
    }
}

std::vector<int64_t> ProgramInterpreter::sizes_of(const std::vector<AxisId>& axes) const {
    std::vector<int64_t> sizes;
    for (AxisId axis : axes)
        sizes.push_back(program_.axes[axis].size);
    return sizes;
}

std::optional<std::string> ProgramInterpreter::run_step(int64_t step, uint64_t seed, const WholeTensors& inputs) {
    step_ = step;
    seed_ = seed;
    inputs_ = &inputs;
    mailbox_.clear();
    runners_.assign(program_.classes.size(), {});
    for (size_t s = 0; s < memory_.size(); ++s)
        std::erase_if(memory_[s], [&](const auto& entry) { return buffer(static_cast<int>(s), entry.first.buffer).life != Life::Persistent; });
    try {
        for (;;) {
            bool moved = false, finished = true;
            for (size_t s = 0; s < program_.classes.size(); ++s)
                while (advance(static_cast<int>(s)))
                    moved = true;
            // All classes may stand at one collective that joins the stages.
            std::vector<int> stages;
            const Communicate* joint = nullptr;
            for (size_t s = 0; s < program_.classes.size(); ++s) {
                const Class& c = program_.classes[s];
                if (runners_[s].step >= c.order.size())
                    continue;
                finished = false;
                const auto* block = std::get_if<RunBlock>(&c.order[runners_[s].step]);
                if (!block)
                    continue;
                const auto& code = c.blocks[block->block].instructions;
                if (runners_[s].instruction >= code.size())
                    continue;
                const auto* message = std::get_if<Communicate>(&code[runners_[s].instruction]);
                if (message && is_joint(*message)) {
                    stages.push_back(static_cast<int>(s));
                    joint = message;
                }
            }
            if (finished)
                return std::nullopt;
            if (joint && stages.size() == program_.classes.size()) {
                communicate(*joint, stages, -1);
                for (int s : stages)
                    ++runners_[s].instruction;
                moved = true;
            }
            if (!moved)
                return "no class can go on: their messages wait for one another";
        }
    } catch (const Failure& failure) {
        return failure.what();
    }
}

bool ProgramInterpreter::is_joint(const Communicate& message) const {
    return std::any_of(message.mesh_axes.begin(), message.mesh_axes.end(), [&](int m) {
        return program_.mesh.axes[m].role == AxisRole::Stage && program_.mesh.axes[m].size > 1;
    });
}

/// One step of a class; false if it is finished or must wait.
bool ProgramInterpreter::advance(int stage) {
    const Class& c = program_.classes[stage];
    Runner& runner = runners_[stage];
    if (runner.step >= c.order.size())
        return false;
    return std::visit(Match{[&](const RunBlock& run_block) {
                                const auto& code = c.blocks[run_block.block].instructions;
                                if (runner.instruction >= code.size()) {
                                    runner.instruction = 0;
                                    ++runner.step;
                                    return true;
                                }
                                if (!run(stage, code[runner.instruction], run_block.micro))
                                    return false;
                                ++runner.instruction;
                                return true;
                            },
                            [&](const Posts& posts) {
                                if (runner.post >= posts.posts.size()) {
                                    runner.post = 0;
                                    ++runner.step;
                                    return true;
                                }
                                // All posts of a group begin before any completes: sends wait for no receive.
                                size_t index = runner.post;
                                if (posts.grouped) {
                                    std::vector<size_t> turns(posts.posts.size());
                                    std::iota(turns.begin(), turns.end(), size_t{0});
                                    std::stable_partition(turns.begin(), turns.end(),
                                                          [&](size_t i) { return posts.posts[i].kind == Post::Kind::Send; });
                                    index = turns[index];
                                }
                                if (!post(stage, posts.posts[index]))
                                    return false;
                                ++runner.post;
                                return true;
                            },
                            [&](const AllocateInstance& a) {
                                make(stage, a.buffer, a.micro);
                                ++runner.step;
                                return true;
                            },
                            [&](const FreeInstance& f) {
                                memory_[stage].erase(key(stage, f.buffer, f.micro));
                                ++runner.step;
                                return true;
                            },
                            [&](const Record&) {
                                ++runner.step;
                                return true;
                            },
                            [&](const Wait&) {
                                ++runner.step;
                                return true;
                            }},
                      c.order[runner.step]);
}

bool ProgramInterpreter::post(int stage, const Post& post) {
    const Message& message = program_.messages[post.message];
    if (post.kind == Post::Kind::Send) {
        if (message.from_stage != stage)
            throw Failure(format("stage {0} sends `{1}`, which is stage {2}'s", stage, message.name, message.from_stage));
        mailbox_[{post.message, post.micro}] = get(stage, post.buffer, post.micro);
        return true;
    }
    if (message.to_stage != stage)
        throw Failure(format("stage {0} receives `{1}`, which goes to stage {2}", stage, message.name, message.to_stage));
    auto it = mailbox_.find({post.message, post.micro});
    if (it == mailbox_.end())
        return false;
    Locals& to = make(stage, post.buffer, post.micro);
    for (size_t d = 0; d < to.size(); ++d) {
        if (to[d].box != it->second[d].box)
            throw Failure(format("`{0}` is sent and received with other parts", message.name));
        to[d].data = it->second[d].data;
    }
    mailbox_.erase(it);
    return true;
}

bool ProgramInterpreter::run(int stage, const Instruction& instruction, int micro) {
    return std::visit(
        Match{[&](const Compute& c) {
                  compute(stage, c, micro);
                  return true;
              },
              [&](const Communicate& c) {
                  if (is_joint(c))
                      return false;
                  communicate(c, {stage}, micro);
                  return true;
              },
              [&](const Load& load) {
                  const Buffer& b = buffer(stage, load.out);
                  auto whole = inputs_->find(b.tensor);
                  if (whole == inputs_->end())
                      throw Failure(format("no data for the input `{0}`", b.tensor));
                  const std::vector<int64_t> sizes = sizes_of(b.axes);
                  for (LocalTensor& local : make(stage, load.out, micro)) {
                      std::vector<int64_t> at(program_.axes.size(), 0);
                      size_t n = 0;
                      for_points(b.axes, local.box, at, [&] {
                          int64_t offset = 0;
                          for (size_t i = 0; i < sizes.size(); ++i)
                              offset = offset * sizes[i] + at[b.axes[i].value];
                          local.data[n++] = whole->second[offset];
                      });
                  }
                  return true;
              },
              [&](const Fill& fill) {
                  for (LocalTensor& local : make(stage, fill.out, micro))
                      std::fill(local.data.begin(), local.data.end(), fill.value);
                  return true;
              },
              [&](const Copy& copy) {
                  const Locals from = get(stage, copy.from, micro);
                  Locals& to = make(stage, copy.to, micro);
                  for (size_t d = 0; d < to.size(); ++d) {
                      if (to[d].box != from[d].box)
                          throw Failure(format("`{0}` is copied to a buffer with another part", buffer(stage, copy.from).name));
                      to[d].data = from[d].data;
                  }
                  return true;
              },
              [&](const Allocate& a) {
                  memory_[stage].erase(key(stage, a.buffer, micro));
                  make(stage, a.buffer, micro);
                  return true;
              },
              [&](const Free& f) {
                  memory_[stage].erase(key(stage, f.buffer, micro));
                  return true;
              },
              [&](const Record&) { return true; }, [&](const Wait&) { return true; }},
        instruction);
}

void ProgramInterpreter::compute(int stage, const Compute& c, int micro) {
    const Buffer& out_buffer = buffer(stage, c.out);
    Evaluation evaluation;
    evaluation.axes = &program_.axes;
    evaluation.body = c.body;
    evaluation.scatter = c.scatter;
    // A chunk is set by adding to identities: the rest of the buffer belongs to other chunks.
    const bool adds = c.accumulate || c.chunk;
    evaluation.reduce = adds && c.reduce == Reduce::None ? Reduce::Sum : c.reduce;
    // The iteration space: plain output axes, then reduced ones.
    for (size_t i = 0; i < out_buffer.axes.size(); ++i)
        if (c.scatter.empty() || c.scatter[i]->op == ExprOp::Iota)
            evaluation.space.push_back(c.scatter.empty() ? out_buffer.axes[i] : c.scatter[i]->axis);
    evaluation.space.insert(evaluation.space.end(), c.reduced.begin(), c.reduced.end());
    evaluation.accumulate = adds;
    evaluation.step = step_;
    evaluation.seed = seed_;
    evaluation.precision = Precision::F64;
    std::vector<const Locals*> reads;
    for (BufferId id : c.reads)
        reads.push_back(&get(stage, id, micro));
    Locals results = make(stage, c.out, micro); // a copy: an update may write what it reads
    for (size_t d = 0; d < coordinates_[stage].size(); ++d) {
        std::vector<int> at = coordinates_[stage][d];
        at[0] = std::max(micro, 0);
        evaluation.ranges.clear();
        for (AxisId axis : evaluation.space) {
            Layout as_layout(program_.mesh.axes.size());
            for (size_t m = 0; m < c.cut.size(); ++m)
                if (c.cut[m] == axis)
                    as_layout[m] = Placement::sharded(axis);
            const Interval local = region_of(program_.axes[axis], axis, program_.mesh, as_layout, at);
            evaluation.ranges.push_back(c.chunk && c.chunk->axis == axis ? part_of(local, c.chunk->count, c.chunk->index) : local);
        }
        evaluation.operands.clear();
        for (size_t slot = 0; slot < reads.size(); ++slot) {
            const LocalTensor& local = (*reads[slot])[d];
            evaluation.operands.push_back({local.data.data(), buffer(stage, c.reads[slot]).axes, local.box});
        }
        evaluation.out = {results[d].data.data(), out_buffer.axes, results[d].box, out_buffer.dtype};
        check_parts(stage, c, evaluation);
        if (c.chunk && !c.accumulate)
            clear_chunk(c, evaluation, results[d]);
        if (const auto error = evaluate_statement(evaluation))
            throw Failure(format("`{0}`: {1}", c.path, *error));
    }
    make(stage, c.out, micro) = std::move(results);
}

void ProgramInterpreter::clear_chunk(const Compute& c, const Evaluation& evaluation, LocalTensor& out) const {
    Box part = out.box;
    for (size_t i = 0; i < part.size(); ++i)
        if (evaluation.out.axes[i] == c.chunk->axis)
            part[i] = part_of(part[i], c.chunk->count, c.chunk->index);
    for_each_point(part, [&](const std::vector<int64_t>& point) {
        out.data[*offset_in(out.box, point)] = identity_of(evaluation.reduce);
    });
}

/// Plain accesses and the output lie inside the parts that the device holds.
void ProgramInterpreter::check_parts(int stage, const Compute& c, const Evaluation& evaluation) const {
    const auto range_of = [&](AxisId axis) {
        for (size_t i = 0; i < evaluation.space.size(); ++i)
            if (evaluation.space[i] == axis)
                return evaluation.ranges[i];
        throw Failure(format("`{0}` uses `{1}`, which is no axis of its points", c.path, program_.axes[axis].name));
    };
    const auto inside = [&](const Expr& index, const Interval& part, BufferId id) {
        const Interval range = range_of(index.axis);
        if (range.size() > 0 && (range.begin < part.begin || range.end > part.end))
            throw Failure(format("`{0}` touches `{1}` outside the part that the device holds", c.path, buffer(stage, id).name));
    };
    for (const Interval& range : evaluation.ranges)
        if (range.size() <= 0)
            return;
    for_each(c.body, [&](const Expr& expr) {
        if (expr.op != ExprOp::Access)
            return;
        if (expr.slot < 0 || expr.slot >= static_cast<int>(evaluation.operands.size()) ||
            expr.args.size() != evaluation.operands[expr.slot].box.size())
            throw Failure(format("`{0}` reads an operand that it does not have", c.path));
        for (size_t i = 0; i < expr.args.size(); ++i)
            if (expr.args[i]->op == ExprOp::Iota && !expr.otherwise)
                inside(*expr.args[i], evaluation.operands[expr.slot].box[i], c.reads[expr.slot]);
    });
    if (c.scatter.empty())
        for (size_t i = 0; i < evaluation.out.axes.size(); ++i)
            inside(*iota(evaluation.out.axes[i]), evaluation.out.box[i], c.out);
}

void ProgramInterpreter::communicate(const Communicate& message, const std::vector<int>& stages, int micro) {
    const int devices = device_count(program_.mesh);
    const auto stage_axis = find_role(program_.mesh, AxisRole::Stage);
    const auto owner = [&](int device) { return stage_axis ? coordinates(program_.mesh, device)[*stage_axis] : 0; };
    for (size_t p = 0; p < message.parts.size(); ++p) {
        // The same instruction stands in each class; buffers may have other numbers there.
        const auto part_in = [&](int stage) -> Communicate::Part {
            if (stages.size() == 1)
                return message.parts[p];
            const auto* block = std::get_if<RunBlock>(&program_.classes[stage].order[runners_[stage].step]);
            const auto& here = std::get<Communicate>(program_.classes[stage].blocks[block->block].instructions[runners_[stage].instruction]);
            if (here.kind != message.kind || here.parts.size() != message.parts.size() || here.mesh_axes != message.mesh_axes)
                throw Failure("stages meet in different collectives");
            return here.parts[p];
        };
        // Devices of classes that take no part stand in with a copy of the taking class's device: groups never reach them.
        std::vector<LocalTensor> locals(devices);
        std::vector<size_t> rank(devices);
        std::vector<size_t> seen(program_.classes.size(), 0);
        for (int device = 0; device < devices; ++device)
            rank[device] = seen[owner(device)]++;
        for (int device = 0; device < devices; ++device) {
            const bool takes_part = std::find(stages.begin(), stages.end(), owner(device)) != stages.end();
            const int stage = takes_part ? owner(device) : stages[0];
            locals[device] = get(stage, part_in(stage).from, micro)[rank[device]];
        }
        const Communicate::Part part = part_in(stages[0]);
        const Buffer& from = buffer(stages[0], part.from);
        Move move{message.kind, message.mesh_axes, part.from_layout, part.to_layout, 0};
        std::string error;
        std::vector<LocalTensor> moved = carry_out(program_.axes, {from.axes, from.dtype}, program_.mesh, move, locals, std::max(micro, 0), error);
        if (!error.empty())
            throw Failure(format("the {0} of `{1}`: {2}", name_of(message.kind), from.name, error));
        for (int device = 0; device < devices; ++device) {
            const int stage = owner(device);
            if (std::find(stages.begin(), stages.end(), stage) == stages.end())
                continue;
            LocalTensor& to = make(stage, part_in(stage).to, micro)[rank[device]];
            const LocalTensor& result = moved[device];
            if (to.box != result.box)
                throw Failure(format("a move leaves another part of `{0}` than its buffer holds", buffer(stage, part_in(stage).to).name));
            // A chunk moves only its part along its axis.
            std::vector<int64_t> at(program_.axes.size(), 0);
            size_t n = 0;
            std::optional<Interval> chunk;
            if (message.chunk)
                for (size_t i = 0; i < from.axes.size(); ++i)
                    if (from.axes[i] == message.chunk->axis)
                        chunk = part_of(to.box[i], message.chunk->count, message.chunk->index);
            for_points(from.axes, to.box, at, [&] {
                const size_t here = n++;
                if (chunk && (at[message.chunk->axis.value] < chunk->begin || at[message.chunk->axis.value] >= chunk->end))
                    return;
                to.data[here] = message.accumulate ? to.data[here] + result.data[here] : result.data[here];
            });
        }
    }
}

std::vector<double> ProgramInterpreter::whole(int stage, BufferId id, std::vector<std::string>& errors) const {
    const Buffer& b = buffer(stage, id);
    const std::vector<int64_t> sizes = sizes_of(b.axes);
    int64_t count = 1;
    for (int64_t size : sizes)
        count *= size;
    std::vector<double> result(count, std::nan(""));
    auto it = memory_[stage].find({id, -1});
    if (it == memory_[stage].end())
        it = memory_[stage].find({id, 0});
    if (it == memory_[stage].end()) {
        errors.push_back("`" + b.name + "` has no value");
        return result;
    }
    bool differs = false;
    for (const LocalTensor& local : it->second) {
        std::vector<int64_t> at(program_.axes.size(), 0);
        size_t n = 0;
        for_points(b.axes, local.box, at, [&] {
            int64_t offset = 0;
            for (size_t i = 0; i < sizes.size(); ++i)
                offset = offset * sizes[i] + at[b.axes[i].value];
            const double value = local.data[n++];
            if (!std::isnan(result[offset]) && result[offset] != value)
                differs = true;
            result[offset] = value;
        });
    }
    if (differs)
        errors.push_back("replicas of `" + b.name + "` differ");
    if (std::any_of(result.begin(), result.end(), [](double v) { return std::isnan(v); }))
        errors.push_back("elements of `" + b.name + "` are missing or NaN");
    return result;
}

WholeTensors ProgramInterpreter::results(std::vector<std::string>& errors) const {
    WholeTensors values;
    for (const Program::Result& result : program_.results)
        values[result.tensor] = whole(result.stage, result.buffer, errors);
    return values;
}

WholeTensors ProgramInterpreter::stored(std::vector<std::string>& errors) const {
    WholeTensors values;
    for (const Program::Stored& entry : program_.stored) {
        values[entry.tensor] = whole(entry.stage, entry.buffer, errors);
        for (const auto& copy : entry.copies)
            if (whole(copy.stage, copy.buffer, errors) != values[entry.tensor])
                errors.push_back("the copy of `" + entry.tensor + "` on stage " + std::to_string(copy.stage) + " differs");
    }
    return values;
}

} // namespace sspc
