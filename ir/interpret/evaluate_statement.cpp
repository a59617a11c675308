// Runs lane programs over iteration spaces, with a faster way for contractions.
#include "ir/interpret/evaluate_statement.h"

#include "ir/interpret/lane_program.h"
#include "ir/interpret/philox.h"
#include "ir/support/check.h"
#include "ir/support/format.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sspc {
namespace {

constexpr int lanes = 128;
using Register = std::array<double, lanes>;

double floor_mod(double a, double b) {
    const double r = std::fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

double unary(ExprOp op, double x) {
    switch (op) {
    case ExprOp::Neg: return -x;
    case ExprOp::Not: return x == 0;
    case ExprOp::Exp: return std::exp(x);
    case ExprOp::Log: return std::log(x);
    case ExprOp::Sqrt: return std::sqrt(x);
    case ExprOp::Rsqrt: return 1 / std::sqrt(x);
    case ExprOp::Tanh: return std::tanh(x);
    case ExprOp::Sigmoid: return 1 / (1 + std::exp(-x));
    case ExprOp::Erf: return std::erf(x);
    case ExprOp::Sin: return std::sin(x);
    case ExprOp::Cos: return std::cos(x);
    case ExprOp::Abs: return std::fabs(x);
    case ExprOp::Sign: return x > 0 ? 1 : x < 0 ? -1 : x;
    case ExprOp::Floor: return std::floor(x);
    case ExprOp::Ceil: return std::ceil(x);
    case ExprOp::Round: return std::nearbyint(x);
    case ExprOp::IsNan: return std::isnan(x);
    case ExprOp::StopGradient: return x;
    default: SSPC_UNREACHABLE("no unary operation");
    }
}

double binary(ExprOp op, double a, double b) {
    switch (op) {
    case ExprOp::Add: return a + b;
    case ExprOp::Sub: return a - b;
    case ExprOp::Mul: return a * b;
    case ExprOp::Div: return a / b;
    case ExprOp::Mod: return floor_mod(a, b);
    case ExprOp::Pow: return std::pow(a, b);
    case ExprOp::Min: return std::isnan(a) || a < b ? a : b; // NaN passes through
    case ExprOp::Max: return std::isnan(a) || a > b ? a : b;
    case ExprOp::FloorDiv: return std::floor(a / b);
    case ExprOp::Eq: return a == b;
    case ExprOp::Ne: return a != b;
    case ExprOp::Lt: return a < b;
    case ExprOp::Le: return a <= b;
    case ExprOp::Gt: return a > b;
    case ExprOp::Ge: return a >= b;
    case ExprOp::And: return a != 0 && b != 0;
    case ExprOp::Or: return a != 0 || b != 0;
    default: SSPC_UNREACHABLE("no binary operation");
    }
}

double reduced(Reduce reduce, double so_far, double value) {
    switch (reduce) {
    case Reduce::None: return value;
    case Reduce::Sum: return so_far + value;
    case Reduce::Max: return binary(ExprOp::Max, so_far, value);
    case Reduce::Min: return binary(ExprOp::Min, so_far, value);
    case Reduce::Prod: return so_far * value;
    }
    SSPC_UNREACHABLE("no reduction");
}

std::vector<int64_t> strides_of(const std::vector<Interval>& box) {
    std::vector<int64_t> strides(box.size());
    int64_t stride = 1;
    for (size_t i = box.size(); i-- > 0;) {
        strides[i] = stride;
        stride *= box[i].size();
    }
    return strides;
}

int64_t count_of(const std::vector<Interval>& box) {
    int64_t count = 1;
    for (const Interval& each : box) {
        count *= each.size();
    }
    return count;
}

/// offset = base + sum of stride * coordinate, one stride for each axis of the iteration space.
struct LinearOffset {
    int64_t base = 0;
    std::vector<int64_t> strides;
};

class Runner {
public:
    explicit Runner(const Evaluation& evaluation) : e_(evaluation) {
        std::vector<ExprPtr> expressions{e_.body};
        expressions.insert(expressions.end(), e_.scatter.begin(), e_.scatter.end());
        program_ = compile_lanes(expressions);
        registers_.resize(program_.operations.size());
        coordinates_.resize(e_.space.size());
        for (const LaneProgram::Operation& operation : program_.operations) {
            plain_.push_back(operation.plain ? plain_offset(*operation.node) : LinearOffset{});
        }
        for (size_t i = 0; i < program_.operations.size(); ++i) {
            if (program_.operations[i].node->op == ExprOp::Constant) {
                const Expr& node = *program_.operations[i].node;
                registers_[i].fill(computed(node.number, node.type, e_.precision));
            }
        }
        if (e_.scatter.empty()) {
            std::vector<ExprPtr> index;
            for (const AxisId axis : e_.out.axes) {
                index.push_back(iota(axis));
            }
            out_ = linear(index, e_.out.box);
        }
    }

    std::optional<std::string> run() {
        const int64_t total = count_of(e_.ranges);
        for (int64_t first = 0; first < total; first += lanes) {
            const int count = static_cast<int>(std::min<int64_t>(lanes, total - first));
            set_coordinates(first, count);
            for (size_t i = 0; i < program_.operations.size(); ++i) {
                execute(i, count);
                if (!error_.empty()) {
                    return error_;
                }
            }
            write(count);
        }
        return std::nullopt;
    }

private:
    size_t axis_index(AxisId axis) const {
        const auto it = std::find(e_.space.begin(), e_.space.end(), axis);
        SSPC_CHECK(it != e_.space.end(), "an axis outside the iteration space");
        return static_cast<size_t>(it - e_.space.begin());
    }

    LinearOffset linear(const std::vector<ExprPtr>& index, const std::vector<Interval>& box) const {
        LinearOffset offset{0, std::vector<int64_t>(e_.space.size(), 0)};
        const auto strides = strides_of(box);
        for (size_t i = 0; i < index.size(); ++i) {
            offset.strides[axis_index(index[i]->axis)] += strides[i];
            offset.base -= strides[i] * box[i].begin;
        }
        return offset;
    }

    /// Plain accesses of whole axes; `plain` is cleared where an operand is smaller than the axis that indexes it.
    LinearOffset plain_offset(const Expr& node) const {
        return linear(node.args, e_.operands[static_cast<size_t>(node.slot)].box);
    }

    void set_coordinates(int64_t first, int count) {
        for (int lane = 0; lane < count; ++lane) {
            int64_t rest = first + lane;
            for (size_t i = e_.space.size(); i-- > 0;) {
                const int64_t size = e_.ranges[i].size();
                coordinates_[i][static_cast<size_t>(lane)] = e_.ranges[i].begin + rest % size;
                rest /= size;
            }
        }
    }

    int64_t at(const LinearOffset& offset, int lane) const {
        int64_t result = offset.base;
        for (size_t i = 0; i < offset.strides.size(); ++i) {
            result += offset.strides[i] * coordinates_[i][static_cast<size_t>(lane)];
        }
        return result;
    }

    double value(int reg, int lane) const {
        return registers_[static_cast<size_t>(reg)][static_cast<size_t>(lane)];
    }

    void execute(size_t i, int count) {
        const LaneProgram::Operation& operation = program_.operations[i];
        const Expr& node = *operation.node;
        Register& result = registers_[i];
        switch (node.op) {
        case ExprOp::Constant: return;
        case ExprOp::Iota: {
            const auto& coordinate = coordinates_[axis_index(node.axis)];
            std::copy_n(coordinate.begin(), count, result.begin());
            return;
        }
        case ExprOp::Step: result.fill(static_cast<double>(e_.step)); return;
        case ExprOp::Access:
            for (int lane = 0; lane < count; ++lane) {
                result[static_cast<size_t>(lane)] =
                    operation.plain ? e_.operands[static_cast<size_t>(node.slot)]
                                          .data[at(plain_[i], lane)]
                                    : read(operation, lane);
            }
            return;
        case ExprOp::Random:
            for (int lane = 0; lane < count; ++lane) {
                result[static_cast<size_t>(lane)] =
                    computed(random_value(operation, lane), node.type, e_.precision);
            }
            return;
        case ExprOp::Cast:
            for (int lane = 0; lane < count; ++lane) {
                result[static_cast<size_t>(lane)] =
                    stored(value(operation.args[0], lane), node.type, e_.precision);
            }
            return;
        default:
            for (int lane = 0; lane < count; ++lane) {
                result[static_cast<size_t>(lane)] =
                    computed(compute(operation, lane), node.type, e_.precision);
            }
        }
    }

    double compute(const LaneProgram::Operation& operation, int lane) const {
        const auto& args = operation.args;
        if (args.size() == 1) {
            return unary(operation.node->op, value(args[0], lane));
        }
        if (args.size() == 2) {
            return binary(operation.node->op, value(args[0], lane), value(args[1], lane));
        }
        return value(args[0], lane) != 0 ? value(args[1], lane) : value(args[2], lane);
    }

    /// An access by computed indices.
    double read(const LaneProgram::Operation& operation, int lane) {
        const Expr& node = *operation.node;
        const ReadPiece& piece = e_.operands[static_cast<size_t>(node.slot)];
        const auto strides = strides_of(piece.box);
        int64_t offset = 0;
        bool here = true;
        for (size_t i = 0; i < operation.args.size(); ++i) {
            const auto index = static_cast<int64_t>(value(operation.args[i], lane));
            const Axis& axis = (*e_.axes)[piece.axes[i]];
            if (index < 0 || index >= axis.size) {
                if (operation.otherwise >= 0) {
                    return value(operation.otherwise, lane);
                }
                error_ = format("index {0} lies outside `{1}`, whose size is {2}", index,
                                axis.name, axis.size);
                return 0;
            }
            here = here && index >= piece.box[i].begin && index < piece.box[i].end;
            offset += (index - piece.box[i].begin) * strides[i];
        }
        return here ? piece.data[offset] : 0;
    }

    double random_value(const LaneProgram::Operation& operation, int lane) const {
        const Expr& node = *operation.node;
        uint64_t position = 0;
        for (size_t i = 0; i < node.args.size(); ++i) {
            const auto size = static_cast<uint64_t>((*e_.axes)[node.args[i]->axis].size);
            position = position * size + static_cast<uint64_t>(value(operation.args[i], lane));
        }
        return draw(node, e_.seed, e_.step, position);
    }

    void write(int count) {
        const auto body = program_.results[0];
        for (int lane = 0; lane < count; ++lane) {
            const int64_t offset = e_.scatter.empty() ? at(out_, lane) : scatter_offset(lane);
            if (offset >= 0) {
                double& target = e_.out.data[offset];
                target = reduced(e_.reduce, target, value(body, lane));
            }
        }
    }

    /// -1: outside.
    int64_t scatter_offset(int lane) const {
        const auto strides = strides_of(e_.out.box);
        int64_t offset = 0;
        for (size_t i = 0; i < e_.scatter.size(); ++i) {
            const auto index = static_cast<int64_t>(value(program_.results[i + 1], lane));
            if (index < e_.out.box[i].begin || index >= e_.out.box[i].end) {
                return -1;
            }
            offset += (index - e_.out.box[i].begin) * strides[i];
        }
        return offset;
    }

    const Evaluation& e_;
    LaneProgram program_;
    std::vector<Register> registers_;
    std::vector<std::array<int64_t, lanes>> coordinates_;
    std::vector<LinearOffset> plain_;
    LinearOffset out_;
    std::string error_;

    friend class Contraction;
};

/// sum of a * b over plain accesses: nested loops, the innermost along the axis with the shortest strides.
class Contraction {
public:
    static bool fits(const Evaluation& e) {
        const Expr& body = *product_of(e.body).first;
        return e.reduce == Reduce::Sum && e.scatter.empty() && body.op == ExprOp::Mul &&
               plain(*body.args[0]) && plain(*body.args[1]);
    }

    explicit Contraction(const Evaluation& e) : e_(e) {
        const auto [product, scale] = product_of(e.body);
        scale_ = scale;
        const std::array<const Expr*, 2> factors{product->args[0].get(), product->args[1].get()};
        for (size_t i = 0; i < 2; ++i) {
            const ReadPiece& piece = e.operands[static_cast<size_t>(factors[i]->slot)];
            data_[i] = piece.data;
            std::vector<AxisId> axes;
            for (const ExprPtr& index : factors[i]->args) {
                axes.push_back(index->axis);
            }
            place(i, axes, piece.box);
        }
        place(2, e.out.axes, e.out.box);
    }

    void run() {
        if (count_of(e_.ranges) == 0) {
            return;
        }
        if (e_.space.empty()) {
            e_.out.data[0] += data_[0][0] * data_[1][0] * scale_;
            return;
        }
        inner_ = 0;
        for (size_t i = 1; i < e_.space.size(); ++i) {
            if (score(i) > score(inner_)) {
                inner_ = i;
            }
        }
        nest(0, start_);
    }

private:
    using Offsets = std::array<int64_t, 3>; ///< of the factors and the output

    /// The body without constant factors and divisors, and what they amount to.
    static std::pair<ExprPtr, double> product_of(ExprPtr body) {
        double scale = 1;
        while ((body->op == ExprOp::Mul || body->op == ExprOp::Div) &&
               body->args[1]->op == ExprOp::Constant) {
            const double c = body->args[1]->number;
            scale = body->op == ExprOp::Mul ? scale * c : scale / c;
            body = body->args[0];
        }
        return {body, scale};
    }

    static bool plain(const Expr& expr) { return is_plain(expr) && !expr.otherwise; }

    void place(size_t which, const std::vector<AxisId>& axes, const std::vector<Interval>& box) {
        strides_[which].assign(e_.space.size(), 0);
        const auto strides = strides_of(box);
        for (size_t i = 0; i < axes.size(); ++i) {
            const auto at = static_cast<size_t>(
                std::find(e_.space.begin(), e_.space.end(), axes[i]) - e_.space.begin());
            strides_[which][at] = strides[i];
            start_[which] += strides[i] * (e_.ranges[at].begin - box[i].begin);
        }
    }

    std::pair<int, int64_t> score(size_t axis) const {
        int near = 0;
        for (const auto& strides : strides_) {
            near += strides[axis] <= 1 ? 1 : 0;
        }
        return {near, e_.ranges[axis].size()};
    }

    void nest(size_t depth, Offsets at) const {
        if (depth == inner_) {
            ++depth;
        }
        if (depth >= e_.space.size()) {
            innermost(at);
            return;
        }
        for (int64_t i = 0; i < e_.ranges[depth].size(); ++i) {
            nest(depth + 1, at);
            for (size_t which = 0; which < 3; ++which) {
                at[which] += strides_[which][depth];
            }
        }
    }

    void innermost(const Offsets& at) const {
        const int64_t n = e_.ranges[inner_].size();
        const int64_t sa = strides_[0][inner_];
        const int64_t sb = strides_[1][inner_];
        const int64_t so = strides_[2][inner_];
        const double* a = data_[0] + at[0];
        const double* b = data_[1] + at[1];
        double* out = e_.out.data + at[2];
        if (so != 0) {
            for (int64_t i = 0; i < n; ++i) {
                out[i * so] += a[i * sa] * b[i * sb] * scale_;
            }
            return;
        }
        std::array<double, 4> sums{};
        int64_t i = 0;
        for (; i + 4 <= n; i += 4) {
            for (int64_t k = 0; k < 4; ++k) {
                sums[static_cast<size_t>(k)] += a[(i + k) * sa] * b[(i + k) * sb];
            }
        }
        for (; i < n; ++i) {
            sums[0] += a[i * sa] * b[i * sb];
        }
        *out += ((sums[0] + sums[1]) + (sums[2] + sums[3])) * scale_;
    }

    const Evaluation& e_;
    std::array<const double*, 2> data_{};
    std::array<std::vector<int64_t>, 3> strides_;
    Offsets start_{};
    double scale_ = 1;
    size_t inner_ = 0;
};

double neutral(Reduce reduce) {
    switch (reduce) {
    case Reduce::Max: return -INFINITY;
    case Reduce::Min: return INFINITY;
    case Reduce::Prod: return 1;
    default: return 0;
    }
}

/// A slice written as a coordinate of a shorter axis is plain too; a longer axis would read past the end.
bool stays_inside(const Evaluation& e) {
    bool inside = true;
    for_each(e.body, [&](const Expr& node) {
        if (node.op != ExprOp::Access || node.otherwise) {
            return;
        }
        for (size_t i = 0; i < node.args.size(); ++i) {
            const AxisId own = e.operands[static_cast<size_t>(node.slot)].axes[i];
            inside = inside && (node.args[i]->op != ExprOp::Iota ||
                                (*e.axes)[node.args[i]->axis].size <= (*e.axes)[own].size);
        }
    });
    return inside;
}

} // namespace

std::optional<std::string> evaluate_statement(const Evaluation& e) {
    if (!stays_inside(e)) {
        return "an axis runs past the end of what it indexes";
    }
    const int64_t count = count_of(e.out.box);
    if (!e.accumulate) {
        std::fill_n(e.out.data, count, neutral(e.reduce));
    }
    if (Contraction::fits(e)) {
        Contraction(e).run();
    } else if (auto error = Runner(e).run()) {
        return error;
    }
    for (int64_t i = 0; i < count; ++i) {
        e.out.data[i] = stored(e.out.data[i], e.out.dtype, e.precision);
    }
    return std::nullopt;
}

} // namespace sspc
