// The two fused kernels: flash attention and the memory-efficient one. Neither keeps T x T values.
#include <algorithm>
#include <utility>
#include <vector>

#include "doctor/torch/attention_kernels.h"

#include "base/integers.h"

namespace snug::doctor::torch {
namespace {

// Flash's kernels work on widths in multiples of 32, above 128 of 64.
std::int64_t flash_width(std::int64_t width) { return round_up(width, width <= 128 ? 32 : 64); }

// flash_api.cpp, num_splits_heuristic: keys are split when sequences and heads alone would not fill
// the card. Two blocks of 128 threads run on a multiprocessor.
std::int64_t flash_splits(const TorchHeads& size, std::int64_t multiprocessors) {
  const std::int64_t slots = 2 * multiprocessors;
  const std::int64_t work = size.batch * size.heads * ceil_div(size.block, 64);
  const std::int64_t keys = size.width <= 64 ? 256 : (size.width <= 128 ? 128 : 64);
  const std::int64_t key_blocks = ceil_div(size.block, keys);
  if (static_cast<float>(work) >= 0.8F * static_cast<float>(slots)) return 1;
  std::vector<float> efficiency{0};
  const auto eligible = [&](std::int64_t n) {
    return n == 1 || ceil_div(key_blocks, n) != ceil_div(key_blocks, n - 1);
  };
  for (std::int64_t n = 1; n <= std::min({std::int64_t{128}, slots, key_blocks}); ++n) {
    const float waves = static_cast<float>(work * n) / static_cast<float>(slots);
    efficiency.push_back(eligible(n) ? waves / static_cast<float>(ceil_div(work * n, slots))
                                     : 0.0F);
  }
  const float best = *std::max_element(efficiency.begin(), efficiency.end());
  const auto good = [&](float one) { return one >= 0.85F * best && one > 0; };
  return std::find_if(efficiency.begin(), efficiency.end(), good) - efficiency.begin();
}

std::vector<TorchRef> flash_split_buffers(TorchOps& ops, const TorchHeads& size,
                                          std::string_view op) {
  std::vector<TorchRef> buffers;
  const std::int64_t splits = flash_splits(size, ops.run().multiprocessors);
  if (splits <= 1) return buffers;
  const std::int64_t batch = splits * size.batch;
  buffers.push_back(ops.temporary("flash attention's partial log-sum-exp", op,
                                  {batch, size.heads, size.block}, TorchDType::kF32));
  buffers.push_back(ops.temporary("flash attention's partial results", op,
                                  {batch, size.heads, size.block, flash_width(size.width)},
                                  TorchDType::kF32));
  return buffers;
}

}  // namespace

TorchRef flash_attention(TorchOps& ops, const TorchRef& qkv, TorchAttentionSaved* saved) {
  constexpr std::string_view kOp = "_flash_attention_forward";
  TorchHeads size(ops);
  const bool pads = size.width % 8 != 0;
  size.width = round_up(size.width, 8);
  TorchAttentionSaved kept;
  kept.q = qkv;
  const auto make = [&](std::string_view what, std::string_view op, const Shape& shape,
                        TorchDType dtype) {
    return ops.tape().allocate({what, op, TorchRole::kActivation}, shape, dtype);
  };
  if (pads) {
    kept.q = make("attn.q, padded", "constant_pad_nd", size.tokens(), ops.compute());
    kept.k = make("attn.k, padded", "constant_pad_nd", size.tokens(), ops.compute());
    kept.v = make("attn.v, padded", "constant_pad_nd", size.tokens(), ops.compute());
  }
  const Shape rows{size.batch, size.heads, size.block};
  TorchRef output = ops.activation("attn output", kOp, size.heads * size.width, ops.compute());
  kept.output = output;
  kept.logsumexp = make("attn log-sum-exp", kOp, rows, TorchDType::kF32);
  {
    const bool drops = ops.pass().trains && ops.run().dropout > 0;
    std::vector<TorchRef> buffers;
    if (!drops) buffers = flash_split_buffers(ops, size, kOp);
    kept.seed = make("attn rng state", kOp, {2}, TorchDType::kI64);
    kept.offset = make("attn rng state", kOp, Shape{}, TorchDType::kI64);
    if (drops) kept.seed = make("attn rng state", kOp, {2}, TorchDType::kI64);
  }
  if (saved != nullptr) *saved = std::move(kept);
  kept = {};
  if (!pads) return output;
  return ops.activation("attn output, contiguous", "clone", ops.run().n_embd, ops.compute());
}

namespace {

void flash_backward_scratch(TorchOps& ops, const TorchHeads& size, std::string_view op) {
  const std::int64_t rows = round_up(size.block, 128);
  const TorchRef sums = ops.temporary("flash attention's row sums", op,
                                      {size.batch, size.heads, rows}, TorchDType::kF32);
  ops.temporary("flash attention's fp32 gradient of q", op,
                {size.batch, rows, size.heads, flash_width(size.width)}, TorchDType::kF32);
}

// constant_pad_nd's backward cuts the padding off, ViewBackward reorders.
void unpad_gradients(TorchOps& ops, std::vector<TorchRef>& gradients) {
  const TorchHeads size(ops);
  for (int copies = 0; copies < (size.transposes() ? 2 : 1); ++copies) {
    for (TorchRef& one : gradients) {
      one = ops.temporary("gradient of q, k or v", "clone", size.tokens(), ops.compute());
    }
  }
}

}  // namespace

TorchRef flash_attention_backward(TorchOps& ops, TorchRef gradient, TorchAttentionSaved saved) {
  constexpr std::string_view kOp = "_flash_attention_backward";
  TorchHeads size(ops);
  const bool pads = size.width % 8 != 0;
  size.width = round_up(size.width, 8);
  const auto tensor = [&](std::string_view what, std::string_view op) {
    return ops.temporary(what, op, size.tokens(), ops.compute());
  };
  std::vector<TorchRef> gradients;
  {
    if (pads) gradient = tensor("gradient of attn output, padded", "slice_backward");
    TorchRef gradient_copy, output_copy;
    if (pads && size.transposes()) {
      gradient_copy = tensor("gradient of attn output, contiguous", "clone");
      output_copy = tensor("attn output, contiguous", "clone");
    }
    for (const std::string_view what : {"gradient of q", "gradient of k", "gradient of v"}) {
      gradients.push_back(tensor(what, kOp));
    }
    flash_backward_scratch(ops, size, kOp);
  }
  gradient.reset();
  saved = {};
  if (pads) unpad_gradients(ops, gradients);
  return join_qkv_gradients(ops);
}

TorchRef efficient_attention(TorchOps& ops, const TorchRef& qkv, TorchAttentionSaved* saved) {
  constexpr std::string_view kOp = "_efficient_attention_forward";
  const TorchHeads size(ops);
  const TorchRole role = TorchRole::kActivation;
  TorchAttentionSaved kept;
  kept.q = qkv;
  if (ops.run().dropout == 0 || !ops.pass().trains) {
    kept.seed = ops.tape().allocate({"attn rng state", kOp, role}, Shape{}, TorchDType::kI64);
    kept.offset = ops.tape().allocate({"attn rng state", kOp, role}, Shape{}, TorchDType::kI64);
  }
  kept.output = ops.activation("attn output", kOp, ops.run().n_embd, ops.compute());
  if (saved != nullptr || ops.pass().trains) {
    kept.logsumexp =
        ops.tape().allocate({"attn log-sum-exp", kOp, role},
                            {size.batch, size.heads, round_up(size.block, 32)}, TorchDType::kF32);
  }
  // Half-precision results are gathered in fp32 when a row does not fit the registers.
  if (ops.autocasts() && size.width > 128) {
    ops.temporary("attn output in fp32", kOp, size.tokens(), TorchDType::kF32);
  }
  TorchRef output = kept.output;
  if (saved != nullptr) *saved = std::move(kept);
  return output;
}

namespace {

// kernel_backward.h: tiles of dQ with a 16-byte lock each; in half precision also dK and dV in
// fp32.
std::int64_t efficient_workspace_bytes(const TorchHeads& size, bool half) {
  const std::int64_t rows = half ? 128 : 64;
  const std::int64_t tile_bytes = 16 + rows * 64 * 4;
  std::int64_t bytes =
      checked_mul(ceil_div(size.block, rows) * ceil_div(size.width, 64), tile_bytes);
  if (half) bytes += checked_mul(2 * round_up(size.block, 64), round_up(size.width, 128) * 4);
  return checked_mul(bytes, size.batch * size.heads);
}

// The sum over each row of output times its gradient. In fp32 by two plain operators.
TorchRef efficient_row_sums(TorchOps& ops, const TorchHeads& size, std::string_view op) {
  const Shape rows{size.batch, size.heads, size.block};
  constexpr std::string_view kWhat = "efficient attention's row sums";
  if (ops.autocasts()) return ops.temporary(kWhat, op, rows, TorchDType::kF32);
  const TorchRef product =
      ops.temporary("attn output times its gradient", "mul", size.tokens(), TorchDType::kF32);
  TorchRef sums = ops.temporary(kWhat, "sum", rows, TorchDType::kF32);
  if (size.transposes()) sums = ops.temporary(kWhat, "clone", rows, TorchDType::kF32);
  return sums;
}

}  // namespace

TorchRef efficient_attention_backward(TorchOps& ops, TorchRef gradient, TorchAttentionSaved saved) {
  constexpr std::string_view kOp = "_efficient_attention_backward";
  const TorchHeads size(ops);
  std::vector<TorchRef> gradients;
  for (const std::string_view what : {"gradient of q", "gradient of k", "gradient of v"}) {
    gradients.push_back(ops.temporary(what, kOp, size.tokens(), ops.compute()));
  }
  {
    const TorchRef sums = efficient_row_sums(ops, size, kOp);
    ops.temporary("efficient attention's workspace", kOp,
                  {efficient_workspace_bytes(size, ops.autocasts())}, TorchDType::kU8);
  }
  gradient.reset();
  saved = {};
  return join_qkv_gradients(ops);
}

}  // namespace snug::doctor::torch
