// A device without hardware behind it, for tests of the fit: bytes by simple rules, rates of a
// card.
#pragma once

#include "config/config.h"
#include "fit/planner.h"

namespace snug::fit {

class PretendTarget : public program::Target {
 public:
  std::int64_t scratch_bytes(const ops::Op& op, const ops::Shapes& shapes) const override {
    const auto* backward = op.as<ops::AttentionBackward>();
    return backward == nullptr ? 0 : shapes.row_count() * shapes.width(backward->out) * 4;
  }
  std::int64_t overhead_bytes(const program::Program&) const override { return 1000; }
  DType compute_dtype(DType wanted) const override { return wanted; }
};

inline Rates pretend_rates() { return card_rates(card_named("rtx3060")); }

inline config::LoadedConfig small_loaded(const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {
      "--n_layer=4",     "--n_head=4",      "--n_embd=64",
      "--block_size=64", "--batch_size=12", "--gradient_accumulation_steps=2",
      "--device=cuda",   "--max_iters=10",  "--warmup_iters=0"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return config::load_config(config::Command::kPlan, arguments);
}

}  // namespace snug::fit
