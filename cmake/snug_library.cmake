include(${CMAKE_CURRENT_LIST_DIR}/embed.cmake)

# snug_library(name deps...): one library per folder of src/, made of all its sources;
# every x_test.cc beside a source goes into one test program, <name>_test. Pages (.html, .css, .js)
# are embedded: see embed.cmake.
function(snug_library name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cc)
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
  if(tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE snug_${name} GTest::gtest_main)
    snug_flags(${name}_test)
    gtest_discover_tests(${name}_test NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 PROPERTIES LABELS unit)
  endif()
endfunction()

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
