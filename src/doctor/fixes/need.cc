// What a run needs of a card, by PyTorch's own allocator.
#include <algorithm>

#include "doctor/fixes/cost.h"
#include "doctor/fixes/fixes.h"
#include "doctor/torch/replay.h"

namespace snug::doctor::fixes {
namespace {

// What is reserved may grow by so much until pieces of memory have settled.
constexpr double kSettling = 0.35;

std::int64_t more_by(std::int64_t bytes, double share) {
  return bytes + static_cast<std::int64_t>(share * static_cast<double>(bytes));
}

}  // namespace

double torch_tolerance(const torch::TorchRun& run) {
  if (run.compiled) return 0.03;
  return run.checkpoint_blocks > 0 ? 0.02 : 0.01;
}

ByteRange torch_need(const torch::TorchMemory& memory, std::int64_t card_bytes) {
  const ByteRange& context = memory.context_range;
  const double tolerance = torch_tolerance(memory.run);
  const std::int64_t low =
      std::max(memory.train_range.low_bytes, memory.evaluate_range.low_bytes) + context.low_bytes;
  const std::int64_t held =
      std::max(memory.train_range.high_bytes, memory.evaluate_range.high_bytes);
  const std::int64_t reserved = more_by(memory.worst().reserved_bytes, tolerance);
  const std::int64_t endless = std::max(held, reserved) + context.high_bytes;
  // A run with more tensors would take seconds to try.
  constexpr std::size_t kMaxTensorsToTry = 400000;
  const bool is_close = card_bytes > 0 && low <= card_bytes &&
                        memory.tensors.size() <= kMaxTensorsToTry &&
                        more_by(reserved, kSettling) + context.high_bytes > card_bytes;
  if (!is_close) return {low, endless};
  const torch::TorchReplay replay(memory.run);
  const bool expandable = memory.run.expandable_segments;
  const std::int64_t smallest = replay.smallest_card(expandable).bytes;
  const std::int64_t high = std::max(held, more_by(smallest, tolerance)) + context.high_bytes;
  // A larger card may fail where a smaller one does not: the given one counts, and one that is
  // smaller by the tolerance.
  const std::int64_t given = card_bytes - context.high_bytes;
  const bool survives = high <= card_bytes && replay.survives(given, expandable) &&
                        replay.survives(given - more_by(given, tolerance) + given, expandable);
  return {low, survives ? high : std::max(high, card_bytes + 1)};
}

TorchProof prove(const config::LoadedConfig& config, const torch::TorchRun& run,
                 std::int64_t card_bytes, const fit::Card* card, const fit::Fix& fix) {
  const TorchCost model(config, run, card, card_bytes);
  torch::TorchRun after = model.run_after(fix.config);
  const torch::TorchReplay replay(after);
  const torch::TorchReplay::Smallest smallest = replay.smallest_card(run.expandable_segments);
  const std::int64_t given = card_bytes - replay.memory().context_range.high_bytes;
  TorchProof proof{smallest.phase, smallest.bytes, given - smallest.bytes, true};
  if (after.resumed) return proof;
  after.resumed = true;
  proof.survives_resume = torch::TorchReplay(after).survives(given, run.expandable_segments);
  return proof;
}

}  // namespace snug::doctor::fixes
