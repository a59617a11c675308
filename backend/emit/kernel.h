// Kernels as text: the function object of one fused group, its arguments, and the values they take at one call.
#pragma once

#include "backend/emit/parts.h"
#include "ir/passes/kernel_shape.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace sspc::backend {

/// Text with names still open: a name is `\x01` key `\x02`, so that kernels that differ in names alone are the same.
std::string open_name(const std::string& key);

struct KernelArgument {
    std::string key;   ///< open name
    std::string type;
    std::string hint;  ///< wish for its name
    std::string value; ///< at the call
    std::string origin = ""; ///< of a size: the axes it is a product of
};

struct KernelSource {
    std::string name;    ///< wish for its name
    std::string comment; ///< what it computes, one line a statement
    std::vector<KernelArgument> arguments;
    std::map<std::string, std::string> hints; ///< of indices and values
    std::string members; ///< of the function object, with open names
    std::string launch;  ///< the call of ssp::launch…, with open names; `$K` stands for the object
};

/// What kernel text needs to know of its surroundings.
struct KernelContext {
    Parts* parts = nullptr;
    const Class* device_class = nullptr;
    std::function<std::string(BufferId)> pointer; ///< the variable at the call that holds a buffer's address
    std::function<int(const Compute&)> checked;   ///< number (from 1) of a statement whose indices are checked
};

KernelSource kernel_source(const KernelContext& context, const std::vector<const Compute*>& group,
                           const KernelShape& shape);

/// All kernels of a program; equal ones are one.
class KernelSet {
public:
    /// The text of a call, `softmax(compute, s, p, 64)`.
    std::string call(const KernelSource& source, const std::string& stream);
    /// kernels_0.h, kernels_0.cu, …
    std::map<std::string, std::string> files() const;
    std::vector<std::string> headers() const;

private:
    struct Kernel {
        std::string name;
        KernelSource first;
    };
    std::map<std::string, size_t> index_; ///< canonical text → kernel
    std::vector<Kernel> kernels_;
    std::map<std::string, int> names_;
};

} // namespace sspc::backend
