// Owns the text of every source file; turns byte offsets into lines and columns.
#pragma once

#include "ir/support/span.h"

#include <string>
#include <string_view>
#include <vector>

namespace sspc {

/// Both count from 1; the column counts code points.
struct Position {
    int line = 0;
    int column = 0;
    friend bool operator==(const Position&, const Position&) = default;
};

class SourceMap {
public:
    /// `path` is shown to the user as it is given. The same path may be added twice; each has its own id.
    FileId add_file(std::string path, std::string text);

    size_t size() const { return files_.size(); }
    const std::string& path(FileId file) const { return files_[file].path; }
    /// Valid until the next add_file.
    std::string_view text(FileId file) const { return files_[file].text; }
    /// The text of a span; empty for a span that is nowhere.
    std::string_view text(const Span& span) const;

    /// Where a byte stands. An offset past the end is the end.
    Position position(FileId file, uint32_t offset) const;
    Position begin(const Span& span) const { return position(span.file, span.begin); }
    Position end(const Span& span) const { return position(span.file, span.end); }

    /// A line (from 1) without its end-of-line characters, and the byte it starts at.
    std::string_view line_text(FileId file, int line) const;
    uint32_t line_begin(FileId file, int line) const;

private:
    struct File {
        std::string path;
        std::string text;
        std::vector<uint32_t> lines; ///< the byte at which each line starts
    };
    IdVector<FileId, File> files_;
};

} // namespace sspc
