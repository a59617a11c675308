// Prints the expressions of the `.sspd` text.
#include "ir/program/sspd_expr.h"

#include "ir/program/sspd_words.h"
#include "ir/support/format.h"

#include <algorithm>
#include <cmath>

namespace sspc::sspd {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class ExprPrinter {
public:
    ExprPrinter(const Program& program, const Class& device_class, const std::vector<BufferId>& reads)
        : program_(program), class_(device_class), reads_(reads) {}

    std::string print(const ExprPtr& expr, int level) const {
        if (!expr) {
            return "?";
        }
        const Expr& e = *expr;
        if (e.op == ExprOp::Constant) {
            return constant_text(e);
        }
        const DType usual = e.op == ExprOp::Access ? operand_type(e.slot) : usual_type(e.op, e.args);
        const bool typed = e.op != ExprOp::Cast && e.op != ExprOp::Random && usual != e.type;
        if (typed) {
            return format("({0}):{1}", untyped(e, 0), word(types, e.type));
        }
        return untyped(e, level);
    }

    /// Indices: a bare axis name is its coordinate.
    std::string index_text(const std::vector<ExprPtr>& indices) const {
        std::string text;
        for (size_t i = 0; i < indices.size(); ++i) {
            text += (i > 0 ? ", " : "") + (is_iota(indices[i]) ? axis_text(indices[i]->axis) : print(indices[i], 0));
        }
        return text;
    }

private:
    std::string constant_text(const Expr& e) const {
        if (e.type == DType::Bool && (e.number == 0 || e.number == 1)) {
            return e.number != 0 ? "true" : "false";
        }
        const bool integer = is_integer(e.type) && std::nearbyint(e.number) == e.number &&
                             std::abs(e.number) < 9e15 && !(e.number == 0 && std::signbit(e.number));
        const std::string text = number_text(e.number, integer);
        return e.type == (integer ? DType::I64 : DType::F32) ? text : format("{0}:{1}", text, word(types, e.type));
    }

    std::string untyped(const Expr& e, int level) const {
        for (const Infix& sign : infix) {
            if (sign.op == e.op && e.args.size() == 2) {
                const std::string text = format("{0} {1} {2}", print(e.args[0], sign.level), sign.sign,
                                                print(e.args[1], sign.level + 1));
                return sign.level < level ? "(" + text + ")" : text;
            }
        }
        if (e.op == ExprOp::Access) {
            return access_text(e);
        }
        if (e.op == ExprOp::Iota) {
            return format("iota({0})", axis_text(e.axis));
        }
        if (e.op == ExprOp::Step) {
            return "step";
        }
        if (e.op == ExprOp::Random) {
            return format("draw({0}, {1}, {2}, {3}; {4})", word(draws, e.draw), word(types, e.type),
                          number_text(e.number, false), quoted(e.path), index_text(e.args));
        }
        std::string text = std::string(word(calls, e.op)) + "(";
        if (e.op == ExprOp::Cast) {
            text = std::string(word(types, e.type)) + "(";
        }
        for (size_t i = 0; i < e.args.size(); ++i) {
            text += (i > 0 ? ", " : "") + print(e.args[i], 0);
        }
        return text + ")";
    }

    std::string access_text(const Expr& e) const {
        const size_t slot = static_cast<size_t>(e.slot);
        if (e.slot < 0 || slot >= reads_.size() || !class_.buffers.contains(reads_[slot])) {
            return "?";
        }
        const Buffer& buffer = class_.buffers[reads_[slot]];
        std::string text = "%" + name_text(buffer.name);
        if (std::find(reads_.begin(), reads_.end(), reads_[slot]) != reads_.begin() + e.slot) {
            text += "$" + std::to_string(e.slot);
        }
        bool plain = e.args.size() == buffer.axes.size() && !e.otherwise;
        for (size_t i = 0; plain && i < e.args.size(); ++i) {
            plain = is_iota(e.args[i]) && e.args[i]->axis == buffer.axes[i];
        }
        if (plain) {
            return text;
        }
        text += "(" + index_text(e.args);
        if (e.otherwise) {
            text += " else " + print(e.otherwise, 0);
        }
        return text + ")";
    }

    static bool is_iota(const ExprPtr& e) { return e && e->op == ExprOp::Iota && e->type == DType::I64; }
    static std::string quoted(const std::string& text) {
        const std::string name = name_text(text);
        return name.empty() || name[0] != '"' ? "\"" + name + "\"" : name;
    }
    std::string axis_text(AxisId axis) const {
        return program_.axes.contains(axis) ? name_text(program_.axes[axis].name) : "?";
    }
    DType operand_type(int slot) const {
        const size_t index = static_cast<size_t>(slot);
        return slot >= 0 && index < reads_.size() && class_.buffers.contains(reads_[index])
                   ? class_.buffers[reads_[index]].dtype
                   : DType::F32;
    }

    const Program& program_;
    const Class& class_;
    const std::vector<BufferId>& reads_;
};

void collect_slots(const ExprPtr& expr, std::vector<int>& slots) {
    if (!expr) {
        return;
    }
    if (expr->op == ExprOp::Access) {
        slots.push_back(expr->slot);
    }
    for (const ExprPtr& arg : expr->args) {
        collect_slots(arg, slots);
    }
    collect_slots(expr->otherwise, slots);
}

} // namespace

bool is_bare(std::string_view name) {
    if (name.empty() || !is_letter(name[0])) {
        return false;
    }
    for (size_t i = 0; i < name.size(); ++i) {
        const char c = name[i];
        if (c == '[') {
            size_t j = i + 1;
            while (j < name.size() && is_digit(name[j])) {
                ++j;
            }
            if (j == i + 1 || j >= name.size() || name[j] != ']') {
                return false;
            }
            i = j;
        } else if (!is_letter(c) && !is_digit(c) && c != '.' && c != '@' && c != '#') {
            return false;
        }
    }
    return true;
}

std::string name_text(std::string_view name) {
    if (is_bare(name)) {
        return std::string(name);
    }
    std::string text = "\"";
    for (const char c : name) {
        if (c == '"' || c == '\\') {
            text += '\\';
        }
        if (c == '\n') {
            text += "\\n";
        } else {
            text += c;
        }
    }
    return text + "\"";
}

std::string number_text(double value, bool is_integer) {
    if (std::isnan(value)) {
        return "nan";
    }
    if (std::isinf(value)) {
        return value > 0 ? "inf" : "-inf";
    }
    if (is_integer) {
        return std::to_string(static_cast<int64_t>(value));
    }
    std::string text = to_text(value);
    if (text.find_first_of(".e") == std::string::npos) {
        text += ".0";
    }
    return text;
}

int arity(ExprOp op) {
    switch (op) {
    case ExprOp::Mod:
    case ExprOp::Pow:
    case ExprOp::Min:
    case ExprOp::Max:
    case ExprOp::FloorDiv:
        return 2;
    case ExprOp::Where:
        return 3;
    case ExprOp::Iota:
    case ExprOp::Step:
    case ExprOp::Random:
    case ExprOp::Access:
    case ExprOp::Constant:
        return -1;
    default:
        return 1;
    }
}

DType usual_type(ExprOp op, const std::vector<ExprPtr>& args) {
    switch (op) {
    case ExprOp::Iota:
    case ExprOp::Step:
    case ExprOp::FloorDiv:
        return DType::I64;
    case ExprOp::Not:
    case ExprOp::IsNan:
    case ExprOp::Eq:
    case ExprOp::Ne:
    case ExprOp::Lt:
    case ExprOp::Le:
    case ExprOp::Gt:
    case ExprOp::Ge:
    case ExprOp::And:
    case ExprOp::Or:
        return DType::Bool;
    default:
        break;
    }
    // The float operand's type decides; of two equal kinds the first.
    const size_t first = op == ExprOp::Where && args.size() > 1 ? 1 : 0;
    DType type = args.size() > first && args[first] ? args[first]->type : DType::F32;
    for (size_t i = first; i < args.size(); ++i) {
        if (args[i] && !is_float(type) && is_float(args[i]->type)) {
            type = args[i]->type;
        }
    }
    return type;
}

std::string expr_text(const Program& program, const Class& device_class, const std::vector<BufferId>& reads,
                      const ExprPtr& expr) {
    return ExprPrinter(program, device_class, reads).print(expr, 0);
}

std::string indices_text(const Program& program, const Class& device_class, const std::vector<BufferId>& reads,
                         const std::vector<ExprPtr>& indices) {
    return ExprPrinter(program, device_class, reads).index_text(indices);
}

std::vector<BufferId> reads_in_order(const std::vector<BufferId>& reads, const std::vector<ExprPtr>& exprs) {
    std::vector<int> slots;
    for (const ExprPtr& expr : exprs) {
        collect_slots(expr, slots);
    }
    std::vector<BufferId> order;
    for (const int slot : slots) {
        if (slot >= 0 && static_cast<size_t>(slot) < reads.size() &&
            std::find(order.begin(), order.end(), reads[static_cast<size_t>(slot)]) == order.end()) {
            order.push_back(reads[static_cast<size_t>(slot)]);
        }
    }
    return order;
}

} // namespace sspc::sspd
