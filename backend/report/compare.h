// Compares two runs tensor by tensor: what `sspc verify` reports.
#pragma once

#include "backend/report/tensor_file.h"

#include <map>
#include <string>
#include <vector>

namespace sspc::backend {

struct Comparison {
    std::string path; ///< `loss`, `grad layer.0.attn.wq`, `layer.0.attn.wq`, …
    double max_abs = 0;
    double max_rel = 0; ///< max_abs over the scale: the largest value of the reference, or the floor if that is larger
    bool ok = true;
    std::string problem; ///< absent on one side, another shape; empty otherwise
};

struct Tolerance {
    double relative = 0; ///< of the tensor's scale
    /// The scale is at least this share of the largest value of all tensors compared together: some tensors are zero but for
    /// rounding (the gradient of a key's bias, which softmax cancels), and have no scale of their own.
    double floor_share = 0;
};

/// One comparison for each name of either side, those of `reference` in order. `prefix` goes before the name in the report.
std::vector<Comparison> compare(const std::map<std::string, StoredTensor>& reference,
                                const std::map<std::string, StoredTensor>& other,
                                const Tolerance& tolerance, const std::string& prefix);

/// The largest values first that differ, then the others by difference.
void worst_first(std::vector<Comparison>& comparisons);
bool all_ok(const std::vector<Comparison>& comparisons);

/// `{"ok", "tensors": [{"path", "max_abs", "max_rel", "ok"}], "tolerance"}`
std::string comparison_json(const std::vector<Comparison>& comparisons, double tolerance);
/// A table of the `most` worst, and how many there are besides.
std::string comparison_text(const std::vector<Comparison>& comparisons, double tolerance,
                            size_t most);

} // namespace sspc::backend
