// Writes random plans for a model as .ssp text.
#include "tests/random/plan_writer.h"

#include <algorithm>
#include <map>
#include <sstream>

namespace sspc::random {

namespace {

struct MeshAxisChoice {
    std::string name;
    int size;
    bool stages = false;
};

class PlanWriter {
public:
    PlanWriter(Numbers& numbers, const WrittenModel& model) : numbers_(numbers), model_(model) {}
    WrittenPlan write();

private:
    void met(const std::string& what) { plan_.met.push_back("plan " + what); }
    void line(const std::string& text) { lines_.push_back("  " + text); }
    void mesh();
    void shards();
    void stages();
    std::string selector();
    std::vector<const MeshAxisChoice*> device_axes() const {
        std::vector<const MeshAxisChoice*> out;
        for (const MeshAxisChoice& a : mesh_) {
            if (!a.stages) {
                out.push_back(&a);
            }
        }
        return out;
    }
    std::string only() {
        if (!numbers_.chance(0.4)) {
            return "";
        }
        met("shard … for");
        std::string out = " for " + selector();
        if (numbers_.chance(0.3)) {
            out += ", " + selector();
        }
        return out;
    }

    Numbers& numbers_;
    const WrittenModel& model_;
    WrittenPlan plan_;
    std::vector<std::string> lines_;
    std::vector<MeshAxisChoice> mesh_;
    bool split_ = false;
    std::map<std::string, int> parts_; ///< of each axis of the model, were all statements to apply
};

std::string PlanWriter::selector() {
    const int kind = numbers_.below(10);
    if (kind < 3) {
        return numbers_.pick(model_.blocks);
    }
    if (kind < 7 || model_.modules.empty()) {
        return model_.tasks.empty() ? numbers_.pick(model_.blocks) : numbers_.pick(model_.tasks);
    }
    if (kind < 8) {
        return numbers_.pick(model_.modules);
    }
    const std::string task = numbers_.pick(model_.tasks);
    return kind == 8 ? "**" + task.substr(task.rfind('.')) : task + "!";
}

void PlanWriter::mesh() {
    const int axes = numbers_.between(1, 3);
    int devices = 1;
    const std::vector<std::string> names{"d", "t", "u"};
    for (int i = 0; i < axes; ++i) {
        const int most = 12 / devices;
        if (most < 2) {
            break;
        }
        const std::vector<int> sizes{2, 2, 2, 3, 3, 4, 5, 6, 1};
        const int size = std::min(most, numbers_.pick(sizes));
        mesh_.push_back({names[static_cast<size_t>(i)], size});
        devices *= size;
    }
    const int items = static_cast<int>(model_.blocks.size());
    if (!model_.passes && numbers_.chance(0.45) && items >= 2) {
        for (MeshAxisChoice& a : mesh_) {
            if (a.size >= 2 && a.size <= items) {
                a.stages = true;
                a.name = "s";
                break;
            }
        }
    }
    std::string text;
    for (const MeshAxisChoice& a : mesh_) {
        text += (text.empty() ? "" : ", ") + a.name + ": " + std::to_string(a.size);
    }
    line("mesh g[" + text + "];");
    met("mesh of " + std::to_string(mesh_.size()) + (mesh_.size() == 1 ? " axis" : " axes"));
}

void PlanWriter::shards() {
    const auto axes = device_axes();
    if (axes.empty()) {
        return;
    }
    std::vector<std::string> across;
    if (!model_.reductions.empty() && numbers_.chance(0.7)) {
        // The parts of a maximum go to what is cut by another axis.
        const NamedReduction& r = numbers_.pick(model_.reductions);
        const MeshAxisChoice& over = **(axes.begin() + numbers_.below(static_cast<int>(axes.size())));
        const auto fits = [&](const std::string& name) {
            const auto axis = std::find_if(model_.axes.begin(), model_.axes.end(), [&](const NamedAxis& a) { return a.name == name; });
            int& parts = parts_.try_emplace(name, 1).first->second;
            return over.size > 1 && parts * over.size <= axis->size;
        };
        if (fits(r.kept) && fits(r.reduced)) {
            across.push_back("  shard " + r.kept + " over " + over.name + ";");
            across.push_back("  shard " + r.reduced + " over " + over.name + " for " + r.task + ";");
            parts_[r.kept] *= over.size;
            parts_[r.reduced] *= over.size;
        }
    }
    const int count = numbers_.between(1, 5);
    std::vector<std::pair<std::string, std::string>> before;
    for (int i = 0, tries = 0; i < count && tries < 40; ++tries) {
        const MeshAxisChoice& over = **(axes.begin() + numbers_.below(static_cast<int>(axes.size())));
        const NamedAxis& axis = numbers_.chance(0.35) ? model_.axes[0] : numbers_.pick(model_.axes);
        int& parts = parts_.try_emplace(axis.name, 1).first->second;
        if (over.size == 1 || parts * over.size > axis.size) {
            if (!numbers_.chance(0.01)) {
                continue;
            }
        }
        for (const auto& [a, m] : before) {
            if (m == over.name && a != axis.name) {
                met("shard overridden by a later one");
                break;
            }
        }
        if (parts > 1) {
            met("shard of one axis over two mesh axes");
        }
        parts *= over.size;
        before.emplace_back(axis.name, over.name);
        line("shard " + axis.name + " over " + over.name + only() + ";");
        met("shard");
        met(axis.size % over.size == 0 ? "shard that divides" : "shard that does not divide");
        ++i;
    }
    lines_.insert(lines_.end(), across.begin(), across.end());
    if (!model_.trains) {
        return;
    }
    for (const auto& [what, chance] : {std::pair{"optimizer", 0.35}, std::pair{"grads", 0.2}, std::pair{"params", 0.2}}) {
        if (!numbers_.chance(chance)) {
            continue;
        }
        const MeshAxisChoice& over = **(axes.begin() + numbers_.below(static_cast<int>(axes.size())));
        std::string limited;
        if (numbers_.chance(0.2)) {
            limited = " for " + numbers_.pick(model_.blocks);
        }
        line(std::string("shard ") + what + " over " + over.name + limited + ";");
        met(std::string("shard ") + what);
    }
}

void PlanWriter::stages() {
    const auto at = std::find_if(mesh_.begin(), mesh_.end(), [](const MeshAxisChoice& a) { return a.stages; });
    if (at == mesh_.end()) {
        return;
    }
    if (numbers_.chance(0.3)) {
        // Every stage has an item; the rest where they may stand.
        const int items = static_cast<int>(model_.blocks.size());
        std::vector<int> first(static_cast<size_t>(at->size), 0);
        for (int s = 1; s < at->size; ++s) {
            first[static_cast<size_t>(s)] = numbers_.between(first[static_cast<size_t>(s - 1)] + 1, items - (at->size - s));
        }
        for (int s = 0; s < at->size; ++s) {
            const int end = s + 1 < at->size ? first[static_cast<size_t>(s + 1)] : items;
            std::string text;
            for (int i = first[static_cast<size_t>(s)]; i < end; ++i) {
                text += (text.empty() ? "" : ", ") + model_.blocks[static_cast<size_t>(i)];
            }
            line("stage " + text + " on g[s = " + std::to_string(s) + "];");
        }
        met("stage … on");
    } else {
        std::string text;
        std::string last;
        for (const std::string& b : model_.blocks) {
            const size_t open = b.find('[');
            const std::string item = open == b.npos ? b : b.substr(0, open) + "[*]";
            if (item != last) {
                text += (text.empty() ? "" : ", ") + item;
            }
            last = item;
        }
        line("stages " + text + " over s;");
        met("stages");
    }
    if (model_.trains && split_ && numbers_.chance(0.9)) {
        const bool interleaved = numbers_.chance(0.5);
        line(interleaved ? "schedule one_f_one_b;" : "schedule gpipe;");
        met(interleaved ? "schedule one_f_one_b" : "schedule gpipe");
    }
}

WrittenPlan PlanWriter::write() {
    mesh();
    // Outputs that have rows leave the loop in parts.
    if (numbers_.chance(model_.splits ? (model_.outputs.empty() ? 0.6 : 0.15) : 0.06)) {
        const int rows = model_.axes[0].size;
        const int parts = std::min(rows, numbers_.between(2, 4));
        if (parts > 1) {
            line("split batch into " + std::to_string(parts) + ";");
            met("split");
            met(rows % parts == 0 ? "split that divides" : "split that does not divide");
            parts_["batch"] = parts;
            split_ = true;
        }
    }
    const bool uses = numbers_.chance(0.1);
    const size_t used = lines_.size();
    shards();
    stages();
    if (numbers_.chance(0.25)) {
        line("recompute " + selector() + ";");
        met("recompute");
    }
    if (model_.trains && numbers_.chance(0.25)) {
        line("bucket grads by 1 KB;");
        met("bucket");
    }
    if (numbers_.chance(0.25) && !model_.tasks.empty()) {
        const std::string task = numbers_.pick(model_.tasks);
        line("overlap " + task + " with comm(" + task + ") in " + std::to_string(numbers_.between(2, 3)) + " chunks;");
        met("overlap");
    }
    if (numbers_.chance(0.2)) {
        line("keep gathered " + selector() + ";");
        met("keep gathered");
    }
    for (const std::string& out : model_.outputs) {
        if (numbers_.chance(0.4)) {
            line("output " + out + " whole;");
            met("output whole");
        }
    }
    std::ostringstream text;
    if (uses) {
        text << "plan base for m {\n";
        for (size_t i = 0; i < used; ++i) {
            text << lines_[i] << "\n";
        }
        text << "}\n";
        lines_.erase(lines_.begin(), lines_.begin() + static_cast<std::ptrdiff_t>(used));
        lines_.insert(lines_.begin(), "  use base;");
        met("use");
    }
    text << "default plan p for m {\n";
    for (const std::string& l : lines_) {
        text << l << "\n";
    }
    text << "}\n";
    plan_.text = text.str();
    return plan_;
}

} // namespace

WrittenPlan write_plan(Numbers& numbers, const WrittenModel& model) {
    return PlanWriter(numbers, model).write();
}

} // namespace sspc::random
