// Writes the function object of one kernel: index variables, loads, the members' values in order, stores.
#include "backend/emit/expression.h"
#include "backend/emit/kernel.h"
#include "backend/emit/names.h"
#include "ir/support/check.h"
#include "ir/support/format.h"

#include <algorithm>
#include <set>

namespace sspc::backend {
namespace {

using Group = std::vector<AxisId>; ///< adjacent axes that run as one loop

bool has(const std::vector<AxisId>& axes, AxisId axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

/// One way a kernel touches a buffer: an index for each of the buffer's axes.
struct Touch {
    BufferId buffer;
    std::vector<ExprPtr> index;
};

/// Lines of one loop body, and what is known there.
struct Scope {
    std::string indent;
    std::string lines;
    std::map<std::string, std::string> loads; ///< place in memory → local
    std::map<BufferId, std::string> values;   ///< of buffers the kernel writes
    Scope* outer = nullptr;
    void line(const std::string& text) { lines += indent + text + "\n"; }
};

class Writer {
public:
    Writer(const KernelContext& context, const std::vector<const Compute*>& group, const KernelShape& shape)
        : context_(context), parts_(*context.parts), class_(*context.device_class), group_(group), shape_(shape) {
        for (const Compute* member : group_) {
            written_.insert(member->out);
        }
    }

    KernelSource write() {
        find_loops();
        switch (shape_.form) {
        case KernelForm::Rows: write_rows(); break;
        case KernelForm::Columns: write_columns(); break;
        default: write_elements(); break;
        }
        source_.name = kernel_name(group_);
        source_.comment = kernel_comment(parts_.program(), class_, group_);
        return std::move(source_);
    }

private:
    // ---- loops

    bool stored(BufferId buffer) const { return class_.buffers[buffer].space != Space::Register; }

    void find_loops() {
        std::vector<Touch> touches;
        std::set<AxisId> bare;
        for (const Compute* member : group_) {
            if (stored(member->out)) {
                Touch touch{member->out, member->scatter};
                if (member->scatter.empty()) {
                    for (const AxisId axis : class_.buffers[member->out].axes) {
                        touch.index.push_back(iota(axis));
                    }
                }
                touches.push_back(std::move(touch));
            }
            collect(*member, member->body, touches, bare);
            for (const ExprPtr& index : member->scatter) {
                if (index->op != ExprOp::Iota) {
                    collect(*member, index, touches, bare);
                }
            }
        }
        for (const Touch& touch : touches) {
            for (const ExprPtr& index : touch.index) {
                if (index->op != ExprOp::Iota) {
                    for (const AxisId axis : axes_of(index)) {
                        bare.insert(axis);
                    }
                }
            }
        }
        if (shape_.form == KernelForm::Elementwise) {
            order_by_memory();
        }
        outer_ = collapse(shape_.outer, touches, bare);
        inner_ = collapse(shape_.inner, touches, bare);
        for (size_t i = 0; i < outer_.size(); ++i) {
            name_loop(outer_[i], "i" + to_text(i));
        }
        for (size_t i = 0; i < inner_.size(); ++i) {
            name_loop(inner_[i], "j" + to_text(i));
        }
        extent(outer_); // sizes come first among the arguments
        extent(inner_);
    }

    /// Elementwise kernels run in the memory order of what they store.
    void order_by_memory() {
        for (const Compute* member : group_) {
            if (stored(member->out)) {
                shape_.outer = class_.buffers[member->out].axes;
                return;
            }
        }
    }

    void collect(const Compute& member, const ExprPtr& expr, std::vector<Touch>& touches, std::set<AxisId>& bare) {
        if (expr->op == ExprOp::Iota) {
            bare.insert(expr->axis);
        }
        if (expr->op == ExprOp::Access) {
            const BufferId buffer = member.reads[static_cast<size_t>(expr->slot)];
            if (stored(buffer)) {
                touches.push_back({buffer, expr->args});
            }
            for (const ExprPtr& index : expr->args) {
                if (index->op != ExprOp::Iota) {
                    collect(member, index, touches, bare);
                }
            }
            if (expr->otherwise) {
                collect(member, expr->otherwise, touches, bare);
            }
            return;
        }
        for (const ExprPtr& arg : expr->args) {
            collect(member, arg, touches, bare);
        }
    }

    std::vector<Group> collapse(const std::vector<AxisId>& axes, const std::vector<Touch>& touches,
                                const std::set<AxisId>& bare) {
        std::vector<Group> groups;
        for (const AxisId axis : axes) {
            const bool joins = !groups.empty() && bare.count(axis) == 0 && bare.count(groups.back().back()) == 0 &&
                               std::all_of(touches.begin(), touches.end(), [&](const Touch& touch) {
                                   return adjacent(touch, groups.back().back(), axis);
                               });
            if (joins) {
                groups.back().push_back(axis);
            } else {
                groups.push_back({axis});
            }
        }
        return groups;
    }

    /// `second` follows `first` directly in the buffer and covers its whole local part, or the buffer has neither.
    bool adjacent(const Touch& touch, AxisId first, AxisId second) const {
        int at_first = -1;
        int at_second = -1;
        for (size_t i = 0; i < touch.index.size(); ++i) {
            if (touch.index[i]->op == ExprOp::Iota) {
                at_first = touch.index[i]->axis == first ? static_cast<int>(i) : at_first;
                at_second = touch.index[i]->axis == second ? static_cast<int>(i) : at_second;
            }
        }
        if (at_first < 0 && at_second < 0) {
            return true;
        }
        return at_first >= 0 && at_second == at_first + 1 &&
               buffer_key(touch.buffer, static_cast<size_t>(at_second)).cutters == loop_key(second).cutters &&
               loop_key(second).chunks == 1 && same_size(touch.buffer, static_cast<size_t>(at_second), second);
    }

    bool same_size(BufferId buffer, size_t dim, AxisId axis) const {
        const auto& axes = parts_.program().axes;
        return axes[class_.buffers[buffer].axes[dim]].size == axes[axis].size;
    }

    PartKey loop_key(AxisId axis) const { return parts_.key(group_[0]->cut, axis, group_[0]->chunk); }
    PartKey buffer_key(BufferId buffer, size_t dim) const {
        const Buffer& b = class_.buffers[buffer];
        return parts_.key(b.layout, b.axes[dim]);
    }

    void name_loop(const Group& group, const std::string& key) {
        std::string hint;
        for (const AxisId axis : group) {
            hint += (hint.empty() ? "" : "_") + parts_.program().axes[axis].name;
            loop_of_[axis] = key;
        }
        source_.hints[key] = "i_" + hint;
        last_of_[key] = group.back();
    }

    Size loop_size(const Group& group) {
        Size size;
        for (const AxisId axis : group) {
            size = size * parts_.size(loop_key(axis));
        }
        return size;
    }

    std::string extent(const std::vector<Group>& groups) {
        std::string text;
        for (const Group& group : groups) {
            std::string hint;
            for (const AxisId axis : group) {
                hint += "_" + parts_.program().axes[axis].name;
            }
            text += (text.empty() ? "" : ", ") + size_argument(loop_size(group), "n" + hint);
        }
        return "ssp::extent(" + text + ")";
    }

    std::string loop_parameters(const std::vector<Group>& groups, const std::string& prefix) const {
        std::string text;
        for (size_t i = 0; i < groups.size(); ++i) {
            text += (text.empty() ? "[[maybe_unused]] int64_t " : ", [[maybe_unused]] int64_t ") +
                    open_name(prefix + to_text(i));
        }
        return text;
    }

    // ---- arguments

    std::string argument(const std::string& type, const std::string& hint, const std::string& value,
                         const std::string& origin = "") {
        for (const KernelArgument& known : source_.arguments) {
            if (known.type == type && known.value == value && known.origin == origin) {
                return open_name(known.key);
            }
        }
        const std::string key = "a" + to_text(source_.arguments.size());
        source_.arguments.push_back({key, type, hint, value, origin});
        return open_name(key);
    }

    std::string size_argument(const Size& size, const std::string& hint) {
        std::string origin;
        for (const std::string& axis : size.origin()) {
            origin += axis + " ";
        }
        return size.is_one() ? "1" : argument("int64_t", hint, size.text(), origin);
    }

    std::string error_number(const Compute& compute) {
        return argument("int64_t", "statement", to_text(context_.checked(compute)));
    }

    // ---- memory

    std::vector<Size> strides(BufferId buffer) {
        const size_t count = class_.buffers[buffer].axes.size();
        std::vector<Size> strides(count);
        for (size_t i = count; i-- > 1;) {
            strides[i - 1] = strides[i] * parts_.size(buffer_key(buffer, i));
        }
        return strides;
    }

    /// The pointer argument for a touch; offsets of plain axes whose part is not the buffer's go into its value.
    std::string pointer(const Touch& touch) {
        const Buffer& buffer = class_.buffers[touch.buffer];
        std::string value = context_.pointer(touch.buffer);
        const auto stride = strides(touch.buffer);
        for (size_t i = 0; i < touch.index.size(); ++i) {
            if (touch.index[i]->op != ExprOp::Iota || loop_of_.count(touch.index[i]->axis) == 0) {
                continue;
            }
            const std::string mine = parts_.begin(loop_key(touch.index[i]->axis));
            const std::string theirs = parts_.begin(buffer_key(touch.buffer, i));
            const PartKey a = loop_key(touch.index[i]->axis);
            const PartKey b = buffer_key(touch.buffer, i);
            if (a.cutters == b.cutters && a.chunks == b.chunks) {
                continue;
            }
            const std::string distance = theirs == "0" ? mine : "(" + mine + " - " + theirs + ")";
            value += " + " + distance + (stride[i].is_one() ? "" : " * " + stride[i].text());
        }
        const bool written = written_.count(touch.buffer) != 0;
        return argument((written ? "" : "const ") + storage_type(buffer.dtype) + "*", short_name(buffer.name), value);
    }

    /// The element's offset, and a condition (empty: always) under which this device holds it.
    struct Place {
        std::string offset;
        std::string condition;
        std::string inside; ///< of an access with `otherwise`: the index lies on the axis
        bool inner = false; ///< depends on an inner loop
    };

    Place place(const Compute& member, const Touch& touch, bool has_otherwise, Scope& scope) {
        Place place;
        const auto stride = strides(touch.buffer);
        std::map<std::string, Size> of_loop;
        std::vector<std::string> order;
        std::string others;
        const auto add_term = [&](const std::string& index, const Size& by) {
            const std::string factor = size_argument(by, "stride");
            others += (others.empty() ? "" : " + ") + (factor == "1" ? index : index + " * " + factor);
        };
        for (size_t i = 0; i < touch.index.size(); ++i) {
            const ExprPtr& index = touch.index[i];
            if (index->op == ExprOp::Iota && loop_of_.count(index->axis) != 0 && fits(touch.buffer, i, index->axis)) {
                const std::string& loop = loop_of_.at(index->axis);
                if (of_loop.count(loop) == 0) {
                    order.push_back(loop);
                }
                of_loop[loop] = stride[i]; // the last axis of the loop wins: it is the innermost
                place.inner = place.inner || loop[0] == 'j';
                continue;
            }
            add_term(computed_index(member, touch, i, has_otherwise, scope, place), stride[i]);
        }
        for (const std::string& loop : order) {
            const std::string factor = size_argument(of_loop.at(loop), "stride_" + source_.hints.at(loop).substr(2));
            const std::string term = open_name(loop) + (factor == "1" ? "" : " * " + factor);
            place.offset += (place.offset.empty() ? "" : " + ") + term;
        }
        if (!others.empty()) {
            place.offset += (place.offset.empty() ? "" : " + ") + others;
        }
        if (place.offset.empty()) {
            place.offset = "0";
        }
        return place;
    }

    /// The loop's part lies within the buffer's (a gathered axis cut over devices does not come here).
    bool fits(BufferId buffer, size_t dim, AxisId axis) const {
        const auto& axes = parts_.program().axes;
        return axes[class_.buffers[buffer].axes[dim]].size == axes[axis].size ||
               buffer_key(buffer, dim).cutters.empty();
    }

    std::string computed_index(const Compute& member, const Touch& touch, size_t dim, bool has_otherwise, Scope& scope,
                               Place& place) {
        const ExprPtr& index = touch.index[dim];
        const AxisId axis = class_.buffers[touch.buffer].axes[dim];
        const auto& axes = parts_.program().axes;
        for (const AxisId used : axes_of(index)) {
            place.inner = place.inner || (loop_of_.count(used) != 0 && loop_of_.at(used)[0] == 'j');
        }
        std::string text = value_text(member, index, scope);
        if (index->type != DType::I64) {
            text = "int64_t(" + text + ")";
        }
        const auto range = range_of(index, axes);
        const bool sure = range && range->first >= 0 && range->second < axes[axis].size;
        if (!sure) {
            text = local(scope, "int64_t", text, "index");
            const std::string size = argument("int64_t", "size", to_text(axes[axis].size));
            if (has_otherwise) {
                place.inside += (place.inside.empty() ? "" : " & ") +
                                format("({0} >= 0) & ({0} < {1})", text, size);
            } else {
                text = local(scope, "int64_t",
                             format("ssp::checked({0}, {1}, {2}, {3})", text, size,
                                    argument("int64_t*", "error", "error"), error_number(member)),
                             "index");
            }
        }
        const PartKey part = buffer_key(touch.buffer, dim);
        const std::string begin = parts_.begin(part);
        if (begin != "0") {
            text = local(scope, "int64_t", format("{0} - {1}", text, argument("int64_t", "begin", begin)), "index");
            place.condition += (place.condition.empty() ? "" : " & ") +
                               format("({0} >= 0) & ({0} < {1})", text, size_argument(parts_.size(part), "held"));
        }
        return text.find(' ') == std::string::npos ? text : "(" + text + ")";
    }

    // ---- values

    std::string local(Scope& scope, const std::string& type, const std::string& text, const std::string& hint) {
        const std::string key = "v" + to_text(++locals_);
        source_.hints[key] = hint;
        scope.line("const " + type + " " + open_name(key) + " = " + text + ";");
        return open_name(key);
    }

    std::string value_text(const Compute& member, const ExprPtr& expr, Scope& scope) {
        Leaves leaves;
        leaves.access = [&](const Expr& access) { return read(member, access, scope); };
        leaves.iota = [&](AxisId axis) {
            const std::string begin = parts_.begin(loop_key(axis));
            const std::string at = open_name(loop_of_.at(axis));
            return begin == "0" ? at
                                : "(" + argument("int64_t", "first_" + parts_.program().axes[axis].name, begin) +
                                      " + " + at + ")";
        };
        leaves.step = [&] { return argument("int64_t", "step", "step"); };
        leaves.random = [&](const Expr& draw) { return random(member, draw, scope); };
        leaves.bind = [&](const std::string& type, const std::string& text) { return local(scope, type, text, "t"); };
        return ExpressionText(std::move(leaves)).text(expr);
    }

    std::string random(const Compute& member, const Expr& draw, Scope& scope) {
        const auto& axes = parts_.program().axes;
        std::string index;
        for (const ExprPtr& arg : draw.args) {
            const std::string at = value_text(member, arg, scope);
            index = index.empty() ? at : "(" + index + " * " + to_text(axes[arg->axis].size) + " + " + at + ")";
        }
        const std::string key = argument("uint64_t", "key", format("ssp::path_hash(\"{0}\")", draw.path));
        const std::string place = argument("uint64_t", "seed", "seed") + ", " + argument("int64_t", "step", "step") +
                                  ", " + key + ", " + (index.empty() ? std::string("0") : index);
        const std::string type = compute_type(draw.type);
        switch (draw.draw) {
        case DrawKind::Uniform: return type + "(ssp::uniform01(" + place + "))";
        case DrawKind::Normal: return type + "(ssp::normal01(" + place + "))";
        case DrawKind::Bernoulli:
            return format("{0}(ssp::bernoulli({1}, {2}))", type, constant_text(draw.number, DType::F64), place);
        }
        SSPC_UNREACHABLE("draw");
    }

    std::string read(const Compute& member, const Expr& access, Scope& scope) {
        const BufferId buffer = member.reads[static_cast<size_t>(access.slot)];
        if (written_.count(buffer) != 0) {
            if (const auto value = own_value(member, buffer, scope)) {
                return *value;
            }
        }
        const DType dtype = class_.buffers[buffer].dtype;
        const std::string type = compute_type(access.type);
        Scope index_lines{scope.indent, "", {}, {}, &scope};
        Touch touch{buffer, access.args};
        const Place at = place(member, touch, access.otherwise != nullptr, index_lines);
        const std::string element = pointer(touch) + "[" + at.offset + "]";
        // What does not depend on the inner loops is loaded before them, unless this kernel writes it.
        Scope& home = !at.inner && scope.outer && written_.count(buffer) == 0 && index_lines.lines.empty()
                          ? *scope.outer
                          : scope;
        home.lines += index_lines.lines;
        if (const auto found = home.loads.find(element); found != home.loads.end()) {
            return found->second;
        }
        std::string text = compute_type(dtype) == type && storage_type(dtype) == type ? element
                                                                                       : type + "(" + element + ")";
        if (!at.condition.empty()) {
            text = format("({0}) ? {1} : {2}", at.condition, text, constant_text(0, access.type));
        }
        if (access.otherwise) {
            std::string other = value_text(member, access.otherwise, scope);
            if (!at.condition.empty()) {
                // The value outside the axis is given by the device that holds the axis's beginning, once.
                other = format("({0} ? {1} : {2})", holds_beginning(touch), other, constant_text(0, access.type));
            }
            text = format("({0}) ? ({1}) : {2}", at.inside.empty() ? "true" : at.inside, text, other);
        }
        const std::string name = local(home, type, text, short_name(class_.buffers[buffer].name));
        home.loads[element] = name;
        return name;
    }

    std::string holds_beginning(const Touch& touch) {
        std::string text;
        for (size_t i = 0; i < touch.index.size(); ++i) {
            const std::string begin = parts_.begin(buffer_key(touch.buffer, i));
            if (touch.index[i]->op != ExprOp::Iota && begin != "0") {
                text += (text.empty() ? "" : " & ") + format("({0} == 0)", argument("int64_t", "begin", begin));
            }
        }
        return text.empty() ? "true" : text;
    }

    /// The value of a buffer that this kernel has written before, at the present point.
    std::optional<std::string> own_value(const Compute& reader, BufferId buffer, Scope& scope) {
        for (Scope* at = &scope; at; at = at->outer) {
            if (const auto found = at->values.find(buffer); found != at->values.end()) {
                return found->second;
            }
        }
        const auto pending = elements_.find(buffer);
        if (pending == elements_.end() || !precedes(*pending->second, reader)) {
            return std::nullopt; // not written yet, or in memory
        }
        return element_value(*pending->second, scope);
    }

    bool precedes(const Compute& writer, const Compute& reader) const {
        const auto at = [&](const Compute& member) { return std::find(group_.begin(), group_.end(), &member); };
        return at(writer) < at(reader);
    }

    /// A stored narrow type rounds, so that the value does not depend on what is fused.
    std::string rounded(const Compute& member, const std::string& text) const {
        const DType dtype = class_.buffers[member.out].dtype;
        if (storage_type(dtype) == compute_type(dtype)) {
            return text;
        }
        return format("float({0}({1}))", storage_type(dtype), text);
    }

    std::string out_element(const Compute& member, Scope& scope) {
        Touch touch{member.out, {}};
        for (const AxisId axis : class_.buffers[member.out].axes) {
            touch.index.push_back(iota(axis));
        }
        const std::string offset = place(member, touch, false, scope).offset;
        return pointer(touch) + "[" + offset + "]";
    }

    std::string stored_text(const Compute& member, const std::string& value) const {
        const DType dtype = class_.buffers[member.out].dtype;
        const std::string type = storage_type(dtype);
        return type == compute_type(dtype) ? value : type + "(" + value + ")";
    }

    /// Computes a member's value at the present point (with what was there before, if it accumulates).
    std::string element_value(const Compute& member, Scope& scope) {
        const DType dtype = class_.buffers[member.out].dtype;
        std::string text = value_text(member, member.body, scope);
        const std::string type = compute_type(dtype);
        if (compute_type(member.body->type) != type) {
            text = type + "(" + text + ")";
        }
        if (member.accumulate) {
            text = type + "(" + out_element(member, scope) + ") + " + text;
        }
        const std::string name = local(scope, type, rounded(member, text), short_name(class_.buffers[member.out].name));
        scope.values[member.out] = name;
        return name;
    }

    // ---- forms

    std::string signature(const std::string& first, const std::string& rest) const {
        return first + (first.empty() || rest.empty() ? "" : ", ") + rest;
    }

    void write_elements() {
        Scope scope{"        ", "", {}, {}, nullptr};
        for (const Compute* member : group_) {
            if (!member->scatter.empty()) {
                write_scatter(*member, scope);
                continue;
            }
            const std::string value = element_value(*member, scope);
            if (stored(member->out)) {
                scope.line(out_element(*member, scope) + " = " + stored_text(*member, value) + ";");
            }
        }
        source_.members = "    SSP_KERNEL void operator()(" + loop_parameters(outer_, "i") + ") const {\n" + scope.lines +
                          "    }\n";
        const bool scatters = shape_.form == KernelForm::Scatter;
        source_.launch = std::string(scatters ? "ssp::launch_scatter" : "ssp::launch") + "(stream, " +
                         extent(outer_) + ", $K);";
    }

    void write_scatter(const Compute& member, Scope& scope) {
        const std::string value = value_text(member, member.body, scope);
        Touch touch{member.out, member.scatter};
        const Place at = place(member, touch, false, scope);
        const std::string type = storage_type(class_.buffers[member.out].dtype);
        const std::string add = format("ssp::add({0} + {1}, {2}({3}));", pointer(touch), at.offset, type, value);
        if (at.condition.empty()) {
            scope.line(add);
        } else {
            scope.line("if (" + at.condition + ") {");
            scope.line("    " + add);
            scope.line("}");
        }
    }

    void write_columns() {
        const Compute& member = *group_[0];
        Scope term{"        ", "", {}, {}, nullptr};
        const std::string type = compute_type(member.body->type);
        const std::string body = value_text(member, member.body, term);
        Scope store{"        ", "", {}, {}, nullptr};
        const std::string element = out_element(member, store);
        const std::string out_type = compute_type(class_.buffers[member.out].dtype);
        std::string value = member.accumulate ? out_type + "(" + element + ") + value" : "value";
        if (member.accumulate || out_type != type) {
            value = out_type + "(" + value + ")";
        }
        store.line(element + " = " + stored_text(member, value) + ";");
        source_.members =
            format("    using Value = {0};\n    static constexpr ssp::Reduction reduction = {1};\n", type,
                   reduction(member)) +
            "    SSP_KERNEL Value term(" + signature(loop_parameters(outer_, "i"), loop_parameters(inner_, "j")) +
            ") const {\n" + term.lines + "        return " + body + ";\n    }\n    SSP_KERNEL void store(" +
            signature(loop_parameters(outer_, "i"), "Value value") + ") const {\n" + store.lines + "    }\n";
        source_.launch = "ssp::launch_columns(stream, " + extent(outer_) + ", " + extent(inner_) + ", $K);";
    }

    static std::string reduction(const Compute& member) {
        switch (member.reduce) {
        case Reduce::Sum: return "ssp::Reduction::Sum";
        case Reduce::Max: return "ssp::Reduction::Max";
        case Reduce::Min: return "ssp::Reduction::Min";
        case Reduce::Prod: return "ssp::Reduction::Prod";
        case Reduce::None: break;
        }
        SSPC_UNREACHABLE("reduction");
    }

    bool is_row_value(const Compute& member) const {
        const auto& axes = class_.buffers[member.out].axes;
        return std::none_of(shape_.inner.begin(), shape_.inner.end(), [&](AxisId axis) { return has(axes, axis); });
    }

    void write_rows() {
        Scope row{"        ", "", {}, {}, nullptr};
        for (const Compute* member : group_) {
            if (!is_row_value(*member)) {
                elements_[member->out] = member;
                if (stored(member->out)) {
                    pending_.push_back(member);
                }
                continue;
            }
            write_row_value(*member, row);
        }
        flush(row);
        source_.members = "    template <typename Row>\n    SSP_KERNEL void operator()(" +
                          signature("[[maybe_unused]] const Row& row", loop_parameters(outer_, "i")) + ") const {\n" +
                          row.lines + "    }\n";
        source_.launch = "ssp::launch_rows(stream, " + extent(outer_) + ", $K);";
    }

    void write_row_value(const Compute& member, Scope& row) {
        const DType dtype = class_.buffers[member.out].dtype;
        const std::string out_type = compute_type(dtype);
        std::string text;
        if (member.reduce == Reduce::None) {
            text = value_text(member, member.body, row);
        } else {
            if (needs_pending(member)) {
                flush(row);
            }
            // What was there before is read ahead of the reduction, which joins the threads of a row.
            std::string before;
            if (member.accumulate) {
                before = local(row, out_type, out_type + "(" + out_element(member, row) + ")", "before");
            }
            Scope loop{row.indent + "    ", "", {}, {}, &row};
            const std::string body = value_text(member, member.body, loop);
            const std::string type = compute_type(member.body->type);
            const std::string head = format("row.template reduce<{0}, {1}>({2}, [&]({3}) {\n", reduction(member), type,
                                            extent(inner_), loop_parameters(inner_, "j"));
            text = head + loop.lines + loop.indent + "return " + type + "(" + body + ");\n" + row.indent + "})";
            if (member.accumulate) {
                text = before + " + " + text;
            }
        }
        if (member.reduce == Reduce::None && member.accumulate) {
            text = out_type + "(" + out_element(member, row) + ") + " + text;
        }
        const std::string name =
            local(row, out_type, rounded(member, compute_type(member.body->type) == out_type ? text : out_type + "(" + text + ")"),
                  short_name(class_.buffers[member.out].name));
        row.values[member.out] = name;
        if (stored(member.out)) {
            const std::string element = out_element(member, row);
            row.line("row.once([&] { " + element + " = " + stored_text(member, name) + "; });");
        }
    }

    /// Whether a reduction reads, perhaps through values that are not stored, an element that waits to be stored.
    bool needs_pending(const Compute& member) const {
        for (const BufferId read : member.reads) {
            const auto found = elements_.find(read);
            if (found == elements_.end()) {
                continue;
            }
            if (std::find(pending_.begin(), pending_.end(), found->second) != pending_.end() ||
                (found->second != &member && needs_pending(*found->second))) {
                return true;
            }
        }
        return false;
    }

    /// One loop over the inner axes stores all elements that wait.
    void flush(Scope& row) {
        if (pending_.empty()) {
            return;
        }
        Scope loop{row.indent + "    ", "", {}, {}, &row};
        for (const Compute* member : pending_) {
            const auto known = loop.values.find(member->out);
            const std::string value = known != loop.values.end() ? known->second : element_value(*member, loop);
            loop.line(out_element(*member, loop) + " = " + stored_text(*member, value) + ";");
        }
        row.line("row.each(" + extent(inner_) + ", [&](" + loop_parameters(inner_, "j") + ") {");
        row.lines += loop.lines;
        row.line("});");
        for (const Compute* member : pending_) {
            elements_.erase(member->out); // from now on it is read from memory
        }
        pending_.clear();
    }

    const KernelContext& context_;
    Parts& parts_;
    const Class& class_;
    const std::vector<const Compute*>& group_;
    KernelShape shape_;
    KernelSource source_;
    std::vector<Group> outer_, inner_;
    std::map<AxisId, std::string> loop_of_;
    std::map<std::string, AxisId> last_of_;
    std::set<BufferId> written_;
    std::map<BufferId, const Compute*> elements_; ///< of a row kernel: written elements that are not in memory
    std::vector<const Compute*> pending_;
    int locals_ = 0;
};

} // namespace

KernelSource kernel_source(const KernelContext& context, const std::vector<const Compute*>& group,
                           const KernelShape& shape) {
    return Writer(context, group, shape).write();
}

} // namespace sspc::backend
