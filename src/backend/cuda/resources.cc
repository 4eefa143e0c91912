#include "backend/cuda/resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backend/cuda/errors.h"
#include "base/bytes.h"
#include "base/error.h"

namespace snug::cuda {
namespace {

[[noreturn]] void refuse(CudaArena::Memory memory, std::int64_t byte_count, cudaError_t error) {
  if (memory == CudaArena::Memory::kPinned) {
    // The card has nothing to do with it, so that no other settings for it would help.
    throw DeviceError(fmt::format(
        "{} of pinned memory were refused: {}\nthe host is short of memory, or `ulimit -l` is low",
        format_bytes(byte_count), cudaGetErrorString(error)));
  }
  std::size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  throw CapacityError(
      fmt::format("the card refused {}, although the plan fits: {}\n"
                  "{} of its {} are free now: another program has taken memory since, or what is "
                  "free is in pieces\n"
                  "`snug devices` shows who holds what; with --fit the run fits what is left",
                  format_bytes(byte_count), cudaGetErrorString(error),
                  format_bytes(static_cast<std::int64_t>(free)),
                  format_bytes(static_cast<std::int64_t>(total))));
}

}  // namespace

CudaArena::CudaArena(Memory memory, std::int64_t byte_count)
    : memory_(memory), byte_count_(byte_count) {
  const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(byte_count, 1));
  void* data = nullptr;
  const cudaError_t error = memory == Memory::kCard
                                ? cudaMalloc(&data, bytes)
                                : cudaHostAlloc(&data, bytes, cudaHostAllocDefault);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // not one that sticks
    refuse(memory, byte_count, error);
  }
  require(error, "taking the run's memory");
  data_ = static_cast<std::byte*>(data);
}

CudaArena::~CudaArena() { memory_ == Memory::kCard ? cudaFree(data_) : cudaFreeHost(data_); }

Stream::Stream() {
  require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
}
Stream::~Stream() { cudaStreamDestroy(stream_); }

Event::Event(bool timed) {
  require(cudaEventCreateWithFlags(&event_, timed ? cudaEventDefault : cudaEventDisableTiming),
          "making an event");
}
Event::~Event() {
  if (event_ != nullptr) cudaEventDestroy(event_);
}
Event::Event(Event&& other) noexcept
    : event_(std::exchange(other.event_, nullptr)), recorded_(other.recorded_) {}

void Event::record(cudaStream_t stream) {
  require(cudaEventRecord(event_, stream), "recording an event");
  recorded_ = true;
}

cudaError_t Event::wait() const { return recorded_ ? cudaEventSynchronize(event_) : cudaSuccess; }

double Event::seconds_since(const Event& earlier) const {
  float milliseconds = 0;
  require(cudaEventElapsedTime(&milliseconds, earlier.event_, event_), "timing");
  return milliseconds / 1e3;
}

}  // namespace snug::cuda
