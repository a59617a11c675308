// The source of one device class: its blocks as functions, its order as a table.
#include "backend/emit/stage.h"

#include "backend/emit/contraction.h"
#include "backend/emit/expression.h"
#include "backend/emit/names.h"
#include "ir/passes/instruction_uses.h"
#include "ir/support/check.h"
#include "ir/support/format.h"
#include "ir/support/match.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace sspc::backend {

std::string Emission::place(const Span& span) const {
    if (!options.sources || !span.valid()) {
        return "";
    }
    const std::string& path = options.sources->path(span.file);
    return path.substr(path.find_last_of('/') + 1) + ":" + to_text(options.sources->begin(span).line);
}

int Emission::input_number(const std::string& name) const {
    int number = 0;
    SSPC_CHECK(options.graph, "inputs need the graph");
    for (const Tensor& tensor : options.graph->tensors) {
        if (tensor.kind == TensorKind::Input) {
            if (tensor.path == name) {
                return number;
            }
            ++number;
        }
    }
    SSPC_UNREACHABLE("a Load of no input: " + name);
}

std::string dtype_text(DType type) {
    static constexpr std::string_view names[] = {"F64", "F32", "BF16", "F16", "F8E4M3", "F8E5M2",
                                                 "I64", "I32", "I8",   "U8",  "Bool"};
    return "ssp::DType::" + std::string(names[static_cast<size_t>(type)]);
}

std::string list_text(const std::vector<int>& numbers) {
    std::string text;
    for (const int number : numbers) {
        text += (text.empty() ? "" : ", ") + to_text(number);
    }
    return "{" + text + "}";
}

std::string held_text(const Program& program, const std::vector<AxisId>& axes, const Layout& layout) {
    std::string text;
    for (const AxisId axis : axes) {
        text += (text.empty() ? "" : ", ") + std::string("{") + to_text(program.axes[axis].size) + ", " +
                list_text(cutters(program.mesh, layout, axis)) + "}";
    }
    return "{" + text + "}";
}

namespace {

class StageWriter {
public:
    StageWriter(Emission& emission, const Class& device_class)
        : emission_(emission), program_(emission.program), class_(device_class),
          name_("Stage" + to_text(device_class.stage)) {
        std::set<std::string> taken;
        for (const Buffer& buffer : class_.buffers) {
            const std::string plain = long_name(buffer.name);
            std::string name = plain;
            for (int i = 2; !taken.insert(name).second; ++i) {
                name = plain + "_" + to_text(i);
            }
            pointers_.push_back(name);
        }
        for (size_t i = 0; i < class_.blocks.size(); ++i) {
            block_names_.push_back(identifier(class_.blocks[i].name));
        }
    }

    std::string write() {
        std::string blocks;
        for (size_t i = 0; i < class_.blocks.size(); ++i) {
            blocks += write_block(i);
        }
        const std::string order = write_order();
        std::string text = format("// What the devices of stage {0} do in one step of plan `{1}` for model `{2}`.\n", class_.stage,
                                  program_.plan, program_.model);
        text += "#include \"program.h\"\n";
        return text + "$KERNELS" + head() + blocks + order;
    }

private:
    // ---- the class

    std::string head() const {
        std::string text = "\n#include \"common/device.h\"\n#include \"common/error.h\"\n#include \"common/gemm.h\"\n"
                           "#include \"common/network.h\"\n#include \"common/philox.h\"\n#include \"common/trace.h\"\n\n#include <cuda_runtime.h>\n#include <nccl.h>\n\n"
                           "namespace plan {\nnamespace {\n\n";
        text += "class " + name_ + " final : public ssp::Stage {\npublic:\n";
        text += format("    explicit {0}(ssp::Device& device)\n        : device_(device), compute_(device.compute), "
                       "communication_(device.communication), network_(*device.network) {\n",
                       name_);
        if (class_.events > 0) {
            text += "        for (cudaEvent_t& event : events_) {\n"
                    "            SSP_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));\n        }\n";
        }
        text += "    }\n";
        if (class_.events > 0) {
            text += "    ~" + name_ + "() override {\n        for (cudaEvent_t event : events_) {\n"
                    "            cudaEventDestroy(event);\n        }\n    }\n";
        }
        text += "    void step(int64_t number) override;\n\nprivate:\n";
        for (const std::string& block : block_names_) {
            text += "    void " + block + "(int micro);\n";
        }
        text += "\n    template <typename T>\n    T* fixed(int64_t offset) const {\n"
                "        return reinterpret_cast<T*>(device_.fixed + offset);\n    }\n"
                "    template <typename T>\n    T* scratch(int64_t offset) const {\n"
                "        return reinterpret_cast<T*>(device_.scratch + offset);\n    }\n"
                "    /// In the frame of a micro-batch.\n"
                "    template <typename T>\n    T* frame(int micro, int64_t offset) const {\n";
        text += format("        static constexpr int slots[] = {{0}};\n", slots());
        text += format("        return reinterpret_cast<T*>(device_.frames + slots[micro] * int64_t({0}) + offset);\n    }\n",
                       class_.frame_bytes);
        if (class_.events > 0) {
            text += "    void record(int event, cudaStream_t stream) { SSP_CUDA(cudaEventRecord(events_[event], stream)); }\n"
                    "    void wait(int event, cudaStream_t stream) { SSP_CUDA(cudaStreamWaitEvent(stream, events_[event], 0)); }\n";
        }
        text += "\n    ssp::Device& device_;\n    cudaStream_t compute_;\n    cudaStream_t communication_;\n"
                "    ssp::Network& network_;\n    int64_t step_ = 0;\n";
        if (class_.events > 0) {
            text += format("    cudaEvent_t events_[{0}];\n", class_.events);
        }
        return text + "};\n\n";
    }

    std::string slots() const {
        std::string text;
        for (const int slot : class_.slots) {
            text += (text.empty() ? "" : ", ") + to_text(slot);
        }
        return text.empty() ? "0" : text;
    }

    // ---- buffers

    std::string pointer(BufferId id) {
        used_.insert(id);
        return pointers_[static_cast<size_t>(id.value)];
    }

    std::string address(BufferId id, const std::string& micro) const {
        const Buffer& buffer = class_.buffers[id];
        const std::string type = storage_type(buffer.dtype);
        switch (buffer.space) {
        case Space::Static: return format("fixed<{0}>({1})", type, buffer.offset);
        case Space::Scratch: return format("scratch<{0}>({1})", type, buffer.offset);
        case Space::Frame: return format("frame<{0}>({1}, {2})", type, micro, buffer.offset);
        case Space::Register: break;
        }
        SSPC_UNREACHABLE("a register has no address: " + buffer.name);
    }

    std::string axes_comment(const Buffer& buffer) const {
        std::string text;
        for (const AxisId axis : buffer.axes) {
            text += (text.empty() ? "" : ", ") + program_.axes[axis].name;
        }
        const std::string layout = sspc::to_text(buffer.layout, program_.mesh, program_.axes);
        return "[" + text + "] " + layout;
    }

    // ---- blocks

    std::string write_block(size_t index) {
        const Block& block = class_.blocks[index];
        used_.clear();
        std::string body;
        for (size_t at = 0; at < block.instructions.size();) {
            at = write_instruction(block, at, body);
        }
        std::string text = format("void {0}::{1}([[maybe_unused]] int micro) {\n", name_, block_names_[index]);
        text += format("    const ssp::Span span(compute_, \"{0}\", micro);\n", block.name);
        text += "    [[maybe_unused]] const Parts p(device_.at.data(), micro < 0 ? 0 : micro);\n";
        if (body.find("error") != std::string::npos) {
            text += "    [[maybe_unused]] int64_t* const error = device_.error;\n";
        }
        if (body.find("step") != std::string::npos) {
            text += "    [[maybe_unused]] const int64_t step = step_;\n";
        }
        if (body.find("seed") != std::string::npos) {
            text += "    [[maybe_unused]] const uint64_t seed = device_.seed;\n";
        }
        for (const BufferId id : used_) {
            const Buffer& buffer = class_.buffers[id];
            text += format("    auto* const {0} = {1}; // {2}\n", pointers_[static_cast<size_t>(id.value)],
                           address(id, "micro"), axes_comment(buffer));
        }
        return text + body + "}\n\n";
    }

    void comment(std::string& body, const std::string& what, const Span& span) {
        const std::string place = emission_.place(span);
        body += "\n    // " + what + (place.empty() ? "" : ", " + place) + "\n";
    }

    /// Returns the index of the next instruction.
    size_t write_instruction(const Block& block, size_t at, std::string& body) {
        const Instruction& instruction = block.instructions[at];
        if (const auto* compute = std::get_if<Compute>(&instruction)) {
            std::vector<const Compute*> group = {compute};
            size_t next = at + 1;
            for (; compute->kernel >= 0 && next < block.instructions.size(); ++next) {
                const Instruction& candidate = block.instructions[next];
                const auto* more = std::get_if<Compute>(&candidate);
                if (more && more->kernel == compute->kernel) {
                    group.push_back(more);
                } else if (!std::holds_alternative<Allocate>(candidate) && !std::holds_alternative<Free>(candidate)) {
                    break;
                }
            }
            write_kernel(group, body);
            return next;
        }
        std::visit(Match{
                       [&](const Compute&) {},
                       [&](const Communicate& c) { write_message(c, body); },
                       [&](const Load& load) {
                           const Buffer& buffer = class_.buffers[load.out];
                           body += format("    device_.load({0}, {1}, {2}, micro); // {3}\n",
                                          emission_.input_number(buffer.tensor), pointer(load.out),
                                          held_text(program_, buffer.axes, buffer.layout), buffer.tensor);
                       },
                       [&](const Fill& fill) { body += fill_text(fill.out, fill.value); },
                       [&](const Copy& copy) {
                           const Buffer& buffer = class_.buffers[copy.from];
                           body += format("    SSP_CUDA(cudaMemcpyAsync({0}, {1}, size_t({2}), cudaMemcpyDeviceToDevice, compute_));\n",
                                          pointer(copy.to), pointer(copy.from),
                                          (emission_.parts.elements(buffer) * Size(size_of(buffer.dtype))).text());
                       },
                       [&](const Allocate&) {},
                       [&](const Free&) {},
                       [&](const Record& r) { body += format("    record({0}, {1});\n", r.event.value, stream_name(r.stream)); },
                       [&](const Wait& w) { body += format("    wait({0}, {1});\n", w.event.value, stream_name(w.stream)); },
                   },
                   instruction);
        return at + 1;
    }

    static std::string stream_name(Stream stream) {
        return stream == Stream::Compute ? "compute_" : "communication_";
    }

    std::string fill_text(BufferId id, double value) {
        const Buffer& buffer = class_.buffers[id];
        std::string number = value == -HUGE_VAL ? "-INFINITY" : value == HUGE_VAL ? "INFINITY" : to_text(value);
        return format("    ssp::fill(compute_, {0}, {1}, {2}, {3});\n", dtype_text(buffer.dtype), pointer(id),
                      emission_.parts.elements(buffer).text(), number);
    }

    void write_kernel(const std::vector<const Compute*>& group, std::string& body) {
        const Compute& first = *group[0];
        const std::string phase = first.phase == Phase::Backward ? "grad " : first.phase == Phase::Update ? "update " : "";
        std::string what = (first.path.compare(0, phase.size(), phase) == 0 ? "" : phase) + first.path;
        if (group.size() > 1) {
            what += " and " + to_text(group.size() - 1) + " more, to " + group.back()->path;
        }
        comment(body, what, first.span);
        auto shape = common_shape(program_, class_, group);
        if (!shape) {
            // Numbers that were not given by `fuse`: each on its own.
            for (const Compute* member : group) {
                write_kernel({member}, body);
            }
            return;
        }
        if (shape->form == KernelForm::Contraction) {
            const auto mapping = map_contraction(emission_.parts, class_, first);
            if (mapping && is_float(class_.buffers[first.out].dtype) && size_of(class_.buffers[first.out].dtype) > 1) {
                body += gemm_text(first, *mapping);
                return;
            }
            shape->form = KernelForm::Rows;
        }
        if (shape->form == KernelForm::Scatter && !first.accumulate) {
            body += fill_text(first.out, 0);
        }
        KernelContext context;
        context.parts = &emission_.parts;
        context.device_class = &class_;
        context.pointer = [&](BufferId id) { return pointer(id); };
        context.checked = [&](const Compute& compute) {
            const std::string place = emission_.place(compute.span);
            const std::string name = compute.path + (place.empty() ? "" : " (" + place + ")");
            auto& known = emission_.checked;
            const auto found = std::find(known.begin(), known.end(), name);
            if (found != known.end()) {
                return static_cast<int>(found - known.begin()) + 1;
            }
            known.push_back(name);
            return static_cast<int>(known.size());
        };
        body += "    " + wrap(emission_.kernels.call(kernel_source(context, group, *shape), "compute_")) + "\n";
    }

    static std::string wrap(const std::string& line) {
        std::string result;
        std::string rest = line;
        while (rest.size() > 114) {
            const size_t comma = rest.rfind(", ", 112);
            if (comma == std::string::npos || comma < 20) {
                break;
            }
            result += rest.substr(0, comma + 1) + "\n";
            rest = "        " + rest.substr(comma + 2);
        }
        return result + rest;
    }

    /// The buffer's address, moved to where the compute's part begins if the buffer holds more.
    std::string part_pointer(const Compute& compute, BufferId id, const std::vector<AxisId>& axes) {
        Parts& parts = emission_.parts;
        const Buffer& buffer = class_.buffers[id];
        std::string text = pointer(id);
        Size stride;
        for (size_t i = axes.size(); i-- > 0;) {
            const PartKey mine = parts.key(compute.cut, axes[i], compute.chunk);
            const PartKey held = parts.key(buffer.layout, buffer.axes[i]);
            if (mine.cutters != held.cutters || mine.chunks != held.chunks) {
                const std::string begin = parts.begin(held);
                const std::string distance =
                    begin == "0" ? parts.begin(mine) : "(" + parts.begin(mine) + " - " + begin + ")";
                text += " + " + distance + (stride.is_one() ? "" : " * " + stride.text());
            }
            stride = stride * parts.size(held);
        }
        return text;
    }

    std::string gemm_text(const Compute& compute, const GemmMapping& map) {
        const auto slot = [&](int i) { return compute.reads[static_cast<size_t>(i)]; };
        const auto yes = [](bool value) { return value ? "true" : "false"; };
        std::string text = "    ssp::gemm(compute_, {" + map.m.text() + ", " + map.n.text() + ", " + map.k.text() + ", " +
               yes(map.transpose_a) + ", " + yes(map.transpose_b) + ", " + map.lda.text() + ", " + map.ldb.text() +
               ", " + map.ldc.text() + "}, " + to_text(map.scale) + ", " + yes(compute.accumulate) + ",\n              ";
        text += part_pointer(compute, slot(map.left), map.left_axes) + ", " +
                part_pointer(compute, slot(map.right), map.right_axes) + ", " +
                part_pointer(compute, compute.out, class_.buffers[compute.out].axes);
        std::string loops;
        for (const GemmLoop& loop : map.loops) {
            std::string axes;
            for (const AxisId axis : loop.axes) {
                axes += (axes.empty() ? "" : ", ") + program_.axes[axis].name;
            }
            loops += (loops.empty() ? "" : ", ") + std::string("{") + loop.count.text() + ", " + loop.a.text() + ", " +
                     loop.b.text() + ", " + loop.c.text() + (loop.sums ? ", true" : "") + "}";
        }
        return text + (loops.empty() ? "" : ",\n              {" + loops + "}") + ");\n";
    }

    // ---- messages

    void write_message(const Communicate& message, std::string& body) {
        std::string over;
        for (const int axis : message.mesh_axes) {
            over += (over.empty() ? "" : ", ") + program_.mesh.axes[static_cast<size_t>(axis)].name;
        }
        const std::string producer = emission_.place(message.model_span);
        comment(body, std::string(name_of(message.kind)) + " of " + class_.buffers[message.parts[0].from].tensor +
                          (message.parts.size() > 1 ? " and " + to_text(message.parts.size() - 1) + " more" : "") +
                          " over " + over + (producer.empty() ? "" : ", made at " + producer),
                message.span);
        const bool local = is_local(message.kind);
        if (!local) {
            emission_.communicators.insert(message.mesh_axes);
        }
        const std::string site = emission_.place(message.span);
        body += format("    ssp::site(\"{0}\");\n", site.empty() ? producer : site);
        static constexpr std::string_view names[] = {"all_reduce", "reduce_scatter", "all_gather", "exchange",
                                                     "slice",      "to_partial",     "exchange"};
        std::string head = format("    network_.{0}({1}, {.axes = {2}, .micro = micro < 0 ? 0 : micro",
                                  names[static_cast<size_t>(message.kind)], local ? "compute_" : "communication_",
                                  list_text(message.mesh_axes));
        if (message.accumulate) {
            head += ", .accumulate = true";
        }
        head += reduction_text(message);
        head += chunk_text(message);
        body += head + "}, {\n";
        for (const Communicate::Part& part : message.parts) {
            const Buffer& from = class_.buffers[part.from];
            std::string axes;
            for (size_t i = 0; i < from.axes.size(); ++i) {
                axes += (axes.empty() ? "" : ", ") + std::string("{") + to_text(program_.axes[from.axes[i]].size) + ", " +
                        list_text(cutters(program_.mesh, part.from_layout, from.axes[i])) + ", " +
                        list_text(cutters(program_.mesh, part.to_layout, from.axes[i])) + "}";
            }
            body += "        {" + pointer(part.from) + ", " + pointer(part.to) + ", " + dtype_text(from.dtype) + ", {" +
                    axes + "}},\n";
        }
        body += "    });\n";
    }

    static std::string reduction_text(const Communicate& message) {
        const auto axis = static_cast<size_t>(message.mesh_axes.at(0));
        const Placement& placement = message.kind == MoveKind::ToPartial ? message.parts[0].to_layout[axis]
                                                                         : message.parts[0].from_layout[axis];
        if (!placement.is_partial()) {
            return "";
        }
        switch (placement.reduction) {
        case Reduce::Max: return ", .reduction = ssp::Reduction::Max";
        case Reduce::Min: return ", .reduction = ssp::Reduction::Min";
        case Reduce::Prod: return ", .reduction = ssp::Reduction::Prod";
        default: return "";
        }
    }

    std::string chunk_text(const Communicate& message) const {
        if (!message.chunk || message.chunk->count < 2) {
            return "";
        }
        const auto& axes = class_.buffers[message.parts[0].from].axes;
        const auto found = std::find(axes.begin(), axes.end(), message.chunk->axis);
        SSPC_CHECK(found != axes.end(), "a chunk along an axis that the message's tensor lacks");
        return ", .chunk = {" + to_text(found - axes.begin()) + ", " + to_text(message.chunk->index) + ", " +
               to_text(message.chunk->count) + "}";
    }

    // ---- the order

    std::string write_order() {
        struct Line {
            std::string what;
            int number;
        };
        std::vector<Line> lines;
        std::vector<std::string> words; // enumerators, in order of first use
        const auto add = [&](const std::string& word, int number) {
            if (std::find(words.begin(), words.end(), word) == words.end()) {
                words.push_back(word);
            }
            lines.push_back({word, number});
        };
        std::map<std::string, std::string> calls; // enumerator → statement
        for (const OrderStep& step : class_.order) {
            if (const auto* run = std::get_if<RunBlock>(&step)) {
                const std::string& block = block_names_[static_cast<size_t>(run->block)];
                calls["run_" + block] = block + "(n);";
                add("run_" + block, run->micro);
            } else if (const auto* posts = std::get_if<Posts>(&step)) {
                if (posts->grouped) {
                    calls["group"] = "SSP_NCCL(ncclGroupStart());";
                    calls["end_group"] = "SSP_NCCL(ncclGroupEnd());";
                    add("group", 0);
                }
                for (const Post& post : posts->posts) {
                    const std::string word = post_word(post);
                    calls[word] = post_text(post);
                    add(word, post.micro);
                }
                if (posts->grouped) {
                    add("end_group", 0);
                }
            } else if (const auto* record = std::get_if<Record>(&step)) {
                const std::string word = record->stream == Stream::Compute ? "record_compute" : "record_communication";
                calls[word] = "record(n, " + stream_name(record->stream) + ");";
                add(word, record->event.value);
            } else if (const auto* wait = std::get_if<Wait>(&step)) {
                const std::string word = wait->stream == Stream::Compute ? "compute_waits" : "communication_waits";
                calls[word] = "wait(n, " + stream_name(wait->stream) + ");";
                add(word, wait->event.value);
            }
        }
        std::string enumerators, cases;
        for (const std::string& word : words) {
            enumerators += (enumerators.empty() ? "" : ", ") + word;
            cases += "        case " + word + ": " + calls.at(word) + " break;\n";
        }
        std::string text = "/// The order of a step: what to do, and for which micro-batch (or event).\n" +
               wrap("enum Do { " + enumerators + " };") + "\nstruct Turn {\n    Do what;\n    int n;\n};\n" +
               "constexpr Turn order[] = {\n";
        std::string row = "   ";
        for (const Line& line : lines) {
            const std::string item = " {" + line.what + ", " + to_text(line.number) + "},";
            if (row.size() + item.size() > 112) {
                text += row + "\n";
                row = "   ";
            }
            row += item;
        }
        text += row + "\n};\n\n";
        text += "void " + name_ + "::step(int64_t number) {\n    step_ = number;\n    for (const auto [what, n] : order) {\n"
                "        switch (what) {\n" + cases + "        }\n    }\n}\n\n} // namespace\n\n";
        text += format("ssp::Stage* make_stage_{0}(ssp::Device& device) { return new {1}(device); }\n\n} // namespace plan\n",
                       class_.stage, name_);
        if (lines.empty()) {
            return "void " + name_ + "::step(int64_t number) { step_ = number; }\n\n} // namespace\n\n" +
                   format("ssp::Stage* make_stage_{0}(ssp::Device& device) { return new {1}(device); }\n\n} // namespace plan\n",
                          class_.stage, name_);
        }
        return text;
    }

    std::string post_word(const Post& post) const {
        const Message& message = program_.messages[post.message];
        return (post.kind == Post::Kind::Send ? "send_" : "receive_") + identifier(message.name) + "_from_" +
               identifier(class_.buffers[post.buffer].name);
    }

    std::string post_text(const Post& post) {
        const Message& message = program_.messages[post.message];
        const auto stage_axis = find_role(program_.mesh, AxisRole::Stage);
        SSPC_CHECK(stage_axis, "a message between stages without a Stage axis");
        emission_.communicators.insert({*stage_axis});
        const Buffer& buffer = class_.buffers[post.buffer];
        const bool sends = post.kind == Post::Kind::Send;
        std::string count = emission_.parts.elements(buffer).text();
        const size_t at = count.find("p.");
        std::string parts;
        if (at != std::string::npos) {
            parts = "const Parts p(device_.at.data(), n < 0 ? 0 : n); ";
        }
        const std::string text = format("network_.{0}(communication_, {1}, {2}, {3}, {4}, {5});", sends ? "send" : "receive",
                                        *stage_axis, sends ? message.to_stage : message.from_stage,
                                        address(post.buffer, "n"), count, dtype_text(buffer.dtype));
        const std::string site = emission_.place(message.span);
        return "{ " + (site.empty() ? "" : "ssp::site(\"" + site + "\"); ") + parts + text + " }";
    }

    Emission& emission_;
    const Program& program_;
    const Class& class_;
    std::string name_;
    std::vector<std::string> pointers_;
    std::vector<std::string> block_names_;
    std::set<BufferId> used_;
};

} // namespace

std::string stage_source(Emission& emission, const Class& device_class) {
    return StageWriter(emission, device_class).write();
}

} // namespace sspc::backend
