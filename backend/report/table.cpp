// Tables for the terminal.
#include "backend/report/table.h"

#include "ir/support/check.h"
#include "ir/support/unicode.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace sspc::backend {

namespace {

constexpr size_t indent = 2;
constexpr size_t gap = 2;
constexpr size_t least_shrunk = 12; ///< a cell that may shrink keeps at least this much

std::string padded(const std::string& text, size_t width, Table::Align align) {
    const std::string fill(width - std::min(width, text_width(text)), ' ');
    return align == Table::Align::Left ? text + fill : fill + text;
}

/// Byte offsets at which the characters of `text` begin, and its end.
std::vector<size_t> character_starts(const std::string& text) {
    std::vector<size_t> starts;
    for (size_t i = 0; i < text.size();) {
        starts.push_back(i);
        i += static_cast<size_t>(decode_utf8(text, i).bytes);
    }
    starts.push_back(text.size());
    return starts;
}

} // namespace

size_t text_width(const std::string& text) {
    size_t width = 0;
    for (size_t i = 0; i < text.size();) {
        const CodePoint point = decode_utf8(text, i);
        width += static_cast<size_t>(terminal_width(point.value));
        i += static_cast<size_t>(point.bytes);
    }
    return width;
}

std::string shorten(const std::string& text, size_t width) {
    if (text_width(text) <= width || width < 3) {
        return text;
    }
    const std::vector<size_t> starts = character_starts(text);
    const size_t head = (width - 1) / 2;
    const size_t tail = width - 1 - head;
    const size_t characters = starts.size() - 1;
    return text.substr(0, starts[std::min(head, characters)]) + "…" +
           text.substr(starts[characters - std::min(tail, characters)]);
}

void Table::row(std::vector<std::string> cells) {
    SSPC_CHECK(cells.size() == columns_.size(), "a row has one cell for each column");
    rows_.push_back(std::move(cells));
}

std::string Table::text(size_t width) const {
    std::vector<size_t> widths;
    size_t total = indent;
    for (size_t c = 0; c < columns_.size(); ++c) {
        size_t widest = text_width(columns_[c].heading);
        for (const auto& cells : rows_) {
            widest = std::max(widest, text_width(cells[c]));
        }
        widths.push_back(widest);
        total += widest + (c > 0 ? gap : 0);
    }
    while (total > width) {
        // Take from the widest column that can give.
        size_t widest = columns_.size();
        for (size_t c = 0; c < columns_.size(); ++c) {
            if (columns_[c].may_shrink && widths[c] > least_shrunk &&
                (widest == columns_.size() || widths[c] > widths[widest])) {
                widest = c;
            }
        }
        if (widest == columns_.size()) {
            break;
        }
        --widths[widest];
        --total;
    }
    std::string out;
    const auto line = [&](const std::vector<std::string>& cells) {
        std::string text(indent, ' ');
        for (size_t c = 0; c < cells.size(); ++c) {
            const Align align = columns_[c].align;
            text += std::string(c > 0 ? gap : 0, ' ') +
                    padded(columns_[c].may_shrink ? shorten(cells[c], widths[c]) : cells[c],
                           widths[c], align);
        }
        text.erase(text.find_last_not_of(' ') + 1);
        out += text + "\n";
    };
    std::vector<std::string> headings;
    for (const Column& column : columns_) {
        headings.push_back(column.heading);
    }
    line(headings);
    for (const auto& cells : rows_) {
        line(cells);
    }
    return out;
}

std::string fixed(double value, int digits) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%.*f", digits, value);
    return buffer;
}

std::string scientific(double value) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%.1e", value);
    return buffer;
}

namespace {

std::string scaled(double value, double base, const std::vector<std::string>& units) {
    size_t unit = 0;
    while (std::abs(value) >= base && unit + 1 < units.size()) {
        value /= base;
        ++unit;
    }
    const bool whole = unit == 0 || std::abs(value) >= 100;
    return fixed(value, whole ? 0 : 1) + (units[unit].empty() ? "" : " " + units[unit]);
}

} // namespace

std::string in_bytes(int64_t bytes) {
    return scaled(static_cast<double>(bytes), 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
}

std::string in_units(double value) {
    return scaled(value, 1000, {"", "k", "M", "G", "T", "P", "E"});
}

} // namespace sspc::backend
