# snug_test_program(target [NUMERIC] LINKS libraries...): flags and libraries of a test program. A
# test runs once per build, so that compiling it fast counts for more than running it fast: it gets
# SNUG_TEST_FLAGS, or SNUG_NUMERIC_FLAGS if it computes much itself.
function(snug_test_program target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NUMERIC" "" "LINKS")
  target_link_libraries(${target} PRIVATE ${arg_LINKS} GTest::gtest_main)
  snug_flags(${target})
  snug_join_files(${target})
  if(arg_NUMERIC)
    target_compile_options(${target} PRIVATE ${SNUG_NUMERIC_FLAGS})
    snug_precompile(${target} test NUMERIC)
  else()
    target_compile_options(${target} PRIVATE ${SNUG_TEST_FLAGS})
    snug_precompile(${target} test "")
  endif()
endfunction()

# All programs of the label unit: what the sanitizer build makes and runs.
add_custom_target(unit_tests)
# All programs of the labels emulator and cuda: what scripts/build release makes beside the program.
if(SNUG_CARD_TESTS)
  add_custom_target(card_tests)
endif()

# snug_unit_tests(program): its tests in four ctest entries, since a process per test costs more
# than most tests, above all under a sanitizer. GoogleTest's output names the test that fails.
function(snug_unit_tests program)
  set(parts 4)
  foreach(part RANGE 1 ${parts})
    math(EXPR index "${part} - 1")
    add_test(NAME ${program}.${part}of${parts} COMMAND ${program})
    set_tests_properties(${program}.${part}of${parts} PROPERTIES LABELS unit
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${parts};GTEST_SHARD_INDEX=${index}")
  endforeach()
  add_dependencies(unit_tests ${program})
endfunction()

# snug_tests_one_by_one(program LABEL SECONDS): a process and a time limit for each test.
function(snug_tests_one_by_one program label seconds)
  gtest_discover_tests(${program} NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS ${label} TIMEOUT ${seconds})
  if(label STREQUAL "unit")
    add_dependencies(unit_tests ${program})
  endif()
endfunction()
