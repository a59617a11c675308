// Sizes and places of local parts, as text of the generated program: numbers where every device holds the same, names where parts differ.
#pragma once

#include "ir/program/program.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sspc::backend {

/// The part of an axis that a device works on: the axis, the mesh axes that cut it, and perhaps one chunk of that.
struct PartKey {
    AxisId axis;
    std::vector<int> cutters;
    int chunk = 0;
    int chunks = 1;
    friend auto operator<=>(const PartKey&, const PartKey&) = default;
};

/// A product of numbers and sizes of parts, canonical so that equal products have equal text.
class Size {
public:
    Size() = default;
    explicit Size(int64_t number) : number_(number) {}
    static Size named(std::string name) {
        Size size;
        size.names_[std::move(name)] = 1;
        return size;
    }
    Size operator*(const Size& other) const;
    /// `8`, `p.batch_dp.size * 64`
    std::string text() const;
    /// Says of which axes it is a product: sizes that are equal by chance stay apart where they get names.
    const std::multiset<std::string>& origin() const { return origin_; }
    Size from(std::string origin) const {
        Size size = *this;
        size.origin_ = {std::move(origin)};
        return size;
    }
    bool is_one() const { return number_ == 1 && names_.empty(); }
    std::optional<int64_t> constant() const { return names_.empty() ? std::optional(number_) : std::nullopt; }
    friend bool operator==(const Size& a, const Size& b) { return a.number_ == b.number_ && a.names_ == b.names_; }

private:
    int64_t number_ = 1;
    std::map<std::string, int> names_;
    std::multiset<std::string> origin_;
};

/// The parts that a program speaks of, collected while it is emitted and declared in program.h.
class Parts {
public:
    explicit Parts(const Program& program) : program_(program) {}

    PartKey key(const Cut& cut, AxisId axis, const std::optional<Chunk>& chunk = std::nullopt) const;
    PartKey key(const Layout& layout, AxisId axis) const;

    Size size(const PartKey& key);
    /// Where the part begins on the axis; `0` for what is not cut.
    std::string begin(const PartKey& key);
    /// Local number of elements of a buffer.
    Size elements(const Buffer& buffer);

    /// The members and the constructor of `struct Parts`, for program.h.
    std::string declaration() const;
    const Program& program() const { return program_; }

private:
    std::string name(const PartKey& key);

    const Program& program_;
    std::map<PartKey, std::string> names_;
};

/// A name that C++ accepts, made of the letters and digits of `text`.
std::string identifier(std::string_view text);

} // namespace sspc::backend
