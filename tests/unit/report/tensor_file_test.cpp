// Safetensors files, right and wrong.
#include "backend/report/tensor_file.h"

#include <gtest/gtest.h>

#include <cstring>

namespace sspc::backend {
namespace {

std::string file_of(const std::string& header, const std::string& data) {
    const uint64_t length = header.size();
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &length, 8);
    return bytes + header + data;
}

std::string problem_of(const std::string& bytes) {
    std::string problem;
    EXPECT_FALSE(parse_tensor_file(bytes, problem));
    return problem;
}

TEST(TensorFile, ReadsShapesAndValues) {
    const float values[] = {1.5F, -2, 0};
    const std::string data(reinterpret_cast<const char*>(values), sizeof values);
    std::string problem;
    const auto tensors = parse_tensor_file(
        file_of(R"({"__metadata__":{"a":"b"},"w":{"dtype":"F32","shape":[3,1],"data_offsets":[0,12]}})", data), problem);
    ASSERT_TRUE(tensors) << problem;
    EXPECT_EQ(tensors->size(), 1u);
    EXPECT_EQ(tensors->at("w").shape, (std::vector<int64_t>{3, 1}));
    EXPECT_EQ(tensors->at("w").values, (std::vector<double>{1.5, -2, 0}));
}

TEST(TensorFile, SaysWhatIsWrong) {
    EXPECT_NE(problem_of("").find("length of a header"), std::string::npos);
    EXPECT_NE(problem_of(file_of("{", "")).find("not a JSON object"), std::string::npos);
    EXPECT_NE(problem_of(file_of(R"({"w":{"dtype":"F99","shape":[],"data_offsets":[0,0]}})", "")).find("F99"),
              std::string::npos);
    EXPECT_NE(problem_of(file_of(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "1234")).find("`w`"),
              std::string::npos);
    EXPECT_NE(problem_of(file_of(R"({"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,8]}})", "12345678")).find("`w`"),
              std::string::npos);
}

} // namespace
} // namespace sspc::backend
