// Strong index types: an `Id<Tag>` names one element of one `IdVector<Id<Tag>, T>` and nothing else.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <utility>
#include <vector>

namespace sspc {

/// An index into one kind of table. The default is invalid.
template <typename Tag>
struct Id {
    int32_t value = -1;

    constexpr Id() = default;
    constexpr explicit Id(int32_t v) : value(v) {}
    constexpr explicit Id(size_t v) : value(static_cast<int32_t>(v)) {}

    constexpr bool valid() const { return value >= 0; }
    constexpr explicit operator bool() const { return valid(); }
    friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

/// A vector that is indexed by its own kind of id only.
template <typename IdType, typename T>
class IdVector {
public:
    IdVector() = default;
    IdVector(std::initializer_list<T> items) : items_(items) {}
    explicit IdVector(size_t size, const T& value = T()) : items_(size, value) {}

    IdType push_back(T item) {
        items_.push_back(std::move(item));
        return IdType(items_.size() - 1);
    }
    decltype(auto) operator[](IdType id) { return items_.at(static_cast<size_t>(id.value)); }
    decltype(auto) operator[](IdType id) const { return items_.at(static_cast<size_t>(id.value)); }

    size_t size() const { return items_.size(); }
    bool empty() const { return items_.empty(); }
    bool contains(IdType id) const {
        return id.valid() && static_cast<size_t>(id.value) < items_.size();
    }
    void resize(size_t size, const T& value = T()) { items_.resize(size, value); }
    void reserve(size_t size) { items_.reserve(size); }
    void clear() { items_.clear(); }

    auto begin() { return items_.begin(); }
    auto end() { return items_.end(); }
    auto begin() const { return items_.begin(); }
    auto end() const { return items_.end(); }
    decltype(auto) back() { return items_.back(); }
    decltype(auto) back() const { return items_.back(); }

    /// `for (IdType id : vector.ids())`; the size is taken when the range is made.
    class Ids {
    public:
        struct iterator {
            using iterator_category = std::input_iterator_tag;
            using value_type = IdType;
            using difference_type = std::ptrdiff_t;
            using pointer = const IdType*;
            using reference = IdType;
            int32_t at = 0;
            IdType operator*() const { return IdType(at); }
            iterator& operator++() {
                ++at;
                return *this;
            }
            iterator operator++(int) { return iterator{at++}; }
            friend bool operator==(const iterator&, const iterator&) = default;
        };
        explicit Ids(size_t size) : size_(static_cast<int32_t>(size)) {}
        iterator begin() const { return {0}; }
        iterator end() const { return {size_}; }

    private:
        int32_t size_;
    };
    Ids ids() const { return Ids(items_.size()); }

    std::vector<T>& raw() { return items_; }
    const std::vector<T>& raw() const { return items_; }
    friend bool operator==(const IdVector&, const IdVector&) = default;

private:
    std::vector<T> items_;
};

} // namespace sspc

template <typename Tag>
struct std::hash<sspc::Id<Tag>> {
    size_t operator()(const sspc::Id<Tag>& id) const noexcept {
        return std::hash<int32_t>()(id.value);
    }
};
