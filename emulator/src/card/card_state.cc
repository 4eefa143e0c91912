#include "card/card_state.h"

#include <cstdlib>
#include <string_view>

#include "tensor_sum.h"
#include "watcher.h"

namespace emulator {

CardState& card_state() {
  static CardState& state = *[] {
    auto* made = new CardState;  // never destroyed: threads may outlive main()
    made->settings = card_by_name("rtx3060");
    const char* streams = std::getenv("EMULATOR_STREAMS");
    if (streams != nullptr && std::string_view(streams) == "lazy") {
      made->queues.mode = StreamMode::kLazy;
    }
    return made;
  }();
  return state;
}

cudaError_t CardState::trouble() const {
  if (!settings) return cudaErrorNoDevice;
  if (settings->driver_version < CUDART_VERSION) return cudaErrorInsufficientDriver;
  return sticky_error;
}

cudaError_t CardState::enter() {
  if (const cudaError_t error = trouble(); error != cudaSuccess) return error;
  if (!has_context) {
    if (settings->held_bytes + settings->context_bytes > settings->capacity_bytes) {
      return cudaErrorMemoryAllocation;
    }
    has_context = true;
  }
  return cudaSuccess;
}

cudaError_t CardState::tell(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}

std::size_t CardState::room() const {
  const std::size_t taken = settings->held_bytes + (has_context ? settings->context_bytes : 0);
  return taken > settings->capacity_bytes ? 0 : settings->capacity_bytes - taken;
}

std::size_t CardState::free_bytes() const {
  const std::size_t occupied = memory.occupied_bytes();
  return occupied > room() ? 0 : room() - occupied;
}

bool CardState::is_due(std::optional<unsigned>& successes_left) {
  if (!successes_left || (*successes_left)-- > 0) return false;
  successes_left.reset();
  return true;
}

bool CardState::may_run() {
  if (operations_to_loss && (*operations_to_loss)-- == 0) {
    operations_to_loss.reset();
    sticky_error = loss_error;
  }
  return sticky_error == cudaSuccess;
}

cudaError_t enqueue_work(CardState& card, cudaStream_t stream, std::function<void()> work) {
  if (!card.queues.knows(stream)) return cudaErrorInvalidResourceHandle;
  card.queues.enqueue(stream, {[&card, work = std::move(work)] {
                                 if (card.may_run()) work();
                               },
                               nullptr, 0, false});
  // Eager streams have run it: what it did wrong is known at once, as with CUDA_LAUNCH_BLOCKING.
  return card.queues.mode == StreamMode::kEager ? card.sticky_error : cudaSuccess;
}

void insert_card(std::optional<CardSettings> settings) {
  CardState& card = card_state();
  const std::lock_guard lock(card.mutex);
  card.memory.release_all();
  card.memory.use() = {};
  const StreamMode mode = card.queues.mode;
  card.queues = Queues();
  card.queues.mode = mode;
  card.settings = std::move(settings);
  card.has_context = false;
  card.last_error = card.sticky_error = cudaSuccess;
  card.dynamic_shared_limits.clear();
  card.mallocs_to_failure.reset();
  card.pinned_to_failure.reset();
  card.matmuls_to_failure.reset();
  card.matmuls_to_wrong.reset();
  card.matmuls_truncate = false;
  card.known_products = KnownProducts::kAll;
  card.products_refusal = CUBLAS_STATUS_NOT_SUPPORTED;
  set_sums_cut_off(sums_are_cut_off_by_environment());
  card.operations_to_loss.reset();
}

CardUse card_use() {
  CardState& card = card_state();
  const std::lock_guard lock(card.mutex);
  return card.memory.use();
}

// Orders of tests.
template <class Change>
static void change_card(Change change) {
  CardState& card = card_state();
  const std::lock_guard lock(card.mutex);
  change(card);
}

void set_stream_mode(StreamMode mode) {
  change_card([&](CardState& card) {
    card.queues.finish_all();
    card.queues.mode = mode;
  });
}

void fail_malloc_after(unsigned successes) {
  change_card([&](CardState& card) { card.mallocs_to_failure = successes; });
}

void fail_pinned_after(unsigned successes) {
  change_card([&](CardState& card) { card.pinned_to_failure = successes; });
}

void fail_matmul_after(unsigned successes, cublasStatus_t status) {
  change_card([&](CardState& card) {
    card.matmuls_to_failure = successes;
    card.matmul_failure = status;
  });
}

void spoil_matmul_after(unsigned successes) {
  change_card([&](CardState& card) { card.matmuls_to_wrong = successes; });
}

void truncate_matmuls() {
  change_card([](CardState& card) { card.matmuls_truncate = true; });
}

void cut_off_sums() { set_sums_cut_off(true); }

void set_known_products(KnownProducts known, cublasStatus_t refusal) {
  change_card([&](CardState& card) {
    card.known_products = known;
    card.products_refusal = refusal;
  });
}

void lose_card_after(std::uint64_t operations, cudaError_t error) {
  change_card([&](CardState& card) {
    card.operations_to_loss = operations;
    card.loss_error = error;
  });
}

void set_held_bytes(std::size_t bytes) {
  change_card([&](CardState& card) {
    if (card.settings) card.settings->held_bytes = bytes;
  });
}

}  // namespace emulator
