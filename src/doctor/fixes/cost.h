// What a run of nanoGPT on PyTorch costs on a card, by the models of its memory and time.
#pragma once

#include "doctor/fixes/time.h"
#include "doctor/torch/memory.h"
#include "fit/cost_model.h"

namespace snug {

class TorchCost final : public CostModel {
 public:
  // `loaded` and `card` (null: not known) must outlive it. `run` is the run of the resolved
  // `loaded`, compiled as it says, with what a log adds.
  TorchCost(const LoadedConfig& loaded, const TorchRun& run, const Card* card);

  const Cost& now() const override { return now_; }
  Cost cost(const Config& after) const override;
  // nanoGPT's keys, and others that the user set.
  std::vector<Change> changes(const Config& after) const override;
  // Where these keys do not make all of the change.
  bool needs_edit(const Config& after) const override;
  // What keeps the result first, then by kind, then the larger batch.
  Preference preference(const Fix& fix) const override;

  // The run that the config makes in the place of the one that is: what no key decides stays.
  TorchRun run_after(const Config& after) const;

  // With AdamW's moments in one byte each, which takes an edit.
  Cost with_eight_bit_moments() const;
  // What changes nothing in PyTorch's memory: the environment, or no card at all.
  Cost without_card(double time_ratio = 1) const;
  double processor_time_ratio() const;

 private:
  const LoadedConfig& loaded_;
  const TorchRun run_;
  const TorchTime time_;
  const TorchMemory memory_;
  const double seconds_now_;
  const Cost now_;
};

}  // namespace snug
