# sspc_antlr_grammar(target lexer parser): a library of the parser that ANTLR generates, in the build folder.
#
# The `antlr4` program is called directly: Debian's jar does not hold its dependencies, the program sets the class path.
function(sspc_antlr_grammar target lexer parser)
  find_program(ANTLR4_TOOL NAMES antlr4 antlr REQUIRED)
  find_package(antlr4-runtime REQUIRED)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/generated)
  set(options -Dlanguage=Cpp -no-visitor -no-listener -Werror -package sspc_grammar -lib ${out} -o ${out})
  # Bare file names: ANTLR repeats the path of its argument below -o. The parser reads the lexer's .tokens file.
  add_custom_command(
    OUTPUT ${out}/${lexer}.cpp ${out}/${lexer}.h
    BYPRODUCTS ${out}/${lexer}.tokens ${out}/${lexer}.interp
    COMMAND ${CMAKE_COMMAND} -E make_directory ${out}
    COMMAND ${ANTLR4_TOOL} ${options} ${lexer}.g4
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${lexer}.g4
    COMMENT "Generating the lexer" VERBATIM)
  add_custom_command(
    OUTPUT ${out}/${parser}.cpp ${out}/${parser}.h
    BYPRODUCTS ${out}/${parser}.tokens ${out}/${parser}.interp
    COMMAND ${ANTLR4_TOOL} ${options} ${parser}.g4
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${parser}.g4 ${out}/${lexer}.cpp
    COMMENT "Generating the parser" VERBATIM)
  add_library(${target} STATIC ${out}/${lexer}.cpp ${out}/${parser}.cpp)
  # The generated text is for C++17: its u8 literals are char. Nobody here can act on its warnings.
  target_compile_options(${target} PRIVATE -w -fno-char8_t -O1)
  target_include_directories(${target} SYSTEM PUBLIC ${out} ${ANTLR4_INCLUDE_DIR})
  target_link_libraries(${target} PUBLIC antlr4_shared)
  set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "")
endfunction()
