// cudart: the device, its properties, errors, launches.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "card/card_state.h"
#include "card/limits.h"
#include "emulator/card_launch.h"

using emulator::card_state;
using emulator::CardState;
using emulator::with_card;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  CardState& card = card_state();
  const std::lock_guard lock(card.mutex);
  *count = card.settings ? 1 : 0;
  const cudaError_t error = card.trouble();
  return card.tell(
      error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ? error : cudaSuccess);
}

cudaError_t cudaSetDevice(int device) {
  return with_card([&](CardState&) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; });
}

cudaError_t cudaGetDevice(int* device) {
  return with_card([&](CardState&) {
    *device = 0;
    return cudaSuccess;
  });
}

cudaError_t cudaSetDeviceFlags(unsigned) {
  return with_card([](CardState&) { return cudaSuccess; });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  CardState& card = card_state();
  const std::lock_guard lock(card.mutex);
  if (const cudaError_t error = card.trouble(); error != cudaSuccess) return card.tell(error);
  if (device != 0) return card.tell(cudaErrorInvalidDevice);
  const std::optional<int> found = emulator::card_attribute(*card.settings, attribute);
  if (!found) return card.tell(cudaErrorInvalidValue);
  *value = *found;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  CardState& card = card_state();
  const std::lock_guard lock(card.mutex);
  if (const cudaError_t error = card.trouble(); error != cudaSuccess) return card.tell(error);
  if (device != 0) return card.tell(cudaErrorInvalidDevice);
  *properties = emulator::card_properties(*card.settings);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  if (device != 0 || length < 13) return card_state().tell(cudaErrorInvalidValue);
  std::snprintf(id, static_cast<std::size_t>(length), "0000:01:00.0");
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  return with_card([](CardState& card) {
    if (card.queues.capturing()) return cudaErrorStreamCaptureUnsupported;
    card.queues.finish_all();
    return card.sticky_error;
  });
}

cudaError_t cudaDeviceReset() {
  CardState& card = card_state();
  const std::lock_guard lock(card.mutex);
  emulator::insert_card(card.settings);
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  const CardState& card = card_state();
  *version = card.settings ? card.settings->driver_version : 0;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaPeekAtLastError() {
  const CardState& card = card_state();
  return card.sticky_error != cudaSuccess ? card.sticky_error : card.last_error;
}

cudaError_t cudaGetLastError() {
  CardState& card = card_state();
  const std::lock_guard lock(card.mutex);
  const cudaError_t error = cudaPeekAtLastError();
  card.last_error = cudaSuccess;
  return error;
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return with_card([&](CardState& card) {
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    const auto most = static_cast<int>(emulator::shared_limit_bytes(*card.settings));
    if (value < 0 || value > most) return cudaErrorInvalidValue;
    card.dynamic_shared_limits[function] = value;
    return cudaSuccess;
  });
}
}

namespace emulator {

bool (*g_launch_runner)(const KernelCall& call, const LaunchShape& shape) = nullptr;

void enqueue_launch(std::unique_ptr<KernelCall> call, const LaunchShape& wanted,
                    cudaStream_t stream) {
  with_card([&](CardState& card) {
    const auto limit = card.dynamic_shared_limits.find(call->function());
    const std::size_t dynamic_limit =
        limit == card.dynamic_shared_limits.end()
            ? kStaticSharedLimit
            : std::max(kStaticSharedLimit, static_cast<std::size_t>(limit->second));
    LaunchShape shape = wanted;
    // Static and dynamic together, unless the kernel was granted more.
    shape.shared_limit_bytes =
        limit == card.dynamic_shared_limits.end()
            ? kStaticSharedLimit
            : std::max(kStaticSharedLimit, shared_limit_bytes(*card.settings));
    if (const cudaError_t error = launch_error(shape, dynamic_limit)) return error;
    ++card.memory.use().launches;
    std::shared_ptr<const KernelCall> shared(std::move(call));
    return enqueue_work(card, stream, [&card, shared, shape] {
      const auto run = g_launch_runner ? g_launch_runner : &run_grid;
      if (!run(*shared, shape)) card.sticky_error = cudaErrorLaunchFailure;
    });
  });
}

}  // namespace emulator
