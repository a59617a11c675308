// Files that are written come back; broken files are refused.
#include "common/error.h"
#include "common/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace ssp {
namespace {

class Safetensors : public testing::Test {
protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("ssp_safetensors_" + std::to_string(::getpid()));
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string path(const std::string& name) const { return (folder_ / name).string(); }

    /// A file with this header and as many bytes of data.
    std::string file(const std::string& header, size_t data_bytes) const {
        const uint64_t size = header.size();
        return raw(std::string(reinterpret_cast<const char*>(&size), 8) + header + std::string(data_bytes, 'x'));
    }
    std::string raw(const std::string& bytes) const {
        std::ofstream(path("broken"), std::ios::binary) << bytes;
        return path("broken");
    }
    static std::string code_of(const std::string& path) {
        try {
            const SafetensorsFile file(path);
        } catch (const Failure& failure) {
            return failure.code;
        }
        return "read";
    }

    std::filesystem::path folder_;
};

TEST_F(Safetensors, WhatIsWrittenIsReadBack) {
    const float w[6] = {1, 2, 3, 4, 5, 6};
    const int64_t n = 42;
    {
        SafetensorsWriter writer(path("a"),
                                 {{"layer.0.w", DType::F32, {2, 3}}, {"n", DType::I64, {}}, {"none", DType::F64, {0, 4}}},
                                 {{"step", "7"}});
        writer.write(w, sizeof w);
        writer.write(&n, sizeof n);
        EXPECT_FALSE(std::filesystem::exists(path("a"))) << "half a file is seen";
        writer.commit();
    }
    const SafetensorsFile file(path("a"));
    EXPECT_EQ(file.tensors().size(), 3u);
    EXPECT_EQ(file.metadata().at("step"), "7");
    const FileTensor* tensor = file.find("layer.0.w");
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(describe(*tensor), "F32 [2, 3]");
    EXPECT_EQ(std::memcmp(file.data(*tensor), w, sizeof w), 0);
    EXPECT_EQ(std::memcmp(file.data(*file.find("n")), &n, sizeof n), 0);
    EXPECT_EQ(file.find("other"), nullptr);
}

TEST_F(Safetensors, AFileThatIsNotCommittedLeavesNothing) {
    { SafetensorsWriter writer(path("b"), {{"n", DType::I64, {}}}); }
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(Safetensors, PlacesThatCannotBeWrittenAreSaid) {
    const auto code = [&](const std::string& where) {
        try {
            check_writable(where);
            SafetensorsWriter writer(where, {{"n", DType::U8, {8}}});
            writer.write("12345678", 8);
            writer.commit();
        } catch (const Failure& failure) {
            return failure.code;
        }
        return std::string("written");
    };
    EXPECT_EQ(code(path("no/such/folder/file")), "SSP0805");
    EXPECT_EQ(code(folder_.string()), "SSP0805");
    EXPECT_EQ(code("/dev/full"), "SSP0805");
    EXPECT_EQ(code("/dev/null"), "written");
    EXPECT_TRUE(std::filesystem::is_character_file("/dev/full")) << "a device was replaced";
    EXPECT_EQ(code(path("fine")), "written");
}

TEST_F(Safetensors, BrokenFilesAreRefused) {
    const std::string good = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
    EXPECT_EQ(code_of(file(good, 8)), "read");
    EXPECT_EQ(code_of(file("{}", 0)), "read");

    const auto refused = [&](const std::string& header, size_t data_bytes) {
        EXPECT_EQ(code_of(file(header, data_bytes)), "SSP0804") << header;
    };
    const auto entry = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
        return R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
    };
    EXPECT_EQ(code_of(path("missing")), "SSP0804");
    EXPECT_EQ(code_of(folder_.string()), "SSP0804");
    EXPECT_EQ(code_of(raw("")), "SSP0804");
    EXPECT_EQ(code_of(raw("1234567")), "SSP0804");
    EXPECT_EQ(code_of(raw(std::string(8, '\xff') + "{}")), "SSP0804");             // a header of 2^64 - 1 bytes
    EXPECT_EQ(code_of(raw(std::string("\x40\0\0\0\0\0\0\0", 8) + "{}")), "SSP0804"); // longer than the file
    refused("", 0);
    refused("nonsense", 8);
    refused("[1, 2]", 8);
    refused(good.substr(0, good.size() - 1), 8);
    refused(std::string(200000, '['), 8);
    refused(good, 4);  // truncated
    refused(good, 12); // bytes of no tensor
    refused(R"({"a":7})", 8);
    refused(R"({"a":{"dtype":"F32","shape":[2]}})", 8);
    refused(entry(R"("F33")", "[2]", "[0,8]"), 8);
    refused(entry("3", "[2]", "[0,8]"), 8);
    refused(entry(R"("F32")", "2", "[0,8]"), 8);
    refused(entry(R"("F32")", "[-2]", "[0,8]"), 8);
    refused(entry(R"("F32")", "[2.5]", "[0,8]"), 8);
    refused(entry(R"("F32")", "[3]", "[0,8]"), 8);
    refused(entry(R"("F32")", "[9223372036854775807,9223372036854775807]", "[0,8]"), 8);
    refused(entry(R"("F32")", "[4611686018427387906]", "[0,8]"), 8); // times 4 it is 8 modulo 2^64
    refused(entry(R"("F32")", "[2]", "[8,0]"), 8);
    refused(entry(R"("F32")", "[2]", "[0,8,9]"), 8);
    refused(entry(R"("F32")", "[2]", "[-1,7]"), 8);
    refused(entry(R"("F32")", "[2]", R"("0-8")"), 8);
    refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
            12); // overlap
    refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
            12); // a hole
    refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1);
    refused(R"({"__metadata__":{"step":7}})", 0);
    refused("{\"\xff\xfe\":{}}", 0); // no UTF-8
}

} // namespace
} // namespace ssp
