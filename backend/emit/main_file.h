// main.cpp: what the program tells the launcher.
#pragma once

#include "backend/emit/stage.h"

#include <string>

namespace sspc::backend {

/// After all classes: the communicators and checked statements are known then.
std::string main_source(const Emission& emission);

} // namespace sspc::backend
