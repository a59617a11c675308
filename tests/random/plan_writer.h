// Writes random plans for a model as .ssp text.
#pragma once

#include "tests/random/model_writer.h"

namespace sspc::random {

struct WrittenPlan {
    std::string text;
    std::vector<std::string> met; ///< kinds of plan statement
};

/// A plan called `p` for model `m`.
WrittenPlan write_plan(Numbers& numbers, const WrittenModel& model);

} // namespace sspc::random
