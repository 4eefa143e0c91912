include(${CMAKE_CURRENT_LIST_DIR}/embed.cmake)

# snug_library(name deps...): one library per folder of src/, made of all its sources;
# every x_test.cc beside a source goes into one test program, <name>_test. Pages (.html, .css, .js)
# are embedded: see embed.cmake.
function(snug_library name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cc)
  snug_leave_out_card(sources)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  add_library(snug_${name} STATIC ${sources})
  target_include_directories(snug_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(snug_${name} PUBLIC ${ARGN})
  snug_flags(snug_${name})
  file(GLOB_RECURSE pages CONFIGURE_DEPENDS
       ${CMAKE_SOURCE_DIR}/src/${name}/*.html ${CMAKE_SOURCE_DIR}/src/${name}/*.css
       ${CMAKE_SOURCE_DIR}/src/${name}/*.js)
  if(pages)
    snug_embed(snug_${name} ${pages})
  endif()
  set(numeric "")
  if(name IN_LIST SNUG_NUMERIC)
    set(numeric NUMERIC)
    target_compile_options(snug_${name} PRIVATE ${SNUG_NUMERIC_FLAGS})
  endif()
  snug_precompile(snug_${name} "library" "${numeric}")
  if(NOT name STREQUAL "backend")  # its kernels mind which instructions stand beside them
    snug_join_files(snug_${name})
  endif()
  if(tests AND SNUG_TESTS)
    add_executable(${name}_test ${tests})
    set(numeric "")
    if(name IN_LIST SNUG_NUMERIC_TESTS)
      set(numeric NUMERIC)
    endif()
    snug_test_program(${name}_test ${numeric} LINKS snug_${name})
    snug_unit_tests(${name}_test)
  endif()
endfunction()

# The libraries whose loops decide how long the tests run, and the tests that compute as much
# themselves: SNUG_NUMERIC_FLAGS is for them.
set(SNUG_NUMERIC backend config program gpt2 plan fit doctor tokenizer pickle)
set(SNUG_NUMERIC_TESTS backend)

# The warnings and sanitizers of the house, for one target.
function(snug_flags target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow)
  if(SNUG_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(SNUG_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${SNUG_SANITIZE} -fno-sanitize-recover=all
                                            -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${SNUG_SANITIZE})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # In instrumented code GCC 12 takes std::regex for uninitialised; the plain builds keep the
      # warning.
      target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
    endif()
  endif()
endfunction()

# Precompiles the standard headers that most files include (and a test's GoogleTest). The first
# target of a kind builds the header, the others of that kind, which have the same flags, reuse it.
function(snug_precompile target use numeric)
  if(NOT SNUG_PCH)
    return()
  endif()
  set(kind snug_precompiled_${use}_${numeric})
  get_property(owner GLOBAL PROPERTY ${kind})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
    return()
  endif()
  set(headers <algorithm> <array> <cstdint> <filesystem> <fmt/format.h> <functional> <map> <optional>
              <span> <sstream> <string> <string_view> <vector>)
  if(use STREQUAL "test")
    list(APPEND headers <gtest/gtest.h>)
  endif()
  target_precompile_headers(${target} PRIVATE ${headers})
  set_property(GLOBAL PROPERTY ${kind} ${target})
endfunction()

# Compiles up to eight files of a folder as one where SNUG_UNITY is set: what they include is read
# once, and what they instantiate in common is compiled once (docs/decisions/0021). Not those that
# Highway compiles once for each instruction set by having them include themselves.
function(snug_join_files target)
  if(NOT SNUG_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  get_target_property(target_folder ${target} SOURCE_DIR)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${target_folder})
    file(STRINGS ${source} by_highway REGEX HWY_TARGET_INCLUDE LIMIT_COUNT 1)
    if(by_highway)
      continue()
    endif()
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE folder)
    cmake_path(GET folder PARENT_PATH folder)
    string(MAKE_C_IDENTIFIER ${folder} folder)
    math(EXPR files_${folder} "0${files_${folder}} + 1")
    math(EXPR group "(${files_${folder}} - 1) / 8")
    set_source_files_properties(${source} DIRECTORY ${target_folder}
                                PROPERTIES UNITY_GROUP ${folder}_${group})
  endforeach()
endfunction()
