// The document of `sspc explain --json`: keys in the order that docs/language.md promises.
#include "backend/report/facts.h"

#include <nlohmann/json.hpp>

namespace sspc::backend {

std::string explain_json(const Facts& facts) {
    using Json = nlohmann::ordered_json;
    Json document;
    document["plan"] = facts.plan;
    document["model"] = facts.model;
    document["devices"] = facts.devices;
    document["classes"] = facts.memory.size();
    document["tensors"] = Json::array();
    for (const TensorFact& tensor : facts.tensors) {
        Json object;
        object["path"] = tensor.path;
        object["axes"] = tensor.axes;
        object["shape"] = tensor.shape;
        object["dtype"] = tensor.dtype;
        object["layout"] = Json::object();
        for (size_t i = 0; i < facts.mesh_axes.size(); ++i) {
            object["layout"][facts.mesh_axes[i]] = tensor.layout[i];
        }
        document["tensors"].push_back(std::move(object));
    }
    document["messages"] = Json::array();
    for (const MessageFact& message : facts.messages) {
        Json object;
        object["kind"] = message.kind;
        object["tensor"] = message.tensor;
        object["phase"] = name_of(message.phase);
        object["axes"] = message.axes;
        object["group"] = message.group;
        object["bytes"] = message.bytes;
        object["count"] = message.count;
        object["line"] = message.line > 0 ? Json(message.line) : Json(nullptr);
        document["messages"].push_back(std::move(object));
    }
    document["memory"] = Json::array();
    for (const MemoryFact& memory : facts.memory) {
        Json object;
        object["device"] = memory.devices.empty() ? 0 : memory.devices.front();
        object["peak"] = memory.peak;
        object["params"] = memory.params;
        object["grads"] = memory.grads;
        object["optimizer"] = memory.optimizer;
        object["activations"] = memory.activations;
        object["buffers"] = memory.buffers;
        object["devices"] = memory.devices;
        document["memory"].push_back(std::move(object));
    }
    return document.dump(2) + "\n";
}

} // namespace sspc::backend
