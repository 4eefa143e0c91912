// What CUDA and cuBLASLt answer, as exceptions: which call, which op, what to do.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <string_view>

namespace snug::cuda {

// Throws DeviceError unless the call succeeded. `what` names it: "allocating the arena", or the
// label of an op. A lost card and errors that stick are named as such.
void require(cudaError_t result, std::string_view what);
void require(cublasStatus_t result, std::string_view what);

// Whether the process can do nothing more with the card after this error. Such an error comes late:
// any call after the kernel that failed reports it.
bool ends_context(cudaError_t error);

}  // namespace snug::cuda
