// Tables for the terminal: columns as wide as their widest cell, within a width; numbers with units.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sspc::backend {

class Table {
public:
    enum class Align { Left, Right };
    struct Column {
        std::string heading;
        Align align = Align::Left;
        bool may_shrink = false; ///< cells are cut in the middle where the table would be too wide
    };
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    /// One cell a column.
    void row(std::vector<std::string> cells);
    bool empty() const { return rows_.empty(); }
    /// Each line begins with two spaces and ends with a line feed.
    std::string text(size_t width = 80) const;

private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

/// `12.5 MiB`, `640 B`: at most four digits.
std::string in_bytes(int64_t bytes);
/// `1.2 G`, `640`, decimal.
std::string in_units(double value);
/// `3.14` with `digits` digits behind the point.
std::string fixed(double value, int digits);
/// `1.3e-07`
std::string scientific(double value);
/// Columns that UTF-8 text takes in a terminal.
size_t text_width(const std::string& text);
/// `text` cut in the middle with `…` to at most `width` columns.
std::string shorten(const std::string& text, size_t width);

} // namespace sspc::backend
