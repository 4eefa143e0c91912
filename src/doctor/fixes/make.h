// One fix at a time: the config and the run after it, what it needs of the card, how long it takes.
// Internal to fixes.cc.
#pragma once

#include "doctor/fixes/fixes.h"
#include "doctor/fixes/time.h"

namespace snug {

// A config and the run that it makes, to be changed together.
struct ChangedRun {
  Config config;
  TorchRun run;

  std::int64_t effective_batch() const {
    return config.batch_size * config.gradient_accumulation_steps;
  }
};

class TorchFixMaker {
 public:
  // `loaded` and `card` (null: not known) must outlive the maker.
  TorchFixMaker(const LoadedConfig& loaded, const TorchRun& run, std::int64_t card_bytes,
                const Card* card);

  // As it is now.
  ChangedRun now() const { return {loaded_.values, run_}; }
  const LoadedConfig& loaded() const { return loaded_; }
  const Card* card() const { return card_; }
  std::int64_t card_bytes() const { return card_bytes_; }
  bool fits_now() const { return card_bytes_ > 0 && now_.high_bytes <= card_bytes_; }

  // Evaluation follows, unless the user's file has a key for it: then it is at most that.
  void set_batch(ChangedRun& changed, std::int64_t batch) const;

  // An edit where nanoGPT's keys, and those that the user set, do not make all of the change.
  TorchFix make(TorchFixKind kind, const ChangedRun& after) const;
  // AdamW's moments in one byte each.
  TorchFix make_eight_bit() const;
  // What changes nothing in PyTorch's memory: the environment, or no card at all.
  TorchFix make_outside(TorchFixKind kind, const Config& after) const;

 private:
  TorchFix described(TorchFixKind kind, const ChangedRun& after) const;
  void set_vram(TorchFix& fix, const TorchRange& vram) const;

  const LoadedConfig& loaded_;
  const TorchRun run_;
  const std::int64_t card_bytes_;
  const Card* const card_;
  const TorchTime time_;
  const TorchMemory memory_;
  const TorchRange now_;
  const double seconds_now_;
};

}  // namespace snug
