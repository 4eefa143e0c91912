// What a run holds of a card, each freed with its owner: memory, a stream, events.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace snug::cuda {

// The one allocation of a memory space: exactly `byte_count` bytes, on the card or pinned on the
// host. Throws CapacityError when the card refuses it, DeviceError when the host does.
class CudaArena {
 public:
  enum class Memory { kCard, kPinned };

  CudaArena(Memory memory, std::int64_t byte_count);
  ~CudaArena();
  CudaArena(const CudaArena&) = delete;
  CudaArena& operator=(const CudaArena&) = delete;

  std::byte* data() const { return data_; }
  std::int64_t byte_count() const { return byte_count_; }

 private:
  Memory memory_;
  std::byte* data_ = nullptr;
  std::int64_t byte_count_;
};

class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  // Timed ones tell the time between them, the others are cheaper.
  explicit Event(bool timed = false);
  ~Event();
  Event(Event&& other) noexcept;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream);
  // Waits on the host; returns at once if it was never recorded.
  [[nodiscard]] cudaError_t wait() const;
  double seconds_since(const Event& earlier) const;

 private:
  cudaEvent_t event_ = nullptr;
  bool recorded_ = false;
};

}  // namespace snug::cuda
