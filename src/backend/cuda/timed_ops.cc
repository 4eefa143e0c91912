// How long ops take on a card: timed events between them, and the rate of a large copy.
#include <cuda_runtime.h>

#include <algorithm>
#include <deque>

#include "backend/cuda/cuda_executor.h"
#include "backend/cuda/errors.h"
#include "base/bytes.h"

namespace snug::cuda {

std::vector<backend::TimedOp> CudaExecutor::time_ops(const std::function<void()>& work) {
  std::vector<backend::TimedOp> ops;
  std::deque<Event> events;
  events.emplace_back(true).record(stream());
  const auto note = [&](const program::Phase& phase, const ops::Op& op, std::int64_t first,
                        std::int64_t end) {
    ops.push_back({.phase = &phase, .op = &op, .row_count = end - first});
    events.emplace_back(true).record(stream());
  };
  struct Watch {
    Observer& observer;
    ~Watch() { observer = nullptr; }
  } const watch{observer_ = note};
  work();
  wait();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (i > 0) ops[i].start_seconds = ops[i - 1].start_seconds + ops[i - 1].seconds;
    ops[i].seconds = events[i + 1].seconds_since(events[i]);
  }
  return ops;
}

double CudaExecutor::measure_byte_rate() {
  constexpr std::int64_t kMax = 512 * kMiB;
  constexpr int kTimes = 5;
  const std::int64_t bytes = std::min(kMax, arena_.byte_count() / 2);
  double best = 0;
  for (int i = 0; i < kTimes; ++i) {
    Event begin(true), end(true);
    begin.record(stream());
    require(cudaMemcpyAsync(arena_.data() + bytes, arena_.data(), static_cast<std::size_t>(bytes),
                            cudaMemcpyDeviceToDevice, stream()),
            "measuring");
    end.record(stream());
    require(end.wait(), "measuring");
    const double seconds = end.seconds_since(begin);
    if (seconds > 0) best = std::max(best, 2 * static_cast<double>(bytes) / seconds);
  }
  return best;
}

}  // namespace snug::cuda
