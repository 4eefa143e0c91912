# The CUDA backend in one of three forms, SNUG_CUDA:
#   emulated  kernels by the C++ compiler, on the fake card of emulator/; needs no toolkit
#   toolkit   kernels by nvcc, linked with NVIDIA's libraries; the preset cuda
#   off       its absent twins
# Files x_absent.cc, x_real.cc, x_emulated.cc are twins: one of them is compiled.
set(SNUG_CUDA emulated CACHE STRING "The CUDA backend: emulated, toolkit or off")
set_property(CACHE SNUG_CUDA PROPERTY STRINGS emulated toolkit off)
if(SNUG_SANITIZE MATCHES thread OR SNUG_FUZZ)
  set(SNUG_CUDA off)  # fibers, and the checked build's own entry points, do not go with it
endif()

include(${CMAKE_CURRENT_LIST_DIR}/snug_toolkit.cmake)

# What planning needs of the backend without a card stays in snug_backend.
set(SNUG_CUDA_FOLDER ${CMAKE_SOURCE_DIR}/src/backend/cuda)
set(SNUG_CUDA_PLANNED "/backend/cuda/(nvml|cuda_order|cuda_target|scratch)[^/]*$")
# What runs checked kernels is compiled as they are: see snug_counting_library.
set(SNUG_COUNTING "/device/(kernel_counts|counted_calls)[^/]*$")

# snug_leave_out_card(files): takes the card-facing files, which go into snug_cuda, from a list.
function(snug_leave_out_card files)
  set(card ${${files}})
  list(FILTER card INCLUDE REGEX "/backend/cuda/")
  list(FILTER card EXCLUDE REGEX ${SNUG_CUDA_PLANNED})
  set(counting ${${files}})
  list(FILTER counting INCLUDE REGEX ${SNUG_COUNTING})
  list(APPEND card ${counting})
  set(kept ${${files}})
  if(card)
    list(REMOVE_ITEM kept ${card})
  endif()
  set(${files} ${kept} PARENT_SCOPE)
endfunction()

# snug_cuda_sources(kernels host): the card-facing files of the form chosen.
function(snug_cuda_sources kernels host)
  file(GLOB_RECURSE cu CONFIGURE_DEPENDS ${SNUG_CUDA_FOLDER}/*.cu)
  file(GLOB_RECURSE cc CONFIGURE_DEPENDS ${SNUG_CUDA_FOLDER}/*.cc)
  list(FILTER cc EXCLUDE REGEX "_test\\.cc$")
  list(FILTER cc EXCLUDE REGEX ${SNUG_CUDA_PLANNED})
  set(twins ${cc})
  list(FILTER twins INCLUDE REGEX "_(absent|real|emulated)\\.cc$")
  list(FILTER cc EXCLUDE REGEX "_(absent|real|emulated)\\.cc$")
  set(word emulated)
  if(SNUG_CUDA STREQUAL toolkit)
    set(word real)
  elseif(SNUG_CUDA STREQUAL off)
    set(word absent)
    set(cu "")
    set(cc "")
  endif()
  list(FILTER twins INCLUDE REGEX "_${word}\\.cc$")
  set(${kernels} ${cu} PARENT_SCOPE)
  set(${host} ${cc} ${twins} PARENT_SCOPE)
endfunction()

# snug_emulated_kernels(target kernels...): an object library of .cu files by the C++ compiler.
function(snug_emulated_kernels target)
  add_library(${target} OBJECT ${ARGN})
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX)
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${target} PUBLIC emulator snug_backend)
  snug_flags(${target})
  # Optimised in every build: a fiber's stack is small. Sums are not fused, whatever the CPU.
  target_compile_options(${target} PRIVATE -x c++ -O2 -ffp-contract=off -Wno-unknown-pragmas)
endfunction()

# The same kernels once more with every access reported to the emulator's checks, in a namespace of
# their own (snug::cuda_checked), so that a program can have both.
function(snug_checked_kernels target)
  add_library(${target} OBJECT ${ARGN})
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX)
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${target} PUBLIC emulator snug_backend)
  snug_flags(${target})
  target_compile_options(${target} PRIVATE -x c++ ${EMULATOR_CHECKED_FLAGS} -ffp-contract=off
                                           -Wno-unknown-pragmas)
  target_compile_definitions(${target} PRIVATE cuda=cuda_checked)
endfunction()

# snug_checked_under_plain_names(out): the checked kernels in one object file under the plain ones'
# names. A program that has it before the libraries runs whole trainings with checked kernels.
function(snug_checked_under_plain_names out)
  set(object ${CMAKE_BINARY_DIR}/checked_kernels.o)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CMAKE_LINKER} -r -o ${object}.checked $<TARGET_OBJECTS:snug_cuda_checked>
    COMMAND sh -c "${CMAKE_NM} ${object}.checked | \
awk -f ${CMAKE_SOURCE_DIR}/cmake/plain_names.awk | sort -u > ${object}.names"
    COMMAND ${CMAKE_OBJCOPY} --redefine-syms=${object}.names ${object}.checked ${object}
    DEPENDS snug_cuda_checked $<TARGET_OBJECTS:snug_cuda_checked>
            ${CMAKE_SOURCE_DIR}/cmake/plain_names.awk
    COMMENT "Renaming the checked kernels"
    COMMAND_EXPAND_LISTS VERBATIM)
  set(${out} ${object} PARENT_SCOPE)
endfunction()

# snug_counting: device/kernel_counts.h with the checked kernels, or its absent twin.
function(snug_counting_library)
  set(folder ${CMAKE_SOURCE_DIR}/src/device)
  if(TARGET snug_cuda_checked)
    add_library(snug_counting STATIC ${folder}/kernel_counts.cc ${folder}/counted_calls.cc
                                     $<TARGET_OBJECTS:snug_cuda_checked>)
    target_compile_definitions(snug_counting PRIVATE cuda=cuda_checked)
    target_link_libraries(snug_counting PUBLIC emulator_watcher)
  else()
    add_library(snug_counting STATIC ${folder}/kernel_counts_absent.cc)
  endif()
  target_include_directories(snug_counting PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(snug_counting PUBLIC snug_fit)
  snug_flags(snug_counting)
endfunction()

function(snug_cuda_library)
  snug_cuda_sources(kernels host)
  if(SNUG_CUDA STREQUAL emulated AND kernels)
    snug_emulated_kernels(snug_cuda_kernels ${kernels})
    if(NOT SNUG_SANITIZE)  # two sanitizers do not go together
      snug_checked_kernels(snug_cuda_checked ${kernels})
    endif()
    add_library(snug_cuda STATIC ${host} $<TARGET_OBJECTS:snug_cuda_kernels>)
    target_link_libraries(snug_cuda PUBLIC emulator)
  elseif(SNUG_CUDA STREQUAL toolkit)
    snug_toolkit_library("${kernels}" "${host}")
  elseif(host)
    add_library(snug_cuda STATIC ${host})
  else()
    add_library(snug_cuda INTERFACE)
    target_link_libraries(snug_cuda INTERFACE snug_backend)
    return()
  endif()
  target_link_libraries(snug_cuda PUBLIC snug_backend)
  target_include_directories(snug_cuda PUBLIC ${CMAKE_SOURCE_DIR}/src)
  snug_flags(snug_cuda)
  if(SNUG_CARD_TESTS)
    snug_cuda_tests()
  endif()
endfunction()

# The tests beside the backend's files: x_test.cc in cuda_test, on plain kernels.
function(snug_cuda_tests)
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${SNUG_CUDA_FOLDER}/*_test.cc)
  list(FILTER tests EXCLUDE REGEX ${SNUG_CUDA_PLANNED})
  if(NOT tests)
    return()
  endif()
  add_executable(cuda_test ${tests})
  snug_test_program(cuda_test LINKS snug_cuda)
  gtest_discover_tests(cuda_test NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS "cuda;unit" TIMEOUT 300)
  # Once more with a block's threads in another order, and work that waits until it is waited for.
  add_test(NAME cuda_test_in_another_order COMMAND cuda_test)
  set_tests_properties(cuda_test_in_another_order PROPERTIES LABELS cuda TIMEOUT 300
                       ENVIRONMENT "EMULATOR_LANES=shuffled;EMULATOR_STREAMS=lazy")
  add_dependencies(unit_tests cuda_test)
  add_dependencies(card_tests cuda_test)
  if(NOT SNUG_SANITIZE)
    list(FILTER tests INCLUDE REGEX "/kernels/")
    snug_checked_tests(${tests})
    snug_toolkit_tests(${tests})
  endif()
endfunction()

# cuda_checked_test: the kernels' tests again under the emulator's checks, and each of their barriers
# deleted in turn.
function(snug_checked_tests)
  file(GLOB more CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/cuda/checked/*.cc)
  add_executable(cuda_checked_test ${ARGN} ${more} $<TARGET_OBJECTS:snug_cuda_checked>)
  target_compile_definitions(cuda_checked_test PRIVATE cuda=cuda_checked)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/tests/cuda/checked/mutants_test.cc PROPERTIES
                              COMPILE_DEFINITIONS "SNUG_SOURCE=\"${CMAKE_SOURCE_DIR}\"")
  target_include_directories(cuda_checked_test PRIVATE ${CMAKE_SOURCE_DIR}/src
                                                       ${CMAKE_SOURCE_DIR}/tests/cuda)
  target_link_libraries(cuda_checked_test PRIVATE emulator_checked snug_backend GTest::gtest_main)
  snug_flags(cuda_checked_test)
  gtest_discover_tests(cuda_checked_test NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 TEST_PREFIX Checked.
                       PROPERTIES LABELS "cuda;emulator" TIMEOUT 300)
  add_dependencies(card_tests cuda_checked_test)
endfunction()
