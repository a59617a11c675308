// What the classes assumed of one another: sums over stages, and the two ends of messages.
#pragma once

#include "ir/check/content.h"
#include "ir/support/sink.h"

namespace sspc::check {

/// Every class issues the same collectives over the stages, and each term of their sums is added by exactly one stage.
void check_stage_sums(const Checked& checked, const std::vector<Outcome>& outcomes, Sink& sink);
/// What a message delivers is what was sent: tensor and layout.
void check_message_ends(const Checked& checked, const std::vector<Outcome>& outcomes, Sink& sink);

} // namespace sspc::check
