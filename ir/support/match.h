// `std::visit(Match{[](const A&) {…}, [](const B&) {…}}, variant)`: one function for each kind.
#pragma once

#include <variant>

namespace sspc {

template <typename... Functions>
struct Match : Functions... {
    using Functions::operator()...;
};
template <typename... Functions>
Match(Functions...) -> Match<Functions...>;

} // namespace sspc
