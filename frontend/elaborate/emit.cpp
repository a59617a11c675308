// Makes statements of expressions.
#include "frontend/elaborate/elaborator.h"

#include "ir/support/check.h"
#include "ir/support/format.h"

#include <algorithm>

namespace sspc::elaboration {

std::string Elaborator::unique_path(const std::string& path) {
    const int count = ++path_counts_[path];
    return count == 1 ? path : format("{0}#{1}", path, count);
}

std::string Elaborator::axis_list(const std::vector<AxisId>& axes) const {
    std::string out;
    for (const AxisId axis : axes) {
        out += (out.empty() ? "" : ", ") + graph_.axes[axis].name;
    }
    return out;
}

TensorId Elaborator::emit(TensorValue value, const std::string& path, const Span& span,
                          const std::optional<std::vector<AxisId>>& order) {
    if (value.weak != Weak::No) {
        value.body = with_type(value.body, value.weak == Weak::Int ? DType::I64 : DType::F32);
    }
    Statement statement;
    statement.path = path;
    statement.phase = phase_;
    statement.reduce = value.reduce;
    statement.reduced = value.reduced;
    statement.update_of = update_of_;
    statement.blocks = blocks_;
    statement.span = span;
    statement.body = rewrite(value.body, [&](const ExprPtr& node) -> ExprPtr {
        if (node->op != ExprOp::Access) {
            return nullptr;
        }
        // Slots are tensors until here.
        const TensorId tensor(node->slot);
        auto at = std::find(statement.operands.begin(), statement.operands.end(), tensor);
        if (at == statement.operands.end()) {
            at = statement.operands.insert(at, tensor);
        }
        return access(static_cast<int>(at - statement.operands.begin()), node->type, node->args, node->otherwise);
    });
    Tensor tensor;
    tensor.path = path;
    tensor.axes = order ? *order : value.axes;
    tensor.dtype = statement.body->type;
    tensor.span = span;
    statement.out = graph_.tensors.push_back(std::move(tensor));
    const TensorId out = statement.out;
    graph_.statements.push_back(std::move(statement));
    return out;
}

TensorValue Elaborator::settled(TensorValue value, const Span& span) {
    if (value.pending.empty()) {
        return value;
    }
    const std::string path = unique_path(binding_ + "." + value.pending);
    return read(emit(std::move(value), path, span));
}

TensorValue Elaborator::read(TensorId tensor) const {
    const Tensor& t = graph_.tensors[tensor];
    return {access(tensor.value, t.dtype, t.axes), t.axes, Weak::No, {}, Reduce::None, {}};
}

TensorId Elaborator::whole_tensor(const TensorValue& value) const {
    if (!value.pending.empty() || value.body->op != ExprOp::Access || value.body->otherwise) {
        return {};
    }
    const TensorId tensor(value.body->slot);
    const Tensor& t = graph_.tensors[tensor];
    for (size_t i = 0; i < t.axes.size(); ++i) {
        const Expr& index = *value.body->args[i];
        if (index.op != ExprOp::Iota || index.axis != t.axes[i]) {
            return {};
        }
    }
    return t.axes == value.axes ? tensor : TensorId();
}

} // namespace sspc::elaboration
