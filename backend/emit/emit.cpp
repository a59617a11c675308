// Turns a device program into the sources of a program that runs it: the list of files.
#include "backend/emit/emit.h"

#include "backend/emit/kernel.h"
#include "backend/emit/main_file.h"
#include "backend/emit/stage.h"
#include "ir/support/format.h"

namespace sspc::backend {
namespace {

std::string program_header(const Emission& emission) {
    const Program& program = emission.program;
    std::string mesh;
    for (const MeshAxis& axis : program.mesh.axes) {
        mesh += (mesh.empty() ? "" : ", ") + axis.name + ": " + to_text(axis.size);
    }
    return format("// Parts of the axes under plan `{0}` for model `{1}`, mesh {2}[{3}].\n", program.plan, program.model,
                  program.mesh.name, mesh) +
           "#pragma once\n\n#include \"common/types.h\"\n\n#include <cstdint>\n\nnamespace plan {\n\n" +
           emission.parts.declaration() + "\n} // namespace plan\n";
}

std::string cmake_file(const std::vector<std::string>& sources) {
    std::string list;
    for (const std::string& source : sources) {
        list += "  " + source + "\n";
    }
    return R"(# Builds the program by itself:
#   cmake -S . -B build -DSSP_RUNTIME=<folder of the runtime> [-DSSP_TARGET=cuda] && cmake --build build
cmake_minimum_required(VERSION 3.22)
project(plan LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(SSP_TARGET cpu CACHE STRING "cpu or cuda")
set(SSP_RUNTIME "" CACHE PATH "The runtime that generated programs include: stdlib/runtime of sspc")
if(NOT SSP_RUNTIME)
  message(FATAL_ERROR "set SSP_RUNTIME to the folder stdlib/runtime of sspc")
endif()
if(SSP_TARGET STREQUAL cuda)
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90)
  endif()
  enable_language(CUDA)
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS} --extended-lambda")
endif()
add_subdirectory(${SSP_RUNTIME} runtime)
set(sources
)" + list +
           R"()
add_executable(plan main.cpp ${sources})
if(NOT SSP_TARGET STREQUAL cuda)
  set_source_files_properties(${sources} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-x;c++")
endif()
target_link_libraries(plan PRIVATE ssp_runtime)
)";
}

} // namespace

std::map<std::string, std::string> emit(const Program& program, const EmitOptions& options) {
    Emission emission(program, options);
    std::map<std::string, std::string> files;
    std::vector<std::string> sources;
    for (const Class& device_class : program.classes) {
        const std::string name = format("class_{0}.cu", device_class.stage);
        files[name] = stage_source(emission, device_class);
        sources.push_back(name);
    }
    std::string includes;
    for (const std::string& header : emission.kernels.headers()) {
        includes += "#include \"" + header + "\"\n";
    }
    for (const std::string& name : sources) {
        std::string& text = files[name];
        text.replace(text.find("$KERNELS"), std::string("$KERNELS").size(), includes);
    }
    for (auto& [name, text] : emission.kernels.files()) {
        if (name.substr(name.size() - 3) == ".cu") {
            sources.push_back(name);
        }
        files[name] = std::move(text);
    }
    files["program.h"] = program_header(emission);
    files["main.cpp"] = main_source(emission);
    files["CMakeLists.txt"] = cmake_file(sources);
    return files;
}

} // namespace sspc::backend
