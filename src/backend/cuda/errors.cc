#include "backend/cuda/errors.h"

#include <fmt/format.h>

#include "base/error.h"

namespace snug::cuda {
namespace {

// What an error means for the run, and what to do.
std::string_view advice(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return "someone else has taken memory since the run was planned: `snug devices` shows who; "
             "with --fit the run fits what is left";
    case cudaErrorInsufficientDriver:
      return "the driver is older than the CUDA runtime of this build: install a newer driver";
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
      return "no card can be used: `snug devices` shows what the driver sees; train on the "
             "processor with --device=cpu";
    case cudaErrorDevicesUnavailable:
      return "the card is busy with a program that keeps it for itself: `snug devices` shows which";
    case cudaErrorNoKernelImageForDevice:
      return "the kernels of this build are not compiled for this card: `snug --version` shows for "
             "which; build with -DSNUG_CUDA_ARCHITECTURES=... or train with --device=cpu";
    case cudaErrorUnsupportedPtxVersion:
      return "this build has no code for this card, and the driver is too old to compile it: "
             "install a newer driver, or build with an older toolkit (CUDA_HOME)";
    case cudaErrorLaunchTimeout:
      return "the display's watchdog stopped a kernel that took too long; what is saved is safe, "
             "resume with --init_from=resume and a smaller --batch_size";
    case cudaErrorECCUncorrectable:
    case cudaErrorUnknown:
      return "the card is lost to this process: `dmesg` may name an Xid; what is saved is safe, "
             "resume with --init_from=resume once the card answers again";
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorLaunchFailure:
      return "a kernel failed, and the card's context with it; what is saved is safe, resume with "
             "--init_from=resume; `snug selftest` tells whether the card computes rightly";
    default:
      return "what is saved is safe; resume with --init_from=resume";
  }
}

std::string_view advice(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_ALLOC_FAILED) {
    return "its kernels found no room beside the run's memory; what is saved is safe, leave more "
           "free with --headroom";
  }
  return "what is saved is safe, resume with --init_from=resume; `snug selftest` tells whether the "
         "card computes rightly";
}

std::string_view name_of(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "not initialised";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "out of memory";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "invalid value";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "the card lacks a feature";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "execution failed";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "not supported";
    default:
      return "internal error";
  }
}

}  // namespace

void require(cudaError_t result, std::string_view what) {
  if (result == cudaSuccess) return;
  throw DeviceError(fmt::format("the card failed: {} ({})\nin {}\n{}", cudaGetErrorString(result),
                                cudaGetErrorName(result), what, advice(result)));
}

bool ends_context(cudaError_t error) {
  switch (error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorUnknown:
      return true;
    default:
      return false;
  }
}

void require(cublasStatus_t result, std::string_view what) {
  if (result == CUBLAS_STATUS_SUCCESS) return;
  throw DeviceError(fmt::format("cuBLASLt failed in {}: {} ({})\n{}", what, name_of(result),
                                static_cast<int>(result), advice(result)));
}

}  // namespace snug::cuda
