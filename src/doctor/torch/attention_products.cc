// Attention by plain matrix products, which keeps T x T probabilities: nanoGPT's own of before
// PyTorch 2.0, and the fallback of scaled_dot_product_attention.
#include <utility>

#include "doctor/torch/attention_kernels.h"

namespace snug::doctor::torch {
namespace {

TorchRef kept(TorchOps& ops, std::string_view what, std::string_view op, const Shape& shape,
              TorchDType dtype) {
  return ops.tape().allocate({what, op, TorchRole::kActivation}, shape, dtype);
}

// q, k or v as bmm wants it, (B H, T, D): a copy, or `whole` where a view will do.
TorchRef merged(TorchOps& ops, const TorchRef& whole, std::string_view what) {
  const TorchHeads size(ops);
  if (!size.merges()) return whole;
  return kept(ops, what, "clone", size.tokens(), whole->dtype);
}

// A batched product with its workspace.
TorchRef product(TorchOps& ops, std::string_view what, const Shape& shape, TorchDType dtype) {
  TorchRef result = ops.temporary(what, "bmm", shape, dtype);
  ops.matmul_workspace();
  return result;
}

TorchRef softmax_backward(TorchOps& ops, const Shape& pairs, TorchDType dtype) {
  constexpr std::string_view kOp = "_softmax_backward_data";
  TorchRef result = ops.temporary("gradient of attention scores", kOp, pairs, dtype);
  ops.temporary("probabilities times their gradient", kOp, pairs, TorchDType::kF32);
  return result;
}

// What _scaled_dot_product_attention_math holds until it returns.
struct MathOperands {
  TorchRef q, k, v;  // in fp32; `q` is scaled, `k` is not yet
  TorchRef q_unscaled, causal_mask;
};

MathOperands math_operands(TorchOps& ops, const TorchRef& qkv) {
  const TorchHeads size(ops);
  const TorchDType full = TorchDType::kF32;
  MathOperands result{qkv, qkv, qkv, qkv, {}};
  if (ops.autocasts()) {
    result.q_unscaled = kept(ops, "attn.q in fp32", "_to_copy", size.tokens(), full);
    result.k = kept(ops, "attn.k in fp32", "_to_copy", size.tokens(), full);
    result.v = kept(ops, "attn.v in fp32", "_to_copy", size.tokens(), full);
  }
  result.q = kept(ops, "attn.q, scaled", "mul", size.tokens(), full);
  const Shape square{size.block, size.block};
  TorchRef ones = ops.temporary("attn causal mask", "ones", square, TorchDType::kBool);
  ones = ops.temporary("attn causal mask", "tril", square, TorchDType::kBool);
  const TorchRef zero = ops.temporary("attn causal mask's values", "scalar_tensor", Shape{}, full);
  const TorchRef hidden =
      ops.temporary("attn causal mask's values", "scalar_tensor", Shape{}, full);
  result.causal_mask = kept(ops, "attn causal mask", "where", square, full);
  return result;
}

void math_probabilities(TorchOps& ops, const MathOperands& operands, bool saves,
                        TorchAttentionSaved& keep) {
  const TorchHeads size(ops);
  const TorchDType full = TorchDType::kF32;
  constexpr std::string_view kOp = "_safe_softmax";
  TorchRef scores;
  {
    const TorchRef scaled = ops.temporary("attn.k, scaled", "mul", size.tokens(), full);
    keep.q = merged(ops, operands.q, "attn.q, contiguous");
    keep.k = merged(ops, scaled, "attn.k, contiguous");
    scores = product(ops, "attn scores", size.pairs(), full);
    if (!saves) keep.q.reset(), keep.k.reset();
  }
  keep.probabilities = kept(ops, "attn probabilities", kOp, size.pairs(), full);
  const TorchRef hidden =
      ops.temporary("attn rows without a key", kOp, size.pairs(), TorchDType::kBool);
  const TorchRef rows = ops.temporary("attn rows without a key", kOp,
                                      {size.batch, size.heads, size.block}, TorchDType::kBool);
  ops.temporary("zero", "scalar_tensor", Shape{}, full);
}

}  // namespace

TorchRef join_qkv_gradients(TorchOps& ops) {
  return ops.temporary("gradient of attn.c_attn output", "cat",
                       {ops.pass().batch, ops.pass().block, 3 * ops.run().n_embd}, ops.compute());
}

namespace {

// softmax(mask(q k / sqrt(D))) of model.py; every step makes its own tensor.
void manual_probabilities(TorchOps& ops, const TorchRef& qkv, bool saves,
                          TorchAttentionSaved& keep) {
  const TorchHeads size(ops);
  const TorchDType compute = ops.compute();
  keep.q = merged(ops, qkv, "attn.q, contiguous");
  keep.k = merged(ops, qkv, "attn.k, contiguous");
  TorchRef scores = product(ops, "attn scores", size.pairs(), compute);
  if (!saves) keep.q.reset(), keep.k.reset();
  scores = kept(ops, "attn scores, scaled", "mul", size.pairs(), compute);
  keep.causal_mask =
      kept(ops, "attn causal mask", "eq", {1, 1, size.block, size.block}, TorchDType::kBool);
  scores = kept(ops, "attn scores, masked", "masked_fill", size.pairs(), compute);
  if (!saves) keep.causal_mask.reset();
  TorchRef full;  // softmax reads fp16 as it is, bf16 through a copy
  if (ops.run().compute == DType::kBF16) {
    full = ops.temporary("attn scores in fp32", "_to_copy", size.pairs(), TorchDType::kF32);
  }
  keep.probabilities = kept(ops, "attn probabilities", "_softmax", size.pairs(), TorchDType::kF32);
}

// From the gradient of the cast probabilities to that of the scores.
TorchRef manual_scores_backward(TorchOps& ops, TorchRef gradient, TorchAttentionSaved& saved) {
  const TorchDType compute = ops.compute();
  const Shape pairs = TorchHeads(ops).pairs();
  const auto tensor = [&](std::string_view what, std::string_view op, TorchDType dtype) {
    return ops.temporary(what, op, pairs, dtype);
  };
  if (ops.autocasts()) {
    gradient = tensor("gradient of attn probabilities", "_to_copy", TorchDType::kF32);
  }
  gradient = ops.dropout_backward(std::move(gradient), std::move(saved.dropout_mask));
  const bool copied = ops.run().compute == DType::kBF16;
  gradient = softmax_backward(ops, pairs, copied ? TorchDType::kF32 : compute);
  saved.probabilities.reset();
  if (copied) gradient = tensor("gradient of attn scores", "_to_copy", compute);
  gradient = tensor("gradient of attn scores", "masked_fill", compute);
  saved.causal_mask.reset();
  gradient = tensor("gradient of attn scores", "mul", compute);
  return gradient;
}

}  // namespace

TorchRef manual_attention(TorchOps& ops, const TorchRef& qkv, TorchAttentionSaved* saved,
                          std::vector<TorchRef>& locals) {
  const TorchHeads size(ops);
  TorchAttentionSaved keep;
  manual_probabilities(ops, qkv, saved != nullptr, keep);
  TorchRef dropped = ops.dropout("attn probabilities, dropped out", keep.probabilities,
                                 saved == nullptr ? nullptr : &keep.dropout_mask);
  if (saved == nullptr) keep.probabilities.reset();
  keep.probabilities_cast = ops.to_compute(dropped, "attn probabilities, cast");
  locals.push_back(std::move(dropped));
  keep.v = merged(ops, qkv, "attn.v, contiguous");
  TorchRef heads = product(ops, "attn output by head", size.tokens(), ops.compute());
  if (saved != nullptr) *saved = std::move(keep);
  keep = {};
  if (!size.transposes()) return heads;
  TorchRef output = ops.activation("attn output", "clone", ops.run().n_embd, ops.compute());
  return output;
}

TorchRef manual_attention_backward(TorchOps& ops, TorchRef gradient, TorchAttentionSaved saved) {
  const TorchHeads size(ops);
  const TorchDType compute = ops.compute();
  const auto tensor = [&](std::string_view what, std::string_view op) {
    return ops.temporary(what, op, size.tokens(), compute);
  };
  if (size.merges()) gradient = tensor("gradient of attn output by head", "clone");
  TorchRef of_v = product(ops, "gradient of v", size.tokens(), compute);
  TorchRef pairs = product(ops, "gradient of attn probabilities", size.pairs(), compute);
  gradient.reset();
  saved.v.reset();
  saved.probabilities_cast.reset();
  pairs = manual_scores_backward(ops, std::move(pairs), saved);
  TorchRef of_q = product(ops, "gradient of q", size.tokens(), compute);
  TorchRef of_k = product(ops, "gradient of k", size.tokens(), compute);
  pairs.reset();
  saved = {};
  if (size.transposes()) {
    of_v = tensor("gradient of v", "clone");
    of_k = tensor("gradient of k", "clone");
  }
  return join_qkv_gradients(ops);
}

TorchRef math_attention(TorchOps& ops, const TorchRef& qkv, TorchAttentionSaved* saved) {
  TorchAttentionSaved keep;
  TorchRef output, returned;
  {
    const MathOperands operands = math_operands(ops, qkv);
    math_probabilities(ops, operands, saved != nullptr, keep);
    TorchRef dropped = ops.dropout("attn probabilities, dropped out", keep.probabilities,
                                   saved == nullptr ? nullptr : &keep.dropout_mask);
    if (saved == nullptr) keep.probabilities.reset();
    returned = ops.to_compute(dropped, "attn probabilities, cast");
    keep.probabilities_cast = std::move(dropped);
    keep.v = merged(ops, operands.v, "attn.v, contiguous");
    output = product(ops, "attn output by head", TorchHeads(ops).tokens(), TorchDType::kF32);
    if (saved == nullptr) keep.v.reset();
    output = ops.to_compute(output, "attn output by head");
  }
  returned.reset();
  if (saved != nullptr) *saved = std::move(keep);
  keep = {};
  if (TorchHeads(ops).transposes()) {
    output = ops.activation("attn output", "clone", ops.run().n_embd, ops.compute());
  }
  return output;
}

TorchRef math_attention_backward(TorchOps& ops, TorchRef gradient, TorchAttentionSaved saved) {
  const TorchHeads size(ops);
  const TorchDType full = TorchDType::kF32;
  const auto tensor = [&](std::string_view what, std::string_view op, TorchDType dtype) {
    return ops.temporary(what, op, size.tokens(), dtype);
  };
  if (ops.autocasts()) gradient = tensor("gradient of attn output", "_to_copy", full);
  if (size.merges()) gradient = tensor("gradient of attn output by head", "clone", full);
  TorchRef of_v = product(ops, "gradient of v", size.tokens(), full);
  TorchRef pairs = product(ops, "gradient of attn probabilities", size.pairs(), full);
  gradient.reset();
  saved.v.reset();
  saved.probabilities_cast.reset();
  pairs = ops.dropout_backward(std::move(pairs), std::move(saved.dropout_mask));
  pairs = softmax_backward(ops, size.pairs(), full);
  saved.probabilities.reset();
  TorchRef of_q = product(ops, "gradient of q", size.tokens(), full);
  TorchRef of_k = product(ops, "gradient of k", size.tokens(), full);
  pairs.reset();
  saved = {};
  of_q = tensor("gradient of q", "mul", full);
  of_k = tensor("gradient of k", "mul", full);
  if (ops.autocasts()) {
    for (TorchRef* one : {&of_v, &of_q, &of_k}) {
      *one = tensor("gradient of q, k or v", "_to_copy", ops.compute());
    }
  }
  if (size.transposes()) {
    of_v = tensor("gradient of v", "clone", ops.compute());
    of_k = tensor("gradient of k", "clone", ops.compute());
  }
  return join_qkv_gradients(ops);
}

}  // namespace snug::doctor::torch
