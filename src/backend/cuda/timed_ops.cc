// How long ops take on a card: timed events between them, and the rate of a large copy.
#include <cuda_runtime.h>

#include <algorithm>
#include <deque>

#include "backend/cuda/card.h"
#include "backend/cuda/cuda_executor.h"
#include "backend/cuda/errors.h"
#include "base/bytes.h"

namespace snug::cuda {
namespace {

CudaExecutor& on_card(backend::Executor& executor) { return dynamic_cast<CudaExecutor&>(executor); }

}  // namespace

std::vector<TimedOp> time_ops(backend::Executor& executor, const std::function<void()>& work) {
  CudaExecutor& card = on_card(executor);
  std::vector<TimedOp> ops;
  std::deque<Event> events;
  events.emplace_back(true).record(card.stream());
  card.observe(
      [&](const program::Phase& phase, const ops::Op& op, std::int64_t first, std::int64_t end) {
        ops.push_back({&phase, &op, end - first, 0});
        events.emplace_back(true).record(card.stream());
      });
  try {
    work();
    card.wait();
  } catch (...) {
    card.observe({});
    throw;
  }
  card.observe({});
  for (std::size_t i = 0; i < ops.size(); ++i) {
    ops[i].seconds = events[i + 1].seconds_since(events[i]);
  }
  return ops;
}

double measure_copy_rate(backend::Executor& executor) {
  constexpr std::int64_t kMax = 512 * kMiB;
  constexpr int kTimes = 5;
  CudaExecutor& card = on_card(executor);
  const CudaArena& arena = card.arena();
  const std::int64_t bytes = std::min(kMax, arena.byte_count() / 2);
  double best = 0;
  for (int i = 0; i < kTimes; ++i) {
    Event begin(true), end(true);
    begin.record(card.stream());
    require(cudaMemcpyAsync(arena.data() + bytes, arena.data(), static_cast<std::size_t>(bytes),
                            cudaMemcpyDeviceToDevice, card.stream()),
            "measuring");
    end.record(card.stream());
    require(end.wait(), "measuring");
    const double seconds = end.seconds_since(begin);
    if (seconds > 0) best = std::max(best, 2 * static_cast<double>(bytes) / seconds);
  }
  return best;
}

}  // namespace snug::cuda
