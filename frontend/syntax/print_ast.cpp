// The syntax tree as text.
#include "frontend/syntax/print_ast.h"

#include "ir/support/format.h"
#include "ir/support/match.h"

#include <algorithm>
#include <string_view>

namespace sspc::syntax {

namespace {

template <typename Items, typename Text>
std::string list(const Items& items, Text text, std::string_view between = ", ") {
    std::string out;
    for (const auto& item : items) {
        out += (out.empty() ? "" : std::string(between)) + text(item);
    }
    return out;
}
std::string text(const Name& name) { return name.text; }
std::string text(const ExprPtr& expr) { return expr == nullptr ? "-" : print_ast(*expr); }
std::string names(const std::vector<Name>& all) { return list(all, [](const Name& n) { return n.text; }); }
std::string exprs(const std::vector<ExprPtr>& all) { return list(all, [](const ExprPtr& e) { return text(e); }); }
std::string selectors(const Selectors& all) { return list(all, [](const Selector& s) { return print_ast(s); }); }
std::string text(const Range& range) { return text(range.from) + ".." + text(range.to); }
std::string optional(std::string_view before, const ExprPtr& expr) { return expr == nullptr ? "" : std::string(before) + print_ast(*expr); }
std::string optional(std::string_view before, const std::optional<Name>& name) { return name ? std::string(before) + name->text : ""; }
std::string axes(const std::vector<Name>& all) { return all.empty() ? "" : "[" + names(all) + "]"; }

std::string quoted(std::string_view value) {
    std::string out = "\"";
    for (char c : value) {
        out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '"' ? "\\\"" : c == '\\' ? "\\\\" : std::string(1, c);
    }
    return out + "\"";
}

std::string text(const Argument& arg) {
    std::string role = arg.over ? "over" : "";
    if (arg.name) {
        role += (role.empty() ? "" : " ") + arg.name->text;
    }
    return (role.empty() ? "" : role + ": ") + text(arg.value);
}
std::string arguments(const Arguments& all) { return "(" + list(all, [](const Argument& a) { return text(a); }) + ")"; }
std::string text(const NamedCall& call) { return call.name.text + (call.args.empty() ? "" : arguments(call.args)); }

std::string_view sign(BinaryOp op) {
    static constexpr std::string_view signs[] = {"+", "-", "*", "/", "%", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">=", "and", "or"};
    return signs[static_cast<size_t>(op)];
}
std::string_view word(ReduceKind kind) {
    static constexpr std::string_view words[] = {"sum", "mean", "max", "min", "prod"};
    return words[static_cast<size_t>(kind)];
}

std::string text(const IndexEntry& entry) {
    return std::visit(Match{[](const RenameAxis& e) { return e.axis.text + " as " + e.to.text; },
                            [](const SplitAxis& e) {
                                return e.axis.text + " as (" +
                                       list(e.parts, [](const SplitAxis::Part& p) { return p.name.text + optional(": ", p.size); }) + ")";
                            },
                            [](const MergeAxes& e) { return "(" + names(e.axes) + ") as " + e.to.text; },
                            [](const IndexAt& e) { return e.axis.text + " = " + text(e.at) + optional(" else ", e.otherwise); },
                            [](const SliceAxis& e) { return e.axis.text + " = " + text(e.range); }},
                      entry.kind);
}

std::string text(const Type& type) {
    return type.tuple.empty() ? type.name.text + axes(type.axes) : "(" + list(type.tuple, [](const Type& t) { return text(t); }) + ")";
}
std::string parameters(const std::vector<Parameter>& all) {
    return "(" + list(all, [](const Parameter& p) {
               return std::string(p.over ? "over " : "") + p.name.text + (p.type ? ": " + text(*p.type) : "") + optional(" = ", p.initial);
           }) + ")";
}
std::string text(const MeshAxisRef& axis) { return (axis.mesh ? axis.mesh->text + "." : "") + axis.axis.text; }
std::string text(const Placement& placement) {
    return placement.mesh.text + "[" + list(placement.coordinates, [](const Placement::Coordinate& c) {
               return c.axis.text + " = " + (c.all ? "*" : text(c.first) + optional("..", c.last));
           }) + "]";
}
std::string index(const std::optional<BlockIndex>& at) {
    return at ? "[" + at->variable.text + " in " + text(at->range) + "]" : "";
}

/// Lines with indentation.
class Printer {
public:
    std::string take() { return std::move(out_); }

    void line(const std::string& text) { out_ += std::string(2 * depth_, ' ') + text + "\n"; }
    template <typename Statements>
    void body(const Statements& statements) {
        ++depth_;
        for (const auto& statement : statements) {
            print(statement);
        }
        --depth_;
    }
    template <typename S>
    void print_for(const For<S>& f) {
        line("for " + f.variable.text + " in " + text(f.range));
        body(f.body);
    }
    template <typename S>
    void print_if(const If<S>& i) {
        for (const auto& branch : i.branches) {
            line((&branch == &i.branches.front() ? "if " : "else if ") + text(branch.condition));
            body(branch.body);
        }
        if (!i.otherwise.empty()) {
            line("else");
            body(i.otherwise);
        }
    }
    void print_let(const Let& l) { line("let " + l.name.text + " = " + text(l.value)); }

    void print(const Statement& statement);
    void print(const PlanStatement& statement);
    void print(const ScheduleStatement& statement);
    void declaration(std::string_view kind, const Declaration& d, const std::string& rest) {
        std::string_view doc = d.doc;
        while (!doc.empty()) {
            const size_t end = doc.find('\n');
            line("/// " + std::string(doc.substr(0, end)));
            doc.remove_prefix(end == std::string_view::npos ? doc.size() : end + 1);
        }
        line(std::string(kind) + rest);
    }

private:
    std::string out_;
    size_t depth_ = 0;
};

void Printer::print(const Statement& statement) {
    const auto declared = [](const std::string& kind, const auto& d) {
        return kind + " " + d.name.text + (d.dtype ? ": " + d.dtype->text : "") + axes(d.axes);
    };
    std::visit(Match{[&](const Assign& s) {
                         const std::string left =
                             list(s.targets, [](const Target& t) { return t.name.text + (t.axes ? "[" + names(*t.axes) + "]" : ""); });
                         line((s.tuple ? "(" + left + ")" : left) + " = " + text(s.value));
                     },
                     [&](const Param& s) { line(declared("param", s) + optional(" = ", s.init)); },
                     [&](const Input& s) { line(declared("input", s)); },
                     [&](const State& s) { line(declared("state", s) + " = " + text(s.init)); },
                     [&](const Dim& s) { line("dim " + s.name.text + " = " + text(s.size)); }, [&](const Let& s) { print_let(s); },
                     [&](const Block& s) {
                         line("block " + s.name.text + index(s.index));
                         body(s.body);
                     },
                     [&](const Pass& s) {
                         line("pass " + s.name.text + index(s.index));
                         body(s.body);
                     },
                     [&](const For<Statement>& s) { print_for(s); }, [&](const If<Statement>& s) { print_if(s); },
                     [&](const Return& s) {
                         line("return " + list(s.results, [](const Return::Result& r) {
                                  return (r.name ? r.name->text + ": " : "") + text(r.value);
                              }));
                     },
                     [&](const Minimize& s) {
                         line("minimize " + text(s.loss) + " using " + text(s.optimizer) + optional(", clip_norm: ", s.clip_norm));
                     },
                     [&](const Override& s) { line("override " + text(s.optimizer) + " for " + selectors(s.only)); },
                     [&](const Update& s) { line("update " + s.parameter.text + " using " + text(s.optimizer)); },
                     [&](const Output& s) { line("output " + text(s.value)); }},
               statement.kind);
}

void Printer::print(const PlanStatement& statement) {
    const auto put = [&](const std::string& text) {
        line(text + (statement.only.empty() ? "" : " for " + selectors(statement.only)));
    };
    const auto cuts = [](const std::vector<ExprPtr>& all) { return all.empty() ? "" : " cuts [" + exprs(all) + "]"; };
    std::visit(
        Match{[&](const UsePlan& s) { put("use " + text(s.plan)); },
              [&](const Mesh& s) {
                  put("mesh " + s.name.text + "[" +
                      list(s.axes, [](const Mesh::Axis& a) { return a.name.text + optional(": ", a.size); }) + "]" + optional(" at ", s.at));
              },
              [&](const Shard& s) {
                  static constexpr std::string_view words[] = {"", "params", "grads", "optimizer"};
                  put("shard " + std::string(words[static_cast<size_t>(s.what)]) + names(s.axes) + " over " + text(s.over) + cuts(s.cuts) +
                      (s.flat ? " flat" : ""));
              },
              [&](const Split& s) { put("split " + s.axis.text + " into " + text(s.parts)); },
              [&](const Recompute& s) { put("recompute " + selectors(s.tasks)); },
              [&](const Offload& s) { put("offload " + selectors(s.tasks) + " to " + s.to.text); },
              [&](const Precision& s) {
                  put("precision " + list(s.entries, [](const Precision::Entry& e) { return e.what.text + " " + e.dtype.text; }));
              },
              [&](const Stages& s) {
                  put("stages " + selectors(s.items) + " over " + text(s.over) + optional(" chunks ", s.chunks) +
                      (!s.order ? "" : *s.order == Stages::Order::Loop ? " loop" : " fold") + optional(" balance by ", s.balance) +
                      cuts(s.cuts));
              },
              [&](const Stage& s) { put("stage " + selectors(s.tasks) + " on " + text(s.on)); },
              [&](const Place& s) { put("place " + selectors(s.tasks) + " on " + text(s.on)); },
              [&](const UseSchedule& s) { put("schedule " + text(s.schedule)); },
              [&](const Order& s) { put("order " + selectors(s.first) + " before " + selectors(s.second)); },
              [&](const Lower& s) {
                  put("lower " + selectors(s.messages) + " as " + list(s.steps, [](const NamedCall& c) { return text(c); }, " + "));
              },
              [&](const Fuse& s) { put("fuse " + selectors(s.tasks)); },
              [&](const Overlap& s) {
                  put("overlap " + selectors(s.first) + (s.second.empty() ? "" : " with " + selectors(s.second)) +
                      (s.chunks == nullptr ? "" : " in " + text(s.chunks) + " chunks"));
              },
              [&](const Bucket& s) { put("bucket " + s.what.text + " by " + text(s.size)); },
              [&](const Prefetch& s) { put("prefetch " + s.what.text + " of " + selectors(s.of) + " by " + text(s.by)); },
              [&](const KeepGathered& s) { put("keep gathered " + selectors(s.tasks)); },
              [&](const Ring& s) { put("ring " + s.axis.text + " over " + text(s.over)); },
              [&](const OutputWhole& s) { put("output " + selectors(s.outputs) + " whole"); }, [&](const Let& s) { print_let(s); },
              [&](const For<PlanStatement>& s) { print_for(s); }, [&](const If<PlanStatement>& s) { print_if(s); }},
        statement.kind);
}

void Printer::print(const ScheduleStatement& statement) {
    std::visit(Match{[&](const Lane& s) {
                         line("lane " + s.variable.text + " in " + text(s.range));
                         body(s.body);
                     },
                     [&](const RunBlocks& s) {
                         line(list(s.blocks, [](const NamedCall& b) { return b.name.text + arguments(b.args); }, " & "));
                     },
                     [&](const Let& s) { print_let(s); }, [&](const For<ScheduleStatement>& s) { print_for(s); },
                     [&](const If<ScheduleStatement>& s) { print_if(s); }},
               statement.kind);
}

} // namespace

std::string print_ast(const Expr& expr) {
    return std::visit(
        Match{[](const IntLiteral& e) { return std::to_string(e.value); }, [](const FloatLiteral& e) { return to_text(e.value); },
              [](const SizeLiteral& e) { return std::to_string(e.bytes) + " bytes"; },
              [](const StringLiteral& e) { return quoted(e.value); }, [](const BoolLiteral& e) { return to_text(e.value); },
              [](const InfLiteral&) { return std::string("inf"); }, [](const NameRef& e) { return e.name; },
              [](const Member& e) { return text(e.object) + "." + e.name.text; },
              [](const Call& e) {
                  std::string out = text(e.callee) + arguments(e.args);
                  if (e.as) {
                      out += " as " + e.as->name.text + (e.as->index.empty() ? "" : "[" + exprs(e.as->index) + "]");
                  }
                  return out;
              },
              [](const Unary& e) { return (e.op == UnaryOp::Neg ? "(-" : "(not ") + text(e.operand) + ")"; },
              [](const Binary& e) { return "(" + text(e.left) + " " + std::string(sign(e.op)) + " " + text(e.right) + ")"; },
              [](const Reduce& e) {
                  return "(" + std::string(word(e.kind)) + "[" + (e.all ? "*" : names(e.axes)) + "] " + text(e.operand) + ")";
              },
              [](const Index& e) {
                  return text(e.object) + "[" + list(e.entries, [](const IndexEntry& entry) { return text(entry); }) + "]";
              },
              [](const Draw& e) { return "draw " + text(e.distribution) + "[" + names(e.axes) + "]"; },
              [](const Concat& e) { return "concat[" + e.axis.text + "](" + exprs(e.parts) + ")"; },
              [](const Tuple& e) { return "(" + exprs(e.items) + (e.items.size() == 1 ? ",)" : ")"); }},
        expr.kind);
}

std::string print_ast(const Selector& selector) {
    const std::string path = list(
        selector.components,
        [](const Selector::Component& c) {
            std::string out = c.any_depth ? "**" : c.names.size() == 1 ? c.names[0] : "{";
            if (!c.any_depth && c.names.size() > 1) {
                out += list(c.names, [](const std::string& n) { return n; }) + "}";
            }
            using Index = Selector::Component::Index;
            out += c.index == Index::Absent ? "" : c.index == Index::Any ? "[*]" : "[" + text(c.first) + optional("..", c.last) + "]";
            return out + (c.occurrence > 0 ? "#" + std::to_string(c.occurrence) : "");
        },
        ".");
    using Of = Selector::Of;
    const bool messages = selector.of == Of::Messages || selector.of == Of::MessagesOfGradient || selector.of == Of::MessagesOfUpdate;
    const std::string prefix = selector.of == Of::Gradient || selector.of == Of::MessagesOfGradient ? "grad "
                               : selector.of == Of::Update || selector.of == Of::MessagesOfUpdate   ? "update "
                                                                                                    : "";
    const std::string out = prefix + path + (selector.exact ? "!" : "");
    return messages ? "comm(" + out + ")" : out;
}

std::string print_ast(const Module& module) {
    /// Lists are kept by kind; the text is in the order of the file.
    std::vector<std::pair<uint32_t, std::string>> parts;
    const auto add = [&](const Span& span, auto print) {
        Printer printer;
        print(printer);
        parts.emplace_back(span.begin, printer.take());
    };
    for (const Import& i : module.imports) {
        add(i.span, [&](Printer& p) {
            p.line("import " + (i.path.empty() ? quoted(i.file) : list(i.path, [](const Name& n) { return text(n); }, ".")));
        });
    }
    const auto with_body = [&](std::string_view kind, const auto& all) {
        for (const auto& d : all) {
            add(d.span, [&](Printer& p) {
                p.declaration(kind, d, " " + d.name.text + parameters(d.params));
                p.body(d.body);
            });
        }
    };
    with_body("op", module.ops);
    with_body("grad", module.gradients);
    with_body("module", module.modules);
    with_body("optimizer", module.optimizers);
    with_body("model", module.models);
    with_body("schedule", module.schedules);
    for (const Plan& d : module.plans) {
        add(d.span, [&](Printer& p) {
            p.declaration(d.is_default ? "default plan" : "plan", d, " " + d.name.text + parameters(d.params) + " for " + text(d.model));
            p.body(d.body);
        });
    }
    for (const Data& d : module.datas) {
        add(d.span, [&](Printer& p) { p.declaration("data", d, " " + d.name.text + " = " + text(d.source)); });
    }
    for (const Feed& d : module.feeds) {
        add(d.span, [&](Printer& p) {
            const auto dotted = [](const std::vector<Name>& path) { return list(path, [](const Name& n) { return text(n); }, "."); };
            p.declaration("feed", d, " " + list(d.inputs, dotted) + " from " + text(d.source) + optional(" rows ", d.rows));
        });
    }
    std::sort(parts.begin(), parts.end());
    return list(parts, [](const auto& part) { return part.second; }, "");
}

} // namespace sspc::syntax
