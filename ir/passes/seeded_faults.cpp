// Faults that the tests seed into the compiler: each must be caught by the checker or by comparing numbers.
#include "ir/passes/seeded_faults.h"

#include "ir/passes/communicate.h"
#include "ir/passes/tasks.h"

#include <algorithm>
#include <functional>

namespace sspc {
namespace {

/// Where an instruction stands.
struct Place {
    Class& device_class;
    Block& block;
    size_t at;
};

/// Calls `spoil(instruction, place)` for each instruction of type T, until it says that it has spoilt one. `last`: from the end.
template <typename T>
void spoil_first(Program& program, const std::function<bool(T&, Place)>& spoil, bool last = false) {
    for (Class& device_class : program.classes)
        for (Block& block : device_class.blocks)
            for (size_t i = 0; i < block.instructions.size(); ++i) {
                const size_t at = last ? block.instructions.size() - 1 - i : i;
                if (auto* found = std::get_if<T>(&block.instructions[at]))
                    if (spoil(*found, Place{device_class, block, at}))
                        return;
            }
}

void remove(Place place) { place.block.instructions.erase(place.block.instructions.begin() + static_cast<std::ptrdiff_t>(place.at)); }

/// Everything that reads `from` reads `to`.
void read_instead(Class& device_class, BufferId from, BufferId to) {
    for (Block& block : device_class.blocks)
        for (Instruction& instruction : block.instructions) {
            if (auto* compute = std::get_if<Compute>(&instruction))
                std::replace(compute->reads.begin(), compute->reads.end(), from, to);
            else if (auto* move = std::get_if<Communicate>(&instruction))
                for (Communicate::Part& part : move->parts)
                    if (part.from == from)
                        part.from = to;
        }
}

bool has_draw(const ExprPtr& body) {
    bool found = false;
    for_each(body, [&](const Expr& expr) { found |= expr.op == ExprOp::Random; });
    return found;
}

ExprPtr change_first(const ExprPtr& body, const std::function<ExprPtr(const ExprPtr&)>& change) {
    bool done = false;
    return rewrite(body, [&](const ExprPtr& expr) -> ExprPtr {
        ExprPtr changed = done ? nullptr : change(expr);
        done |= changed != nullptr;
        return changed;
    });
}

bool spoil_body(Compute& compute, const std::function<ExprPtr(const ExprPtr&)>& change) {
    const ExprPtr changed = change_first(compute.body, change);
    const bool spoilt = changed != compute.body;
    compute.body = changed;
    return spoilt;
}

std::string tensor_of(const Place& place, BufferId id) { return place.device_class.buffers[id].tensor; }

bool is_single(const Communicate& move, MoveKind kind) { return move.kind == kind && move.parts.size() == 1; }

void drop_all_reduce(Program& program) {
    spoil_first<Communicate>(program, [](Communicate& move, Place place) {
        if (place.block.kind != Block::Kind::Forward || !is_single(move, MoveKind::AllReduce))
            return false;
        const Communicate::Part part = move.parts[0];
        remove(place);
        read_instead(place.device_class, part.to, part.from);
        return true;
    });
}

void change_computes(SeededFault fault, Program& program) {
    const int micros = micro_count(program);
    spoil_first<Compute>(program, [&](Compute& compute, Place place) {
        switch (fault) {
        case SeededFault::MeanByMicroBatches:
            if (tensor_of(place, compute.out) != "head.loss")
                return false;
            compute.body = make(ExprOp::Mul, {constant(micros, compute.body->type), compute.body});
            return true;
        case SeededFault::OperandsExchanged:
            return spoil_body(compute, [](const ExprPtr& e) {
                return e->op == ExprOp::Sub && e->args[0]->op != ExprOp::Constant ? make(ExprOp::Sub, {e->args[1], e->args[0]}) : nullptr;
            });
        case SeededFault::SetForAccumulate:
            return std::exchange(compute.accumulate, false);
        case SeededFault::TermDropped:
            if (compute.phase != Phase::Backward || compute.body->op != ExprOp::Add || compute.reads.size() < 2)
                return false;
            compute.body = compute.body->args[0];
            return true;
        case SeededFault::ClippedTwice:
            return spoil_body(compute, [&](const ExprPtr& e) -> ExprPtr {
                if (e->op != ExprOp::Access || tensor_of(place, compute.reads[e->slot]) != "clip" || tensor_of(place, compute.out) == "clip")
                    return nullptr;
                return make(ExprOp::Mul, {e, e});
            });
        case SeededFault::CutDropped:
            for (AxisId& axis : compute.cut)
                if (axis.valid() && axis != program.split) {
                    axis = AxisId();
                    return true;
                }
            return false;
        case SeededFault::OtherMask:
            return place.block.kind == Block::Kind::Backward && spoil_body(compute, [](const ExprPtr& e) -> ExprPtr {
                       if (e->op != ExprOp::Random)
                           return nullptr;
                       Expr other = *e;
                       other.path += "'";
                       return std::make_shared<const Expr>(std::move(other));
                   });
        case SeededFault::EqualMasks:
            return has_draw(compute.body) && spoil_body(compute, [](const ExprPtr& e) -> ExprPtr {
                       if (e->op != ExprOp::Random || e->args.size() < 2)
                           return nullptr;
                       Expr other = *e;
                       other.args[0] = other.args[1];
                       return std::make_shared<const Expr>(std::move(other));
                   });
        case SeededFault::StateNotUpdated: {
            const Buffer& out = place.device_class.buffers[compute.out];
            if (place.block.kind != Block::Kind::Finish || out.life != Life::Persistent || !out.tensor.ends_with(".m"))
                return false;
            remove(place);
            return true;
        }
        default:
            return true;
        }
    });
}

void change_moves(SeededFault fault, Program& program) {
    spoil_first<Communicate>(program, [&](Communicate& move, Place place) {
        Communicate::Part& part = move.parts[0];
        auto& buffers = place.device_class.buffers;
        switch (fault) {
        case SeededFault::ScatterAlongOtherAxis:
            if (!is_single(move, MoveKind::ReduceScatter))
                return false;
            for (const AxisId axis : buffers[part.to].axes) {
                Placement& to = part.to_layout[move.mesh_axes[0]];
                if (axis == to.axis)
                    continue;
                to.axis = axis;
                buffers[part.to].layout[move.mesh_axes[0]].axis = axis;
                return true;
            }
            return false;
        case SeededFault::ScatterForGather:
            if (!is_single(move, MoveKind::AllGather))
                return false;
            move.kind = MoveKind::ReduceScatter;
            return true;
        case SeededFault::MaximumAsSum:
            if (!is_single(move, MoveKind::AllReduce) || part.from_layout[move.mesh_axes[0]].reduction != Reduce::Max)
                return false;
            for (const int axis : move.mesh_axes)
                part.from_layout[axis].reduction = buffers[part.from].layout[axis].reduction = Reduce::Sum;
            return true;
        case SeededFault::OtherGroup:
            if (!is_single(move, MoveKind::AllReduce) || move.mesh_axes.size() != 1)
                return false;
            for (int m = 1; m < static_cast<int>(program.mesh.axes.size()); ++m)
                if (m != move.mesh_axes[0] && program.mesh.axes[m].role == AxisRole::Device && program.mesh.axes[m].size > 1) {
                    move.mesh_axes[0] = m;
                    return true;
                }
            return false;
        default:
            return true;
        }
    });
}

/// The last Free of a block moves before what uses its buffer last.
void free_early(Program& program) {
    spoil_first<Free>(
        program,
        [](Free& free, Place place) {
            for (size_t i = place.at; i-- > 0;) {
                const auto* compute = std::get_if<Compute>(&place.block.instructions[i]);
                if (compute == nullptr || std::find(compute->reads.begin(), compute->reads.end(), free.buffer) == compute->reads.end())
                    continue;
                const Free early = free;
                remove(place);
                place.block.instructions.insert(place.block.instructions.begin() + static_cast<std::ptrdiff_t>(i), early);
                return true;
            }
            return false;
        },
        true);
}

void change_order(SeededFault fault, Program& program) {
    for (Class& device_class : program.classes)
        for (size_t i = 1; i < device_class.order.size(); ++i) {
            auto* posts = std::get_if<Posts>(&device_class.order[i]);
            if (!posts || posts->posts[0].micro < 0)
                continue;
            if (fault == SeededFault::BothSendFirst) {
                std::stable_partition(posts->posts.begin(), posts->posts.end(), [](const Post& post) { return post.kind == Post::Kind::Send; });
                posts->grouped = false;
            }
            if (fault == SeededFault::OtherOrder) {
                posts->grouped = false;
                if (device_class.stage == 0 && posts->posts.size() > 1)
                    std::reverse(posts->posts.begin(), posts->posts.end());
            }
            if (fault == SeededFault::SentTooEarly && posts->posts[0].kind == Post::Kind::Send) {
                for (size_t j = i; j-- > 0;)
                    if (std::holds_alternative<RunBlock>(device_class.order[j])) {
                        std::rotate(device_class.order.begin() + static_cast<std::ptrdiff_t>(j),
                                    device_class.order.begin() + static_cast<std::ptrdiff_t>(i),
                                    device_class.order.begin() + static_cast<std::ptrdiff_t>(i) + 1);
                        return;
                    }
            }
            if (fault == SeededFault::OtherMicroBatch && posts->posts[0].kind == Post::Kind::Receive && micro_count(program) > 1) {
                for (Post& post : posts->posts)
                    post.micro = (post.micro + 1) % micro_count(program);
                return;
            }
        }
}

} // namespace

void seed_fault(SeededFault fault, const Graph& graph, Tasks& tasks) {
    if (fault != SeededFault::BiasOnEveryMember && fault != SeededFault::ReplicasInNorm)
        return;
    for (const StatementId id : graph.statements.ids()) {
        const Statement& statement = graph.statements[id];
        Task& task = tasks.tasks[id];
        for (size_t m = 1; m < tasks.mesh.axes.size(); ++m) {
            if (tasks.mesh.axes[m].role != AxisRole::Device || tasks.mesh.axes[m].size == 1 || !task.out[m].is_replicated())
                continue;
            if (fault == SeededFault::ReplicasInNorm) {
                if (!statement.update_of.valid() || !statement.path.starts_with("norm."))
                    continue;
            } else {
                const bool adds = statement.phase == Phase::Forward && statement.operands.size() == 2 && statement.body->op == ExprOp::Add &&
                                  tasks.layouts[statement.operands[0]][m] == Placement::partial(Reduce::Sum);
                if (!adds)
                    continue;
                task.operands[0][m] = Placement::partial(Reduce::Sum);
            }
            task.out[m] = Placement::partial(Reduce::Sum);
            tasks.layouts[statement.out] = task.out;
            return;
        }
    }
}

void seed_fault(SeededFault fault, Materialized& blocks) {
    Program& program = blocks.program;
    switch (fault) {
    case SeededFault::AllReduceLeftOut:
        drop_all_reduce(program);
        break;
    case SeededFault::FillLeftOut:
        spoil_first<Fill>(program, [](Fill&, Place place) {
            remove(place);
            return true;
        });
        break;
    case SeededFault::ParameterNotRestored:
        spoil_first<Communicate>(program, [](Communicate& move, Place place) {
            if (move.kind != MoveKind::AllGather || place.device_class.buffers[move.parts[0].to].life != Life::Persistent)
                return false;
            remove(place);
            return true;
        });
        break;
    case SeededFault::StaleCopy:
        if (!blocks.after_finish.empty())
            blocks.after_finish.pop_back();
        break;
    case SeededFault::MeanByMicroBatches: case SeededFault::OperandsExchanged: case SeededFault::SetForAccumulate:
    case SeededFault::TermDropped: case SeededFault::ClippedTwice: case SeededFault::CutDropped: case SeededFault::OtherMask:
    case SeededFault::EqualMasks: case SeededFault::StateNotUpdated:
        change_computes(fault, program);
        break;
    case SeededFault::ScatterAlongOtherAxis: case SeededFault::ScatterForGather: case SeededFault::MaximumAsSum:
    case SeededFault::OtherGroup:
        change_moves(fault, program);
        break;
    default:
        break;
    }
}

void seed_fault(SeededFault fault, Program& program) {
    switch (fault) {
    case SeededFault::SentTooEarly: case SeededFault::OtherMicroBatch: case SeededFault::BothSendFirst: case SeededFault::OtherOrder:
        change_order(fault, program);
        break;
    case SeededFault::WrongPeer:
        if (!program.messages.empty())
            std::swap(program.messages[MessageId(0)].from_stage, program.messages[MessageId(0)].to_stage);
        break;
    case SeededFault::WaitLeftOut:
        spoil_first<Wait>(program, [](Wait&, Place place) {
            remove(place);
            return true;
        });
        break;
    case SeededFault::FreedEarly:
        free_early(program);
        break;
    default:
        break;
    }
}

} // namespace sspc
