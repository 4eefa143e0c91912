// The one card of the process, behind the C functions of its libraries. Whoever calls holds its
// lock.
#pragma once

#include <map>
#include <mutex>
#include <optional>

#include "card/memory.h"
#include "card/queue.h"
#include "emulator/card.h"
#include "emulator/launch.h"

namespace emulator {

struct CardState {
  std::recursive_mutex mutex;
  std::optional<CardSettings> settings;
  CardMemory memory;
  Queues queues;
  bool has_context = false;
  cudaError_t last_error = cudaSuccess, sticky_error = cudaSuccess;
  std::map<const void*, int> dynamic_shared_limits;  // raised by cudaFuncSetAttribute
  std::optional<unsigned> mallocs_to_failure, pinned_to_failure, matmuls_to_failure,
      matmuls_to_wrong;
  bool matmuls_truncate = false;
  cublasStatus_t matmul_failure = CUBLAS_STATUS_EXECUTION_FAILED;
  KnownProducts known_products = KnownProducts::kAll;
  cublasStatus_t products_refusal = CUBLAS_STATUS_NOT_SUPPORTED;
  std::optional<std::uint64_t> operations_to_loss;
  cudaError_t loss_error = cudaErrorUnknown;

  // What is wrong before any call can do its work: no card, an old driver, a sticky error.
  cudaError_t trouble() const;
  // trouble(), with a context made if there is none.
  cudaError_t enter();
  // Keeps the error for cudaGetLastError and gives it back.
  cudaError_t tell(cudaError_t error);
  std::size_t free_bytes() const;
  std::size_t room() const;  // for allocations, taken or not
  // Counts an order for trouble down; true when it is due.
  static bool is_due(std::optional<unsigned>& successes_left);
  // Counted against operations_to_loss; false when the card is gone or has failed.
  bool may_run();
};

CardState& card_state();

// A function's work under the lock, once a context is there.
template <typename Work>
cudaError_t with_card(Work work) {
  CardState& card = card_state();
  const std::lock_guard lock(card.mutex);
  if (const cudaError_t error = card.enter(); error != cudaSuccess) return card.tell(error);
  return card.tell(work(card));
}

// Enqueues work that runs only while the card is well.
cudaError_t enqueue_work(CardState& card, cudaStream_t stream, std::function<void()> work);

}  // namespace emulator
