#include "doctor/fixes/time.h"

#include <algorithm>

#include "fit/rates.h"
#include "gpt2/spec.h"

namespace snug::doctor::fixes {
namespace {

// Floating-point operations per token, forward and backward, as nanoGPT counts them, and once more
// forward for checkpointed blocks.
struct TokenFlops {
  double products = 0, attention = 0;
};

TokenFlops flops_of(const torch::TorchRun& run) {
  const auto width = static_cast<double>(run.n_embd);
  const auto blocks = static_cast<double>(run.n_layer);
  const auto again = static_cast<double>(run.checkpoint_blocks);
  const auto scores = 4 * width * static_cast<double>(run.block_size);  // of one block, forward
  const auto weights = static_cast<double>(gpt2::make_model_spec(run).reported_parameter_count());
  return {6 * weights + 24 * again * width * width, (3 * blocks + again) * scores};
}

// nanoGPT allows TF32 in float32 products: from Ampere on half the rate of 16 bits. A card without
// bfloat16 computes it in float32.
fit::Rates rates_of(fit::Card card) {
  if (card.compute_capability >= 80) {
    card.fp32_tflops = std::max(card.fp32_tflops, card.bf16_tflops / 2);
  }
  if (card.bf16_tflops <= 0) card.bf16_tflops = card.fp32_tflops;
  return fit::card_rates(card);
}

// Tensors of one micro-step with all gradients standing, each written once and read once.
struct Traffic {
  double bytes = 0, starts = 0;
};

Traffic micro_step_traffic(const torch::TorchMemory& memory) {
  const std::int64_t last = std::min<std::int64_t>(memory.run.accumulation_steps, 2) - 1;
  Traffic traffic;
  for (const torch::TorchTensor& tensor : memory.tensors) {
    const bool trains =
        tensor.phase == torch::TorchPhase::kForward || tensor.phase == torch::TorchPhase::kBackward;
    if (!trains || tensor.iteration != 1 || tensor.micro_step != last) continue;
    traffic.bytes += 2 * static_cast<double>(tensor.bytes);
    traffic.starts += 1;
  }
  // Gradients of this micro-step are added to those that stand.
  if (last > 0) traffic.bytes += 2 * static_cast<double>(memory.params_bytes);
  return traffic;
}

// AdamW reads weight, gradient and two moments and writes three of them; clipping reads the
// gradients twice and writes them.
double update_bytes(const torch::TorchMemory& memory) {
  return (memory.run.clips_gradients ? 10 : 7) * static_cast<double>(memory.params_bytes);
}

}  // namespace

TorchTime::TorchTime(const fit::Card* card)
    : card_(card != nullptr ? *card : fit::card_named("rtx3090")) {}

double TorchTime::seconds_per_token(const torch::TorchMemory& memory) const {
  const torch::TorchRun& run = memory.run;
  const fit::Rates rates = rates_of(card_);
  const fit::OpRate& product = rates.of<ops::Linear>();
  const fit::OpRate& attention = rates.of<ops::Attention>();
  const TokenFlops flops = flops_of(run);
  const Traffic traffic = micro_step_traffic(memory);
  const auto tokens = static_cast<double>(run.batch_size * run.block_size);
  const double per_token = flops.products * product.seconds_per_flop(run.compute) +
                           flops.attention * attention.seconds_per_flop(run.compute);
  const double micro_step =
      traffic.bytes * product.seconds_per_byte + traffic.starts * product.start_seconds;
  const double update = update_bytes(memory) * product.seconds_per_byte;
  return per_token + (micro_step + update / static_cast<double>(run.accumulation_steps)) / tokens;
}

double processor_seconds_per_token(const torch::TorchRun& run) {
  const TokenFlops flops = flops_of(run);
  return (flops.products + flops.attention) / kProcessorRate;
}

}  // namespace snug::doctor::fixes
