#include "device/build_features.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "backend/cuda/card.h"

namespace snug::device {
namespace {

// "75 86", or nothing without CUDA; from CMake.
constexpr const char* kCudaArchitectures = SNUG_CUDA_ARCHITECTURES;

}  // namespace

std::vector<int> cuda_capabilities() {
  std::vector<int> capabilities;
  std::istringstream list(kCudaArchitectures);
  for (std::string item; list >> item;) {
    const int capability = std::atoi(item.c_str());
    if (capability > 0) capabilities.push_back(capability);
  }
  std::sort(capabilities.begin(), capabilities.end());
  return capabilities;
}

fit::CardSupport card_support(const fit::Card& card) {
  const std::vector<int> capabilities = cuda_capabilities();
  if (capabilities.empty()) return fit::CardSupport::kNoBackend;
  return card.compute_capability < capabilities.front() ? fit::CardSupport::kTooOld
                                                        : fit::CardSupport::kCompiled;
}

std::string build_features() {
  const std::vector<int> capabilities = cuda_capabilities();
  if (capabilities.empty()) {
    return cuda::card_device() == "emulated" ? "cpu, emulated card; without CUDA"
                                             : "cpu; without CUDA";
  }
  return fmt::format("cpu, cuda (sm_{}; not yet run on hardware)", fmt::join(capabilities, " sm_"));
}

}  // namespace snug::device
