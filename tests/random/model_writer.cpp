// Writes random small models as .ssp text.
#include "tests/random/model_writer.h"

#include <algorithm>
#include <functional>
#include <sstream>

namespace sspc::random {

namespace {

struct Operand {
    std::string name;
    std::vector<int> axes;
    double size = 1; ///< a bound of its elements, roughly
};

class Writer {
public:
    explicit Writer(Numbers& numbers) : numbers_(numbers) {}
    WrittenModel write();

private:
    using Axes = std::vector<int>;
    struct Made {
        std::string text;
        Axes axes;
        double size = 1;
    };

    // ---- axes ----

    int axis(const std::string& name, int size) {
        for (size_t i = 0; i < model_.axes.size(); ++i) {
            if (model_.axes[i].name == name) {
                return static_cast<int>(i);
            }
        }
        model_.axes.push_back({name, size});
        dims_ << "  dim " << name << " = " << size << ";\n";
        return static_cast<int>(model_.axes.size()) - 1;
    }
    const std::string& name_of(int a) const { return model_.axes[static_cast<size_t>(a)].name; }
    int size_of(int a) const { return model_.axes[static_cast<size_t>(a)].size; }
    std::string names(const Axes& axes) const {
        std::string out;
        for (const int a : axes) {
            out += (out.empty() ? "" : ", ") + name_of(a);
        }
        return out;
    }
    int elements(const Axes& axes) const {
        int out = 1;
        for (const int a : axes) {
            out *= size_of(a);
        }
        return out;
    }
    static bool has(const Axes& axes, int a) { return std::find(axes.begin(), axes.end(), a) != axes.end(); }
    static Axes unite(Axes a, const Axes& b) {
        for (const int x : b) {
            if (!has(a, x)) {
                a.push_back(x);
            }
        }
        return a;
    }
    static Axes without(const Axes& a, const Axes& b) {
        Axes out;
        for (const int x : a) {
            if (!has(b, x)) {
                out.push_back(x);
            }
        }
        return out;
    }
    bool fits(const Axes& axes) const { return axes.size() <= 4 && elements(axes) <= 500; }
    /// Axes of `axes` that a statement may reduce, gather along or rename: not the rows, if these are to be split.
    Axes open(const Axes& axes) const { return model_.splits ? without(axes, {rows_}) : axes; }
    Axes some(const Axes& of) {
        Axes shuffled = of;
        numbers_.shuffle(shuffled);
        shuffled.resize(static_cast<size_t>(numbers_.between(1, static_cast<int>(of.size()))));
        return shuffled;
    }

    // ---- operands ----

    const Operand* find(const std::function<bool(const Operand&)>& wanted) {
        std::vector<const Operand*> fit;
        for (const Operand& o : pool_) {
            if (wanted(o)) {
                fit.push_back(&o);
            }
        }
        // Later values more often: chains, rather than many uses of the inputs.
        if (fit.empty()) {
            return nullptr;
        }
        const size_t from = numbers_.chance(0.6) ? fit.size() / 2 : 0;
        return fit[from + static_cast<size_t>(numbers_.below(static_cast<int>(fit.size() - from)))];
    }
    const Operand* any() {
        return find([](const Operand&) { return true; });
    }
    Operand parameter(const Axes& axes, double deviation = 0.5) {
        const std::string name = "w" + std::to_string(parameters_++);
        std::string init = numbers_.chance(0.8) ? "normal(std: " + number(deviation) + ")" : numbers_.chance(0.5) ? "ones" : "zeros";
        line("param " + name + (axes.empty() ? "" : "[" + names(axes) + "]") + " = " + init + ";");
        Operand out{name, axes, 1.5 * deviation + 0.5};
        if (top_) {
            shared_.push_back(out);
        }
        return out;
    }
    /// An integer input of these axes with values below `limit`'s size; the name tells the runner.
    Operand integers(const Axes& axes, int limit) {
        const std::string name = "i" + std::to_string(inputs_++) + "_" + name_of(limit);
        inputs_text_ << "  input " << name << ": i64[" << names(axes) << "];\n";
        return {name, axes, 1.0 * size_of(limit)};
    }
    Operand floats(const Axes& axes) {
        const std::string name = "f" + std::to_string(inputs_++);
        inputs_text_ << "  input " << name << ": float[" << names(axes) << "];\n";
        return {name, axes, 2.5};
    }
    static std::string number(double x) {
        std::ostringstream out;
        out.precision(3);
        out << x;
        return out.str();
    }
    void line(const std::string& text) { body_ << std::string(static_cast<size_t>(indent_), ' ') << text << "\n"; }
    void met(const std::string& what) { model_.met.push_back(what); }

    std::string small(const Operand& o) { return o.size > 3 ? "(" + number(2 / o.size) + " * " + o.name + ")" : o.name; }

    // ---- statements ----

    bool statement();
    bool make(int kind, Made& out, std::string& what);
    void block(int number, int of);
    void finish_block(const Operand& last);
    std::string scalar_loss(const Operand& x);

    Numbers& numbers_;
    WrittenModel model_;
    std::ostringstream dims_, inputs_text_, body_;
    std::vector<Operand> pool_;
    std::vector<Operand> shared_; ///< parameters of the first block
    Axes base_;   ///< axes of the model without rows
    Axes stream_; ///< of the value that goes from block to block
    const int rows_ = 0;
    int indent_ = 2;
    int values_ = 0, parameters_ = 0, inputs_ = 0, instances_ = 0;
    bool top_ = false;
    std::string at_; ///< selector of the current block, with a dot
    std::vector<std::string> locals_;
    NamedReduction reduction_; ///< of the statement that is being made
};

bool Writer::make(int kind, Made& out, std::string& what) {
    const Operand* chosen = any();
    if (chosen == nullptr) {
        return false;
    }
    const Operand x = *chosen;
    const std::string& n = x.name;
    switch (kind) {
    case 0: { // elementwise
        what = "elementwise";
        const std::vector<std::string> forms{"tanh(#)", "sigmoid(#)", "sin(#)", "cos(2 * #)", "exp(-# * #)", "log(1.5 + # * #)",
                                             "sqrt(1 + # * #)", "rsqrt(1 + # * #)", "abs(#)", "erf(#)", "-# ^ 2", "0.7 * # - 0.2",
                                             "relu(#)", "silu(#)", "gelu_erf(#)", "# / (1 + abs(#))"};
        std::string form = numbers_.pick(forms);
        for (size_t p; (p = form.find('#')) != form.npos;) {
            form.replace(p, 1, small(x));
        }
        out = {form, x.axes, 3};
        return true;
    }
    case 1: { // broadcast by name
        const Operand* y = find([&](const Operand& o) { return o.axes != x.axes && fits(unite(x.axes, o.axes)); });
        if (y == nullptr) {
            return false;
        }
        what = "broadcast";
        const std::vector<std::string> ops{" + ", " - ", " * "};
        const std::string op = numbers_.pick(ops);
        out = {small(x) + op + small(*y), unite(x.axes, y->axes), 9};
        if (numbers_.chance(0.2)) {
            out.text = small(x) + " / (1.5 + " + small(*y) + " ^ 2)";
        }
        return true;
    }
    case 2: { // two values of the same axes
        const Operand* y = find([&](const Operand& o) { return o.axes == x.axes && o.name != n; });
        if (y == nullptr) {
            return false;
        }
        what = "elementwise of two";
        const std::vector<std::string> forms{"# + @", "# - @", "# * @", "max(#, @)", "min(#, @)", "0.5 * (# + @) - 0.1"};
        std::string form = numbers_.pick(forms);
        form.replace(form.find('#'), 1, n);
        form.replace(form.find('@'), 1, y->name);
        out = {form, x.axes, std::max(x.size + y->size, x.size * y->size)};
        return true;
    }
    case 3: case 4: { // contraction with a parameter
        const Axes reducible = open(x.axes);
        if (reducible.empty()) {
            return false;
        }
        const Axes reduced = some(reducible);
        Axes kept = without(x.axes, reduced);
        Axes weights = reduced;
        for (const int a : base_) {
            if (!has(x.axes, a) && numbers_.chance(0.5)) {
                weights.push_back(a);
            }
        }
        numbers_.shuffle(weights);
        if (!fits(unite(kept, weights)) || !fits(weights)) {
            return false;
        }
        Operand w;
        numbers_.shuffle(shared_);
        const auto tied = std::find_if(shared_.begin(), shared_.end(), [&](const Operand& o) {
            return without(o.axes, {}) .size() >= reduced.size() && without(reduced, o.axes).empty() &&
                   fits(unite(x.axes, o.axes)) && !has(o.axes, rows_);
        });
        if (!top_ && tied != shared_.end() && numbers_.chance(0.7)) {
            w = *tied;
            met("statement tied parameter");
        } else {
            w = parameter(weights);
        }
        what = "contraction";
        out = {"sum[" + names(reduced) + "] " + (numbers_.chance(0.5) ? n + " * " + w.name : w.name + " * " + n),
               without(unite(x.axes, w.axes), reduced), x.size * w.size * elements(reduced)};
        if (numbers_.chance(0.4)) {
            const Axes all = out.axes;
            Axes of;
            for (const int a : all) {
                if (a != rows_ && numbers_.chance(0.7)) {
                    of.push_back(a);
                }
            }
            const Operand bias = parameter(of);
            out.text += " + " + bias.name;
            met("statement bias after contraction");
        }
        return true;
    }
    case 5: { // contraction of two values
        const Operand* y = find([&](const Operand& o) { return o.name != n && fits(unite(x.axes, o.axes)); });
        if (y == nullptr) {
            return false;
        }
        Axes common;
        for (const int a : open(x.axes)) {
            if (has(y->axes, a)) {
                common.push_back(a);
            }
        }
        if (common.empty()) {
            return false;
        }
        const Axes reduced = some(common);
        what = "contraction of two values";
        out = {"sum[" + names(reduced) + "] " + n + " * " + y->name, without(unite(x.axes, y->axes), reduced),
               x.size * y->size * elements(reduced)};
        return true;
    }
    case 6: case 7: { // reductions
        const Axes reducible = open(x.axes);
        if (reducible.empty()) {
            return false;
        }
        const Axes reduced = some(reducible);
        const std::vector<std::string> words{"sum", "mean", "max", "min", "prod"};
        std::string word = numbers_.pick(words);
        if (word == "prod" && elements(reduced) > 12) { // of many factors, rounding is all that is left
            word = "max";
        }
        what = "reduction " + word;
        const std::string operand = word == "prod" ? "(1 + 0.3 * sin(" + n + "))"
                                    : numbers_.chance(0.3) ? "tanh(" + small(x) + ")" : n;
        out = {word + "[" + names(reduced) + "] " + operand, without(x.axes, reduced),
               word == "sum" ? x.size * elements(reduced) : word == "prod" ? 4 : x.size};
        if (word != "sum" && word != "mean" && !out.axes.empty()) {
            reduction_ = {"", name_of(numbers_.pick(reduced)), name_of(numbers_.pick(out.axes))};
        }
        return true;
    }
    case 8: { // rename
        const Axes may = open(x.axes);
        if (may.empty()) {
            return false;
        }
        const int a = numbers_.pick(may);
        if (name_of(a).size() > 3) {
            return false;
        }
        const int b = axis(name_of(a) + "r", size_of(a));
        if (has(x.axes, b) || !fits(x.axes)) {
            return false;
        }
        what = "rename";
        Axes axes = x.axes;
        std::replace(axes.begin(), axes.end(), a, b);
        out = {n + "[" + name_of(a) + " as " + name_of(b) + "]", axes, x.size};
        return true;
    }
    case 9: { // split
        const Axes may = open(x.axes);
        for (const int a : may) {
            const int size = size_of(a);
            const int first = size % 2 == 0 ? 2 : size % 3 == 0 ? 3 : 0;
            if (first == 0 || size == first || name_of(a).size() > 3) {
                continue;
            }
            const int one = axis(name_of(a) + "_o", first);
            const int two = axis(name_of(a) + "_i", size / first);
            Axes axes = without(x.axes, {a});
            if (has(axes, one) || has(axes, two) || axes.size() > 2) {
                continue;
            }
            axes = unite(axes, {one, two});
            what = "axis split";
            out = {n + "[" + name_of(a) + " as (" + name_of(one) + ", " + name_of(two) + ")]", axes, x.size};
            return true;
        }
        return false;
    }
    case 10: { // merge
        const Axes may = open(x.axes);
        if (may.size() < 2) {
            return false;
        }
        Axes two = may;
        numbers_.shuffle(two);
        two.resize(2);
        if (elements(two) > 42) {
            return false;
        }
        const std::string name = name_of(two[0]) + "x" + name_of(two[1]);
        if (name.size() > 12) {
            return false;
        }
        const int merged = axis(name, elements(two));
        if (has(x.axes, merged)) {
            return false;
        }
        what = "axis merge";
        out = {n + "[(" + names(two) + ") as " + name + "]", unite(without(x.axes, two), {merged}), x.size};
        return true;
    }
    case 11: { // slice
        const Axes may = open(x.axes);
        if (may.empty()) {
            return false;
        }
        const int a = numbers_.pick(may);
        const int from = numbers_.below(size_of(a));
        const int to = numbers_.between(from + 1, size_of(a));
        const std::string slice = n + "[" + name_of(a) + " = " + std::to_string(from) + ".." + std::to_string(to) + "]";
        what = "slice";
        if (numbers_.chance(0.5)) {
            out = {"sum[" + name_of(a) + "] " + slice + " * " + slice, without(x.axes, {a}), x.size * x.size * size_of(a)};
        } else {
            const int b = axis(name_of(a).substr(0, 1) + "s" + std::to_string(to - from), to - from);
            if (has(x.axes, b)) {
                return false;
            }
            Axes axes = x.axes;
            std::replace(axes.begin(), axes.end(), a, b);
            out = {slice + "[" + name_of(a) + " as " + name_of(b) + "]", axes, x.size};
        }
        return true;
    }
    case 12: { // pick
        const Axes may = open(x.axes);
        if (may.empty()) {
            return false;
        }
        const int a = numbers_.pick(may);
        what = "pick";
        out = {n + "[" + name_of(a) + " = " + std::to_string(numbers_.below(size_of(a))) + "]", without(x.axes, {a}), x.size};
        return true;
    }
    case 13: case 14: { // gather by a tensor
        const int a = numbers_.pick(base_);
        const Axes by = numbers_.chance(0.7) || base_.size() < 2 ? Axes{rows_} : unite({rows_}, {without(base_, {a})[0]});
        Axes rest;
        for (const int b : base_) {
            if (b != a && !has(by, b) && numbers_.chance(0.6)) {
                rest.push_back(b);
            }
        }
        Operand t = parameter(unite({a}, rest));
        const Operand* value = find([&](const Operand& o) { return has(o.axes, a) && !has(o.axes, rows_) && without(by, o.axes) == by && fits(unite(without(o.axes, {a}), by)); });
        if (value != nullptr) {
            t = *value;
        }
        const Operand i = integers(by, a);
        what = "gather by tensor";
        std::string index = i.name;
        if (numbers_.chance(0.2)) {
            index = "where(" + i.name + " > 1, " + i.name + " - 1, " + i.name + ")";
        }
        if (numbers_.chance(0.2)) {
            index = i.name + " - 1 else 0.5";
            what = "gather by tensor with else";
        }
        out = {t.name + "[" + name_of(a) + " = " + index + "]", unite(by, without(t.axes, {a})), t.size};
        return true;
    }
    case 15: case 16: { // gather by an integer expression
        const Axes may = open(x.axes);
        if (may.empty()) {
            return false;
        }
        const int a = numbers_.pick(may);
        if (numbers_.chance(0.5)) {
            const int width = numbers_.between(2, 3);
            const int wide = axis("wo" + std::to_string(width), width);
            const int window = axis("wr", 2);
            const Axes axes = unite(without(x.axes, {a}), {wide, window});
            if (has(x.axes, wide) || has(x.axes, window) || !fits(axes)) {
                return false;
            }
            what = "gather by expression with else";
            out = {n + "[" + name_of(a) + " = iota(" + name_of(wide) + ") * " + std::to_string(numbers_.between(1, 2)) + " + iota(wr) - 1 else 0]", axes, x.size};
            if (numbers_.chance(0.5)) {
                const Operand w = parameter({window});
                out.text = "sum[wr] " + out.text + " * " + w.name;
                out.axes = without(axes, {window});
                out.size *= 4;
            }
            return true;
        }
        const int count = numbers_.between(1, size_of(a));
        const int b = axis("o" + std::to_string(count), count);
        if (has(x.axes, b)) {
            return false;
        }
        Axes axes = x.axes;
        std::replace(axes.begin(), axes.end(), a, b);
        const int first = numbers_.below(size_of(a) - count + 1);
        what = "gather by expression";
        out = {n + "[" + name_of(a) + " = " +
                   (numbers_.chance(0.5) ? "iota(" + name_of(b) + ") + " + std::to_string(first)
                                         : std::to_string(first + count - 1) + " - iota(" + name_of(b) + ")") + "]",
               axes, x.size};
        return true;
    }
    case 17: { // where
        if (x.axes.empty()) {
            return false;
        }
        const int a = numbers_.pick(x.axes);
        if (numbers_.chance(0.4)) {
            const Operand* y = find([&](const Operand& o) { return o.name != n && fits(unite(x.axes, o.axes)); });
            if (y == nullptr) {
                return false;
            }
            what = "where of values";
            out = {"where(" + n + " > " + y->name + ", " + n + ", 0.3 * " + y->name + ")", unite(x.axes, y->axes), x.size + y->size};
        } else if (const int b = numbers_.pick(x.axes); b != a && numbers_.chance(0.7)) {
            what = "where of iota";
            out = {"where(iota(" + name_of(a) + ") <= iota(" + name_of(b) + "), " + n + ", -0.5)", x.axes, x.size + 1};
        } else {
            what = "where of iota";
            out = {"where(iota(" + name_of(a) + ") == 1 or iota(" + name_of(a) + ") > 3, " + n + ", 0)", x.axes, x.size};
        }
        return true;
    }
    case 18: { // iota as a number
        if (x.axes.empty()) {
            return false;
        }
        const int a = numbers_.pick(x.axes);
        what = "iota";
        out = {n + " * (0.2 * iota(" + name_of(a) + ") + 1)", x.axes, 2 * x.size};
        return true;
    }
    case 19: {
        what = "stop_gradient";
        out = {n + " - 0.5 * stop_gradient(" + n + ")", x.axes, 2 * x.size};
        return true;
    }
    case 20: {
        what = "cast";
        const std::vector<std::string> forms{"f32(f64(#))", "float(# > 0.1) * #", "f32(f64(#) * f64(#))"};
        std::string form = numbers_.pick(forms);
        for (size_t p; (p = form.find('#')) != form.npos;) {
            form.replace(p, 1, n);
        }
        out = {form, x.axes, x.size * x.size + 1};
        return true;
    }
    case 21: {
        const Axes may = open(x.axes);
        if (may.empty()) {
            return false;
        }
        what = numbers_.chance(0.7) ? "softmax" : "log_softmax";
        out = {what + "(" + small(x) + ", over: " + name_of(numbers_.pick(may)) + ")", x.axes, 4};
        return true;
    }
    case 22: {
        const Axes may = open(x.axes);
        std::vector<int> wide;
        for (const int a : may) {
            if (size_of(a) > 2) { // of fewer, the variance may vanish
                wide.push_back(a);
            }
        }
        if (wide.empty()) {
            return false;
        }
        what = numbers_.chance(0.7) ? "layer_norm" : "rms_norm";
        const std::string instance = "n" + std::to_string(instances_++);
        out = {what + "(" + small(x) + ", over: " + name_of(numbers_.pick(wide)) + ", eps: 0.1) as " + instance, x.axes, 3};
        model_.modules.push_back(at_ + instance);
        return true;
    }
    case 23: {
        const Axes may = open(x.axes);
        if (may.empty()) {
            return false;
        }
        const int from = numbers_.pick(may);
        const Axes targets = without(base_, x.axes);
        if (targets.empty()) {
            return false;
        }
        const int to = numbers_.pick(targets);
        what = "linear";
        const std::string instance = "n" + std::to_string(instances_++);
        out = {"linear(" + n + ", over from: " + name_of(from) + ", over to: " + name_of(to) + ", std: 0.5) as " + instance,
               unite(without(x.axes, {from}), {to}), x.size * size_of(from)};
        model_.modules.push_back(at_ + instance);
        return fits(out.axes);
    }
    case 24: {
        what = "gelu";
        out = {"gelu(" + small(x) + ")", x.axes, 3};
        return true;
    }
    case 25: {
        what = "dropout";
        out = {"dropout(" + n + ", rate: 0.3)", x.axes, 1.5 * x.size};
        return true;
    }
    case 26: {
        Axes axes = x.axes.empty() ? Axes{numbers_.pick(base_)} : some(x.axes);
        what = "draw";
        out = {n + (numbers_.chance(0.5) ? " * uniform[" + names(axes) + "]" : " * normal[" + names(axes) + "]"), unite(x.axes, axes), 3 * x.size};
        if (numbers_.chance(0.3)) {
            out.text = "where(bernoulli(0.6)[" + names(axes) + "], " + n + ", 0)";
        }
        return true;
    }
    case 27: { // concat
        const Axes may = open(x.axes);
        if (may.empty()) {
            return false;
        }
        const int a = numbers_.pick(may);
        if (size_of(a) < 2) {
            return false;
        }
        const int at = numbers_.between(1, size_of(a) - 1);
        const std::string s = name_of(a);
        what = "concat";
        out = {"concat[" + s + "](" + n + "[" + s + " = " + std::to_string(at) + ".." + std::to_string(size_of(a)) + "], 0.5 * " + n + "[" +
                   s + " = 0.." + std::to_string(at) + "])",
               x.axes, x.size};
        return true;
    }
    case 28: {
        const Operand w = parameter(some(base_));
        if (!fits(unite(x.axes, w.axes))) {
            return false;
        }
        what = "parameter beside a value";
        out = {numbers_.chance(0.5) ? n + " + " + w.name : n + " * " + w.name, unite(x.axes, w.axes), 2 * x.size + 1};
        return true;
    }
    default:
        return false;
    }
}

bool Writer::statement() {
    Made made;
    std::string what;
    reduction_ = {};
    if (!make(numbers_.below(29), made, what) || !fits(made.axes)) {
        return false;
    }
    met("statement " + what);
    std::string target = "v" + std::to_string(values_++);
    locals_.push_back(target);
    model_.tasks.push_back(at_ + target);
    if (!reduction_.reduced.empty()) {
        model_.reductions.push_back({at_ + target, reduction_.reduced, reduction_.kept});
    }
    std::string text = made.text;
    if (made.size > 12) {
        text = number(4 / made.size) + " * (" + text + ")";
        made.size = 4;
    }
    std::string left = target;
    if (made.axes.size() > 1 && numbers_.chance(0.15)) {
        numbers_.shuffle(made.axes);
        left += "[" + names(made.axes) + "]";
        met("statement axes on the left");
    }
    line(left + " = " + text + ";");
    pool_.push_back({target, made.axes, made.size});
    return true;
}

/// Brings a value to the axes of the stream and adds it there.
void Writer::finish_block(const Operand& last) {
    const Axes extra = without(last.axes, stream_);
    Axes weights;
    for (const int a : without(stream_, {rows_})) {
        if (!has(last.axes, a) || numbers_.chance(0.2)) {
            weights.push_back(a);
        }
    }
    std::string text = small(last);
    if (!extra.empty()) {
        const bool weighted = fits(unite(extra, weights)) && numbers_.chance(0.8);
        const Operand w = weighted ? parameter(unite(extra, without(weights, last.axes))) : Operand{"", {}, 1};
        text = (numbers_.chance(0.7) ? "sum[" : "mean[") + names(extra) + "] " + text + (w.name.empty() ? "" : " * " + w.name);
        text = number(1.0 / elements(extra)) + " * (" + text + ")";
    }
    line(numbers_.chance(0.7) ? "x = 0.8 * x + " + text + ";" : "x = x + " + text + ";");
    model_.tasks.push_back(at_ + "x");
    met("statement residual");
}

void Writer::block(int number, int of) {
    top_ = number == 0;
    const bool loop = !top_ && number + 1 < of && numbers_.chance(0.35);
    const bool pass = !loop && !top_ && model_.passes;
    const std::string name = top_ ? "embed" : loop ? "layer" + std::to_string(number) : pass ? "again" + std::to_string(number) : "b" + std::to_string(number);
    const int turns = loop ? numbers_.between(2, 3) : pass ? 2 : 1;
    at_ = loop || pass ? name + "[*]." : name + ".";
    if (loop || pass) {
        line((pass ? "pass " : "block ") + name + "[l in 0.." + std::to_string(turns) + "] {");
        met(pass ? "statement pass" : "statement blocks in a loop");
        for (int t = 0; t < turns; ++t) {
            model_.blocks.push_back(name + "[" + std::to_string(t) + "]");
        }
    } else {
        line("block " + name + " {");
        model_.blocks.push_back(name);
    }
    indent_ += 2;
    const std::vector<Operand> outside = pool_;
    locals_.clear();
    const int wanted = numbers_.between(1, loop ? 3 : 5);
    for (int made = 0, tries = 0; made < wanted && tries < 30; ++tries) {
        made += statement() ? 1 : 0;
    }
    Operand last = pool_.back();
    if (!top_ && numbers_.chance(0.3)) {
        last = *any();
    }
    finish_block(last);
    indent_ -= 2;
    line("}");
    // Values of a loop stay inside: another block would read those of its last turn, and two streams would cross. Others may be read later.
    if (loop || pass || numbers_.chance(0.6)) {
        const Operand stream{"x", stream_, 3};
        pool_ = outside;
        pool_.push_back(stream);
    } else {
        pool_.push_back({"x", stream_, 3});
    }
    top_ = false;
}

std::string Writer::scalar_loss(const Operand& x) {
    const Axes inner = without(x.axes, {rows_});
    const int kind = numbers_.below(4);
    if (kind == 0 && !inner.empty()) {
        const int classes = numbers_.pick(inner);
        const Operand labels = integers(without(x.axes, {classes}), classes);
        met("statement cross_entropy");
        return "mean[" + names(labels.axes) + "] cross_entropy(" + x.name + ", " + labels.name + ", over: " + name_of(classes) + ")";
    }
    if (kind == 1) {
        const Operand target = floats(x.axes);
        met("statement mse");
        return "mse(" + x.name + ", " + target.name + ")";
    }
    if (kind == 2) {
        met("statement loss by sum");
        return "0.1 * (sum[*] " + x.name + " ^ 2)";
    }
    met("statement loss by mean");
    return "mean[" + names(x.axes) + "] (sin(" + x.name + ") + 0.5 * " + x.name + " ^ 2)";
}

WrittenModel Writer::write() {
    const std::vector<int> sizes{1, 2, 3, 4, 4, 5, 6, 6, 7};
    model_.splits = numbers_.chance(0.75);
    model_.trains = numbers_.chance(0.92);
    model_.passes = numbers_.chance(0.06);
    std::ostringstream head;
    head << "model m(batch: dim = ";
    model_.axes.push_back({"batch", numbers_.pick(sizes)});
    head << size_of(0);
    const int count = numbers_.between(1, 3);
    for (int i = 0; i < count; ++i) {
        model_.axes.push_back({std::string(1, static_cast<char>('a' + i)), numbers_.pick(sizes)});
        base_.push_back(i + 1);
        head << ", " << name_of(i + 1) << ": dim = " << size_of(i + 1);
    }
    head << ") {\n";
    stream_ = unite({rows_}, some(base_));
    if (numbers_.chance(0.1) && base_.size() > 1) {
        stream_ = unite({rows_}, base_);
    }

    // The stream begins as an input or as rows of a table.
    if (numbers_.chance(0.6)) {
        const Operand in = floats(stream_);
        pool_.push_back(in);
        body_ << "  x = " << in.name << ";\n";
    } else {
        const Axes inner = without(stream_, {rows_});
        const Operand in = integers({rows_}, inner[0]);
        body_ << "  param table[" << names({inner[0]}) << (inner.size() > 1 ? ", " + names(without(inner, {inner[0]})) : "")
              << "] = normal(std: 0.5);\n";
        body_ << "  x = table[" << name_of(inner[0]) << " = " << in.name << "]";
        met("statement embedding");
        body_ << " * along;\n";
        const std::string text = body_.str();
        body_.str("");
        body_ << "  param along[" << name_of(inner[0]) << "] = normal(std: 0.7);\n" << text;
    }
    pool_.push_back({"x", stream_, 2.5});
    if (numbers_.chance(0.4)) {
        pool_.push_back(floats(some(unite({rows_}, base_))));
    }
    const int blocks = numbers_.between(1, 4);
    for (int b = 0; b < blocks; ++b) {
        block(b, blocks);
    }
    indent_ = 2;
    line("block head {");
    at_ = "head.";
    indent_ = 4;
    model_.blocks.push_back("head");
    for (int i = 0; i < 2; ++i) {
        statement();
    }
    Operand last{"x", stream_, 3};
    if (model_.trains && parameters_ == 0) {
        const Operand value = pool_.back();
        const Operand w = parameter({base_[0]});
        line("y = " + value.name + " * " + w.name + ";");
        pool_.push_back({"y", unite(value.axes, w.axes), 2 * value.size});
    }
    finish_block(pool_.back());
    if (model_.trains) {
        line("loss = " + scalar_loss(last) + ";");
    }
    indent_ = 2;
    line("}");
    if (!model_.trains || numbers_.chance(0.4)) {
        const bool stream = numbers_.chance(0.6);
        line("output " + (stream ? "x" : pool_.back().name) + ";");
        if (stream) {
            model_.outputs.push_back("head.x");
        }
        met("statement output");
    }
    if (model_.trains) {
        // Adam's own eps would let gradients that are rounding alone move parameters.
        const std::vector<std::string> optimizers{"sgd(lr: 0.1)", "sgd(lr: 0.05, momentum: 0.9)", "adam(lr: 0.01, eps: 1e-3)",
                                                  "adamw(lr: 0.01, weight_decay: 0.1, eps: 1e-3)", "lamb(lr: 0.01, weight_decay: 0.1, eps: 1e-3)"};
        const std::string optimizer = numbers_.pick(optimizers);
        const std::string kind = optimizer.substr(0, optimizer.find('('));
        met("statement " + kind);
        const bool clips = numbers_.chance(0.4);
        line("minimize loss using " + optimizer + (clips ? ", clip_norm: 0.3;" : ";"));
        if (clips) {
            met("statement clip_norm");
        }
        if (kind == "adamw" && parameters_ > 0 && numbers_.chance(0.4)) {
            line("override adamw(weight_decay: 0) for **.w" + std::to_string(numbers_.below(parameters_)) + ";");
            met("statement override");
        }
    }
    model_.text = head.str() + dims_.str() + inputs_text_.str() + body_.str() + "}\n";
    return model_;
}

} // namespace

WrittenModel write_model(Numbers& numbers) {
    return Writer(numbers).write();
}

} // namespace sspc::random
