// Writes random small models as .ssp text.
#pragma once

#include "tests/random/numbers.h"

#include <string>
#include <vector>

namespace sspc::random {

struct NamedAxis {
    std::string name;
    int size = 1;
};

/// A statement that reduces an axis by another operation than a sum.
struct NamedReduction {
    std::string task;
    std::string reduced;
    std::string kept;
};

/// What a plan may name.
struct WrittenModel {
    std::string text;
    std::vector<std::string> met; ///< kinds of statement, for the count of what was met
    std::vector<NamedAxis> axes;  ///< the first is the axis of rows
    std::vector<std::string> blocks; ///< selectors of the outermost blocks in order; a loop is one for each turn
    std::vector<std::string> tasks;  ///< selectors of single statements
    std::vector<std::string> modules; ///< selectors of module instances
    std::vector<NamedReduction> reductions;
    std::vector<std::string> outputs; ///< names after `output`
    bool trains = true;
    bool splits = true; ///< rows stay apart until the loss, so they may be split in time
    bool passes = false; ///< has a `pass`
};

WrittenModel write_model(Numbers& numbers);

} // namespace sspc::random
