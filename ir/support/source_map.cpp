// Owns the text of every source file; turns byte offsets into lines and columns.
#include "ir/support/source_map.h"

#include "ir/support/check.h"
#include "ir/support/unicode.h"

#include <algorithm>
#include <limits>

namespace sspc {

FileId SourceMap::add_file(std::string path, std::string text) {
    SSPC_CHECK(text.size() < std::numeric_limits<uint32_t>::max(), "source file over 4 GiB");
    File file{std::move(path), std::move(text), {0}};
    for (size_t i = 0; i < file.text.size(); ++i) {
        if (file.text[i] == '\n') {
            file.lines.push_back(static_cast<uint32_t>(i + 1));
        }
    }
    return files_.push_back(std::move(file));
}

std::string_view SourceMap::text(const Span& span) const {
    if (!span.valid()) {
        return {};
    }
    const std::string& all = files_[span.file].text;
    const size_t begin = std::min<size_t>(span.begin, all.size());
    const size_t end = std::clamp<size_t>(span.end, begin, all.size());
    return std::string_view(all).substr(begin, end - begin);
}

Position SourceMap::position(FileId file, uint32_t offset) const {
    const File& f = files_[file];
    offset = std::min(offset, static_cast<uint32_t>(f.text.size()));
    const auto after = std::upper_bound(f.lines.begin(), f.lines.end(), offset);
    const int line = static_cast<int>(after - f.lines.begin());
    const uint32_t start = f.lines[static_cast<size_t>(line - 1)];
    const auto before = std::string_view(f.text).substr(start, offset - start);
    return {line, static_cast<int>(count_code_points(before)) + 1};
}

uint32_t SourceMap::line_begin(FileId file, int line) const {
    const File& f = files_[file];
    SSPC_CHECK(line >= 1 && line <= static_cast<int>(f.lines.size()), "no such line");
    return f.lines[static_cast<size_t>(line - 1)];
}

std::string_view SourceMap::line_text(FileId file, int line) const {
    const uint32_t start = line_begin(file, line);
    std::string_view rest = std::string_view(files_[file].text).substr(start);
    rest = rest.substr(0, rest.find('\n'));
    if (!rest.empty() && rest.back() == '\r') {
        rest.remove_suffix(1);
    }
    return rest;
}

} // namespace sspc
