// cudart: allocations and copies. A copy to pageable memory holds its caller up, as on a card; one
// from there until it was read; one to or from pinned memory happens when its turn comes.
#include <cstring>
#include <vector>

#include "card/card_state.h"
#include "watcher.h"

using emulator::CardState;
using emulator::g_watcher;
using emulator::StreamMode;
using emulator::with_card;

namespace {

struct Copy {
  void* target;
  std::size_t target_pitch;
  const void* source;
  std::size_t source_pitch, width, height;

  void run() const {
    for (std::size_t row = 0; row < height; ++row) {
      char* to = static_cast<char*>(target) + row * target_pitch;
      std::memmove(to, static_cast<const char*>(source) + row * source_pitch, width);
      if (g_watcher) g_watcher->card_memory_written(to, width);
    }
  }
  std::size_t target_bytes() const { return height ? (height - 1) * target_pitch + width : 0; }
  std::size_t source_bytes() const { return height ? (height - 1) * source_pitch + width : 0; }
};

// Whether each side lies where the kind says, whole.
bool well_placed(const CardState& card, const Copy& copy, cudaMemcpyKind kind) {
  const bool to_card = card.memory.touches_card(copy.target);
  const bool from_card = card.memory.touches_card(copy.source);
  const bool wants_to = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool wants_from = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind != cudaMemcpyDefault && (to_card != wants_to || from_card != wants_from)) return false;
  return (!to_card || card.memory.on_card(copy.target, copy.target_bytes())) &&
         (!from_card || card.memory.on_card(copy.source, copy.source_bytes()));
}

bool is_pageable(const CardState& card, const void* address, std::size_t bytes) {
  return !card.memory.touches_card(address) && !card.memory.pinned(address, bytes);
}

cudaError_t copy_now(CardState& card, const Copy& copy, cudaStream_t stream) {
  card.queues.finish(stream);
  if (card.may_run()) copy.run();
  return card.sticky_error;
}

// What a card reads of pageable memory it has read when the call returns.
cudaError_t copy_staged(CardState& card, Copy copy, cudaStream_t stream) {
  auto staged = std::make_shared<std::vector<char>>(copy.source_bytes());
  std::memcpy(staged->data(), copy.source, staged->size());
  copy.source = staged->data();
  return emulator::enqueue_work(card, stream, [copy, staged] { copy.run(); });
}

cudaError_t copy_async(CardState& card, const Copy& copy, cudaMemcpyKind kind,
                       cudaStream_t stream) {
  if (copy.width == 0 || copy.height == 0) return cudaSuccess;
  if (!card.queues.knows(stream)) return cudaErrorInvalidResourceHandle;
  if (!well_placed(card, copy, kind)) return cudaErrorInvalidValue;
  ++card.memory.use().copies;
  if (!card.queues.captures(stream)) {
    if (is_pageable(card, copy.target, copy.target_bytes())) return copy_now(card, copy, stream);
    if (is_pageable(card, copy.source, copy.source_bytes())) {
      return copy_staged(card, copy, stream);
    }
    const bool to_host = !card.memory.touches_card(copy.target);
    if (to_host && card.queues.mode == StreamMode::kLazy) {
      for (std::size_t row = 0; row < copy.height; ++row) {
        std::memset(static_cast<char*>(copy.target) + row * copy.target_pitch, 0xFF, copy.width);
      }
    }
  }
  return emulator::enqueue_work(card, stream, [copy] { copy.run(); });
}

cudaError_t set_async(CardState& card, void* target, int value, std::size_t bytes,
                      cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  if (!card.memory.on_card(target, bytes)) return cudaErrorInvalidValue;
  return emulator::enqueue_work(card, stream, [=] {
    std::memset(target, value, bytes);
    if (g_watcher) g_watcher->card_memory_written(target, bytes);
  });
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** address, std::size_t bytes) {
  return with_card([&](CardState& card) {
    *address = nullptr;
    if (bytes == 0) return cudaSuccess;
    if (card.queues.capturing()) return cudaErrorStreamCaptureUnsupported;
    if (CardState::is_due(card.mallocs_to_failure)) return cudaErrorMemoryAllocation;
    *address = card.memory.allocate(bytes, card.room());
    return *address ? cudaSuccess : cudaErrorMemoryAllocation;
  });
}

cudaError_t cudaFree(void* address) {
  return with_card([&](CardState& card) {
    if (!address) return cudaSuccess;
    card.queues.finish_all();
    return card.memory.release(address) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaHostAlloc(void** address, std::size_t bytes, unsigned) {
  return with_card([&](CardState& card) {
    *address = nullptr;
    if (CardState::is_due(card.pinned_to_failure)) return cudaErrorMemoryAllocation;
    *address = bytes ? card.memory.allocate_pinned(bytes) : nullptr;
    return *address || !bytes ? cudaSuccess : cudaErrorMemoryAllocation;
  });
}

cudaError_t cudaMallocHost(void** address, std::size_t bytes) {
  return cudaHostAlloc(address, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void* address) {
  return with_card([&](CardState& card) {
    if (!address) return cudaSuccess;
    card.queues.finish_all();
    return card.memory.release_pinned(address) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaHostRegister(void* address, std::size_t bytes, unsigned) {
  return with_card([&](CardState& card) {
    card.memory.register_pinned(address, bytes);
    return cudaSuccess;
  });
}

cudaError_t cudaHostUnregister(void* address) { return cudaFreeHost(address); }

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return with_card([&](CardState& card) {
    *free = card.free_bytes();
    *total = card.settings->capacity_bytes;
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpy(void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind) {
  return with_card([&](CardState& card) {
    if (card.queues.capturing()) return cudaErrorStreamCaptureUnsupported;
    const Copy copy{target, bytes, source, bytes, bytes, 1};
    if (bytes == 0) return cudaSuccess;
    if (!well_placed(card, copy, kind)) return cudaErrorInvalidValue;
    ++card.memory.use().copies;
    const bool to_host = !card.memory.touches_card(target);
    if (card.queues.mode == StreamMode::kEager) return copy_now(card, copy, nullptr);
    // The call returns when pageable memory has been read; the card may have it later. Streams that
    // do not wait for the null stream can run before that.
    if (!to_host && is_pageable(card, source, bytes)) return copy_staged(card, copy, nullptr);
    const cudaError_t error = emulator::enqueue_work(card, nullptr, [copy] { copy.run(); });
    card.queues.finish(cudaStream_t{nullptr});
    return error != cudaSuccess ? error : card.sticky_error;
  });
}

cudaError_t cudaMemcpyAsync(void* target, const void* source, std::size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream) {
  return with_card([&](CardState& card) {
    return copy_async(card, {target, bytes, source, bytes, bytes, 1}, kind, stream);
  });
}

cudaError_t cudaMemcpy2DAsync(void* target, std::size_t target_pitch, const void* source,
                              std::size_t source_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  if (width > target_pitch || width > source_pitch) {
    return emulator::card_state().tell(cudaErrorInvalidValue);
  }
  return with_card([&](CardState& card) {
    return copy_async(card, {target, target_pitch, source, source_pitch, width, height}, kind,
                      stream);
  });
}

cudaError_t cudaMemset(void* target, int value, std::size_t bytes) {
  return with_card([&](CardState& card) { return set_async(card, target, value, bytes, nullptr); });
}

cudaError_t cudaMemsetAsync(void* target, int value, std::size_t bytes, cudaStream_t stream) {
  return with_card([&](CardState& card) { return set_async(card, target, value, bytes, stream); });
}
}
