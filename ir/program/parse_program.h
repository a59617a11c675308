// Reads the `.sspd` text of a device program.
#pragma once

#include "ir/program/program.h"
#include "ir/support/sink.h"

#include <optional>
#include <string_view>

namespace sspc {

/// The program that `text` describes; reports what is wrong with its line and column in `file` (SSP01xx). Never crashes on bad text.
std::optional<Program> parse_program(FileId file, std::string_view text, Sink& sink);

} // namespace sspc
