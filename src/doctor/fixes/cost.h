// What a run of nanoGPT on PyTorch costs on a card, by the models of its memory and time.
#pragma once

#include "doctor/fixes/time.h"
#include "doctor/torch/memory.h"
#include "fit/cost_model.h"

namespace snug::doctor::fixes {

class TorchCost final : public fit::CostModel {
 public:
  // `loaded` and `card` (null: not known) must outlive it. `run` is the run of the resolved
  // `loaded`, compiled as it says, with what a log adds. `card_bytes` as in torch_need().
  TorchCost(const config::LoadedConfig& loaded, const torch::TorchRun& run, const fit::Card* card,
            std::int64_t card_bytes);

  const fit::Cost& now() const override { return now_; }
  fit::Cost cost(const config::Config& after) const override;
  // nanoGPT's keys, and others that the user set.
  std::vector<config::Change> changes(const config::Config& after) const override;
  // True where these keys alone do not make the change.
  bool needs_edit(const config::Config& after) const override;
  // What keeps the result first, then by kind, then the larger batch.
  fit::Preference preference(const fit::Fix& fix) const override;

  // The run that the config makes in the place of the one that is: what no key decides stays.
  torch::TorchRun run_after(const config::Config& after) const;

  // With AdamW's moments in one byte each, which takes an edit.
  fit::Cost with_eight_bit_moments() const;
  // With expandable segments, or the largest blocks kept whole: the same tensors, fewer pieces.
  fit::Cost with_allocator(const torch::TorchAllocatorSettings& settings) const;
  // What changes nothing in PyTorch's memory: the environment, or no card at all.
  fit::Cost without_card(double time_ratio = 1) const;
  double processor_time_ratio() const;

 private:
  fit::Cost cost_of(const torch::TorchMemory& memory, double time_ratio) const;

  const config::LoadedConfig& loaded_;
  const torch::TorchRun run_;
  const std::int64_t card_bytes_;
  const TorchTime time_;
  const torch::TorchMemory memory_;
  const double seconds_now_;
  const fit::Cost now_;
};

}  // namespace snug::doctor::fixes
