# The CUDA backend by nvcc. No CMake language CUDA: its checks want a toolkit laid out as NVIDIA's
# installer does, and the one from PyPI is not.
set(SNUG_TOOLKIT "" CACHE PATH "Folder of a CUDA toolkit (bin/nvcc, include, lib)")
# Turing (float16 only), Ampere, Ada, Hopper, Blackwell, rising; and code for cards to come.
set(SNUG_CUDA_ARCHITECTURES 75 80 86 89 90 120 CACHE STRING "Compute capabilities to compile for")

if(NOT SNUG_TOOLKIT)
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/cuda_toolkit OUTPUT_VARIABLE toolkit
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(SNUG_TOOLKIT "${toolkit}" CACHE PATH "" FORCE)
endif()

# What spills is told here; kernel_resources_test fails for a spill that is not known yet.
set(SNUG_NVCC_FLAGS -std=c++20 -O3 --expt-relaxed-constexpr -Xptxas --warn-on-spills -Xcompiler -Wall,-Wextra
    -I${CMAKE_SOURCE_DIR}/src)
if(SNUG_WERROR)
  list(APPEND SNUG_NVCC_FLAGS -Werror all-warnings)
endif()

# snug_ptx_version(out arch): the PTX that a card's code is made from, one for Turing and one for all
# later cards (docs/decisions/0048).
function(snug_ptx_version out arch)
  set(version 80)
  if(arch LESS 80)
    set(version 75)
  endif()
  set(${out} ${version} PARENT_SCOPE)
endfunction()

# snug_nvcc_objects(out kernels...): an object file per kernel source.
function(snug_nvcc_objects out)
  set(objects "")
  set(codes "")
  foreach(arch ${SNUG_CUDA_ARCHITECTURES})
    snug_ptx_version(version ${arch})
    list(APPEND codes -gencode arch=compute_${version},code=sm_${arch})
  endforeach()
  # Cards to come compile the newest PTX when the program starts.
  list(APPEND codes -gencode arch=compute_${version},code=compute_${version})
  foreach(kernel ${ARGN})
    file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR}/src ${kernel})
    set(object ${CMAKE_BINARY_DIR}/nvcc/${name}.o)
    get_filename_component(folder ${object} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${SNUG_TOOLKIT}/bin/nvcc ${SNUG_NVCC_FLAGS} ${codes} -ccbin ${CMAKE_CXX_COMPILER} -MD
              -MF ${object}.d -c ${kernel} -o ${object}
      DEPENDS ${kernel}
      DEPFILE ${object}.d
      COMMENT "nvcc ${name}"
      VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set(${out} ${objects} PARENT_SCOPE)
endfunction()

# snug_toolkit_library(kernels host): snug_cuda with NVIDIA's runtime and cuBLASLt. The runtime is
# linked in and finds the driver itself, so that the program starts where there is none; cuBLASLt is
# loaded when a card is first used.
function(snug_toolkit_library kernels host)
  if(NOT EXISTS ${SNUG_TOOLKIT}/bin/nvcc)
    message(FATAL_ERROR "no CUDA toolkit: ./scripts/build cuda finds or fetches one")
  endif()
  snug_nvcc_objects(objects ${kernels})
  add_library(snug_cuda STATIC ${host} ${objects})
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON)
  target_include_directories(snug_cuda SYSTEM BEFORE PUBLIC ${SNUG_TOOLKIT}/include)
  find_package(Threads REQUIRED)
  find_library(SNUG_CUDART cudart_static REQUIRED NO_DEFAULT_PATH
               PATHS ${SNUG_TOOLKIT} PATH_SUFFIXES lib64 lib)
  file(GLOB cublaslt ${SNUG_TOOLKIT}/lib64/libcublasLt.so.* ${SNUG_TOOLKIT}/lib/libcublasLt.so.*)
  list(GET cublaslt 0 cublaslt)
  # By its name where the loader finds it, so that a program may be moved; see cublaslt_real.cc.
  cmake_path(GET cublaslt FILENAME cublaslt_name)
  cmake_path(GET cublaslt PARENT_PATH cublaslt_folder)
  set_source_files_properties(${SNUG_CUDA_FOLDER}/cublaslt_real.cc PROPERTIES
                              COMPILE_DEFINITIONS SNUG_CUBLASLT="${cublaslt_name}")
  target_link_libraries(snug_cuda PUBLIC ${SNUG_CUDART} Threads::Threads ${CMAKE_DL_LIBS} rt)
  target_link_options(snug_cuda PUBLIC -Wl,-rpath,${cublaslt_folder})
endfunction()

# Label toolkit: what only a toolkit can tell, without a card. The emulator's declarations have
# NVIDIA's values; no kernel spills registers but those that are known to.
# Called with the kernels' tests.
function(snug_toolkit_tests)
  add_test(NAME toolkit_script_test COMMAND ${CMAKE_SOURCE_DIR}/tests/cuda/toolkit_script_test.sh
                                            ${CMAKE_SOURCE_DIR}/scripts/cuda_toolkit)
  set_tests_properties(toolkit_script_test PROPERTIES LABELS "cuda;toolkit")
  if(NOT EXISTS "${SNUG_TOOLKIT}/bin/nvcc")
    add_test(NAME toolkit_tests COMMAND ${CMAKE_COMMAND} -E echo
             "skipped: no CUDA toolkit here, so what nvcc makes of the kernels (PTX, registers) is not \
tested; ./scripts/cuda_toolkit --fetch gets one")
    set_tests_properties(toolkit_tests PROPERTIES LABELS "cuda;toolkit" SKIP_REGULAR_EXPRESSION "skipped:")
    return()
  endif()
  foreach(whose own nvidia)
    add_executable(header_values_${whose} ${CMAKE_SOURCE_DIR}/tests/cuda/header_values.cc)
  endforeach()
  target_include_directories(header_values_own BEFORE PRIVATE ${CMAKE_SOURCE_DIR}/emulator/include)
  target_include_directories(header_values_nvidia BEFORE PRIVATE ${SNUG_TOOLKIT}/include)
  add_test(NAME toolkit_headers_test
           COMMAND sh -c "$<TARGET_FILE:header_values_own> > own_values.txt && \
$<TARGET_FILE:header_values_nvidia> > nvidia_values.txt && diff own_values.txt nvidia_values.txt")
  add_executable(occupancy ${CMAKE_SOURCE_DIR}/tests/cuda/occupancy.cc)
  target_include_directories(occupancy BEFORE PRIVATE ${SNUG_TOOLKIT}/include)
  add_test(NAME kernel_resources_test
           COMMAND ${CMAKE_SOURCE_DIR}/tests/cuda/kernel_resources.py ${SNUG_TOOLKIT}
                   ${CMAKE_SOURCE_DIR} $<TARGET_FILE:occupancy> ${SNUG_CUDA_ARCHITECTURES})
  set_tests_properties(toolkit_headers_test kernel_resources_test PROPERTIES LABELS toolkit
                                                                             TIMEOUT 1500)
  snug_ptx_test(${ARGN})
endfunction()

# snug_ptx_texts(out arch kernels...): nvcc's PTX of kernel sources. Without fused multiply-adds, so
# that it rounds where g++'s code does.
function(snug_ptx_texts out arch)
  set(texts ${${out}})
  foreach(kernel ${ARGN})
    get_filename_component(name ${kernel} NAME_WE)
    set(text ${CMAKE_BINARY_DIR}/ptx/compute_${arch}/${name}.ptx)
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/ptx/compute_${arch})
    add_custom_command(
      OUTPUT ${text}
      COMMAND ${SNUG_TOOLKIT}/bin/nvcc ${SNUG_NVCC_FLAGS} -fmad=false -arch=compute_${arch} -ccbin
              ${CMAKE_CXX_COMPILER} -MD -MF ${text}.d -ptx ${kernel} -o ${text}
      DEPENDS ${kernel}
      DEPFILE ${text}.d
      COMMENT "nvcc -ptx ${name} for compute_${arch}"
      VERBATIM)
    list(APPEND texts ${text})
  endforeach()
  set(${out} ${texts} PARENT_SCOPE)
endfunction()

# cuda_ptx_test: the kernels' tests, each launch by g++'s code and by nvcc's PTX: that of Ampere and
# later for all kernels, Turing's for those of its tensor cores.
function(snug_ptx_test)
  file(GLOB_RECURSE kernels CONFIGURE_DEPENDS ${SNUG_CUDA_FOLDER}/*.cu)
  snug_ptx_texts(texts 80 ${kernels})
  list(FILTER kernels INCLUDE REGEX "attention/(forward|backward)")
  snug_ptx_texts(texts 75 ${kernels})
  add_executable(cuda_ptx_test ${ARGN} ${CMAKE_SOURCE_DIR}/tests/cuda/ptx/second_opinion_test.cc
                               ${texts})
  set_source_files_properties(${CMAKE_SOURCE_DIR}/tests/cuda/ptx/second_opinion_test.cc PROPERTIES
                              COMPILE_DEFINITIONS "SNUG_PTX=\"${CMAKE_BINARY_DIR}/ptx\"")
  target_link_libraries(cuda_ptx_test PRIVATE emulator_ptx)
  snug_test_program(cuda_ptx_test LINKS snug_cuda)
  add_test(NAME cuda_ptx_test COMMAND cuda_ptx_test)
  set_tests_properties(cuda_ptx_test PROPERTIES LABELS "cuda;toolkit" TIMEOUT 600)
  add_dependencies(card_tests cuda_ptx_test)
endfunction()
