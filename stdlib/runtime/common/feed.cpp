// The batches of a run.
#include "common/feed.h"

#include "common/error.h"
#include "common/philox.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <tuple>

namespace ssp {
namespace {

std::string read_text(const std::string& path) {
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (!file.is_open() || file.bad()) {
        fail("SSP0804", "`" + path + "` could not be read: " + std::strerror(errno != 0 ? errno : EIO));
    }
    return bytes;
}

bool is_integer(DType type) {
    return type == DType::I64 || type == DType::I32 || type == DType::I8 || type == DType::U8;
}

void store_integer(DType type, char* to, int64_t index, int64_t value) {
    switch (type) {
    case DType::I64: std::memcpy(to + index * 8, &value, 8); return;
    case DType::I32: {
        const auto narrow = static_cast<int32_t>(value);
        std::memcpy(to + index * 4, &narrow, 4);
        return;
    }
    default: to[index] = static_cast<char>(value);
    }
}

std::string tensor_list(const SafetensorsFile& file) {
    std::string text;
    size_t shown = 0;
    for (const auto& [name, tensor] : file.tensors()) {
        if (shown++ == 5) {
            return text + " and " + std::to_string(file.tensors().size() - 5) + " more";
        }
        text += (text.empty() ? "`" : ", `") + name + "`";
    }
    return text.empty() ? "nothing" : text;
}

} // namespace

std::shared_ptr<SafetensorsFile> Batches::open(const std::string& path) {
    auto& slot = files_[path];
    if (!slot) {
        slot = std::make_shared<SafetensorsFile>(path);
    }
    return slot;
}

Batches::Source Batches::steps_of(const ProgramInfo::Input& input, const std::string& path, bool only_tensor) {
    Source source;
    source.kind = Source::Kind::Steps;
    source.file = open(path);
    source.tensor = source.file->find(input.name);
    if (source.tensor == nullptr && only_tensor && source.file->tensors().size() == 1) {
        source.tensor = &source.file->tensors().begin()->second;
    }
    const std::string expected = type_name(input.type) + " " + shape_text(input.sizes) + " behind an axis of steps";
    if (source.tensor == nullptr) {
        fail("SSP0806", "input `" + input.name + "` (" + expected + ") is not in `" + path + "`, which holds " +
                            tensor_list(*source.file));
    }
    const FileTensor& tensor = *source.tensor;
    if (tensor.type != input.type || tensor.shape.size() != input.sizes.size() + 1 ||
        !std::equal(input.sizes.begin(), input.sizes.end(), tensor.shape.begin() + 1)) {
        fail("SSP0806", "input `" + input.name + "` takes " + expected + ", and `" + path + "` has " + describe(tensor));
    }
    if (!steps_ || tensor.shape[0] < *steps_) {
        steps_ = tensor.shape[0];
        shortest_file_ = path;
    }
    return source;
}

void Batches::bind_feed(const ProgramInfo::Feed& feed, const std::vector<bool>& bound) {
    const auto is_bound = [&](int input) { return bound[static_cast<size_t>(input)]; };
    if (std::all_of(feed.inputs.begin(), feed.inputs.end(), is_bound)) {
        return; // the command line gives them all, so the feed's file need not exist
    }
    std::shared_ptr<Text> text;
    for (size_t i = 0; i < feed.inputs.size(); ++i) {
        if (is_bound(feed.inputs[i])) {
            continue;
        }
        const ProgramInfo::Input& input = program_.inputs[static_cast<size_t>(feed.inputs[i])];
        Source& source = sources_[static_cast<size_t>(feed.inputs[i])];
        source.rows = feed.row_axes[i];
        source.seed = feed.seed;
        if (feed.kind == ProgramInfo::Feed::Kind::NextToken) {
            if (!text) {
                text = std::make_shared<Text>();
                text->bytes = read_text(feed.file);
                text->seed = feed.seed;
                text->hash = path_hash("next_token");
            }
            source.kind = i == 0 ? Source::Kind::Tokens : Source::Kind::Labels;
            source.text = text;
            const int64_t rows = source.rows < 0 ? 1 : input.sizes[static_cast<size_t>(source.rows)];
            const int64_t window = rows > 0 ? volume(input.sizes) / rows : 0;
            if (!is_integer(input.type)) {
                fail("SSP0806", "input `" + input.name + "` is " + type_name(input.type) +
                                    ", and `next_token` gives the bytes of a text, which are integers");
            }
            if (static_cast<int64_t>(text->bytes.size()) < window + 1) {
                fail("SSP0806", "`" + feed.file + "` has " + std::to_string(text->bytes.size()) + " bytes, and a row of `" +
                                    input.name + "` takes " + std::to_string(window + 1));
            }
            continue;
        }
        source.kind = Source::Kind::Rows;
        source.file = open(feed.file);
        source.tensor = source.file->find(feed.columns[i]);
        if (source.tensor == nullptr) {
            fail("SSP0806", "`" + feed.file + "` has no tensor `" + feed.columns[i] + "` for input `" + input.name +
                                "`; it holds " + tensor_list(*source.file));
        }
        std::vector<int64_t> expected = input.sizes;
        const auto rows = static_cast<size_t>(source.rows);
        const FileTensor& tensor = *source.tensor;
        bool fits = source.rows >= 0 && tensor.type == input.type && tensor.shape.size() == expected.size();
        if (fits) {
            expected[rows] = tensor.shape[rows];
            fits = tensor.shape == expected && expected[rows] > 0;
        }
        if (!fits) {
            fail("SSP0806", "input `" + input.name + "` takes " + describe(input.type, input.sizes) +
                                " with any number of rows, and `" + feed.columns[i] + "` of `" + feed.file + "` is " +
                                describe(tensor));
        }
        for (size_t j = 0; j < i; ++j) { // rows of all columns belong together
            const Source& other = sources_[static_cast<size_t>(feed.inputs[j])];
            if (other.kind == Source::Kind::Rows &&
                other.tensor->shape[static_cast<size_t>(other.rows)] != tensor.shape[rows]) {
                fail("SSP0806", "`" + feed.columns[i] + "` and `" + feed.columns[j] + "` of `" + feed.file +
                                    "` have different numbers of rows");
            }
        }
    }
}

Batches::Batches(const ProgramInfo& program, const Options& options)
    : program_(program), sources_(program.inputs.size()) {
    std::vector<bool> bound(program.inputs.size(), false);
    std::map<std::string, std::string> left = options.inputs;
    for (size_t i = 0; i < program.inputs.size(); ++i) {
        const ProgramInfo::Input& input = program.inputs[i];
        const auto own = options.inputs.find(input.name);
        if (own != options.inputs.end()) {
            sources_[i] = steps_of(input, own->second, true);
            left.erase(input.name);
        } else if (!options.data.empty()) {
            sources_[i] = steps_of(input, options.data, false);
        } else {
            continue;
        }
        bound[i] = true;
    }
    if (!left.empty()) {
        std::string names;
        for (const ProgramInfo::Input& input : program.inputs) {
            names += (names.empty() ? "`" : ", `") + input.name + "`";
        }
        fail("SSP0806", "the program has no input `" + left.begin()->first + "`; it has " +
                            (names.empty() ? "none" : names));
    }
    for (const ProgramInfo::Feed& feed : program.feeds) {
        bind_feed(feed, bound);
    }
    for (size_t i = 0; i < program.inputs.size(); ++i) {
        if (sources_[i].kind == Source::Kind::None) {
            fail("SSP0806", "input `" + program.inputs[i].name + "` has no data; give `--data FILE.safetensors`, or a " +
                                "`feed` in the plan file");
        }
    }
}

void Batches::fill(int input, int64_t step, const Box& box, char* to) {
    const ProgramInfo::Input& info = program_.inputs[static_cast<size_t>(input)];
    const Source& source = sources_[static_cast<size_t>(input)];
    const int64_t element = size_of(info.type);
    switch (source.kind) {
    case Source::Kind::Steps: {
        const char* whole = source.file->data(*source.tensor) + (step - 1) * volume(info.sizes) * element;
        take_part(info.sizes, box, element, whole, to);
        return;
    }
    case Source::Kind::Rows: return fill_rows(info, source, step, box, to);
    case Source::Kind::Tokens:
    case Source::Kind::Labels: return fill_windows(info, source, step, box, to);
    case Source::Kind::None: return;
    }
}

/// Row r of a step is the window of the text that begins at integer([0, bytes - window)) of the draw (seed, step, "next_token", r).
void Batches::fill_windows(const ProgramInfo::Input& input, const Source& source, int64_t step, const Box& box,
                           char* to) {
    const int64_t rows = source.rows < 0 ? 1 : input.sizes[static_cast<size_t>(source.rows)];
    const int64_t window = volume(input.sizes) / rows;
    const auto places = static_cast<uint64_t>(static_cast<int64_t>(source.text->bytes.size()) - window);
    const int64_t shift = source.kind == Source::Kind::Labels ? 1 : 0;
    int64_t inner = 1; // elements behind the axis of rows
    for (size_t i = static_cast<size_t>(source.rows + 1); i < input.sizes.size(); ++i) {
        inner *= input.sizes[i];
    }
    std::map<int64_t, int64_t> begins;
    each_run(input.sizes, box, [&](int64_t whole, int64_t part, int64_t count) {
        for (int64_t k = 0; k < count; ++k) {
            const int64_t at = whole + k;
            const int64_t row = source.rows < 0 ? 0 : at / inner % rows;
            const int64_t column = source.rows < 0 ? at : at / (inner * rows) * inner + at % inner;
            const auto [begin, added] = begins.emplace(row, 0);
            if (added) {
                const Philox p = draw(source.text->seed, step, source.text->hash, row, Purpose::Window);
                const uint64_t word = p.w[0] | static_cast<uint64_t>(p.w[1]) << 32;
                begin->second = static_cast<int64_t>((static_cast<unsigned __int128>(word) * places) >> 64);
            }
            const char byte = source.text->bytes[static_cast<size_t>(begin->second + column + shift)];
            store_integer(input.type, to, part + k, static_cast<unsigned char>(byte));
        }
    });
}

int64_t Batches::shuffled(uint64_t seed, int64_t count, int64_t row) {
    const int64_t epoch = row / count;
    const std::lock_guard lock(mutex_);
    const Epoch key{seed, count, epoch};
    if (orders_.find(key) == orders_.end()) {
        if (orders_.size() >= 8) { // a step lies in few epochs
            orders_.clear();
        }
        // The rows in the order of their draws (seed, epoch, "rows", row).
        std::vector<std::pair<uint64_t, int64_t>> draws(static_cast<size_t>(count));
        for (int64_t i = 0; i < count; ++i) {
            const Philox p = draw(seed, epoch, path_hash("rows"), i, Purpose::Shuffle);
            draws[static_cast<size_t>(i)] = {p.w[0] | static_cast<uint64_t>(p.w[1]) << 32, i};
        }
        std::sort(draws.begin(), draws.end());
        std::vector<int64_t>& rows = orders_[key];
        for (const auto& [word, i] : draws) {
            rows.push_back(i);
        }
    }
    return orders_[key][static_cast<size_t>(row % count)];
}

void Batches::fill_rows(const ProgramInfo::Input& input, const Source& source, int64_t step, const Box& box, char* to) {
    const auto axis = static_cast<size_t>(source.rows);
    const int64_t element = size_of(input.type);
    const FileTensor& tensor = *source.tensor;
    Box part = box;
    for (int64_t r = box[axis].begin; r < box[axis].end; ++r) {
        const int64_t row = shuffled(source.seed, tensor.shape[axis], (step - 1) * input.sizes[axis] + r);
        // One row of the file goes to one row of the box.
        part[axis] = {row, row + 1};
        std::vector<char> values(static_cast<size_t>(volume(part) * element));
        take_part(tensor.shape, part, element, source.file->data(tensor), values.data());
        std::vector<int64_t> sizes;
        Box place;
        for (const Interval& side : box) {
            sizes.push_back(side.size());
            place.push_back({0, side.size()});
        }
        place[axis] = {r - box[axis].begin, r - box[axis].begin + 1};
        place_part(sizes, place, element, values.data(), to);
    }
}

} // namespace ssp
