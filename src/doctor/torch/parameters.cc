#include "doctor/torch/parameters.h"
#include "base/integers.h"
#include "gpt2/spec.h"

#include <utility>

namespace snug::doctor::torch {
namespace {

constexpr std::int64_t kModulesPerBlock = 6;
// Elements that one block of a multi-tensor kernel takes (aten/src/ATen/native/cuda/
// MultiTensorApply.cuh): the norm of a gradient is first reduced per chunk.
constexpr std::int64_t kForeachChunk = 65536;
// torch.distributed's defaults.
constexpr std::int64_t kBroadcastBytes = 250 * kMiB;
constexpr std::int64_t kFirstBucketBytes = 1 * kMiB;
constexpr std::int64_t kBucketBytes = 25 * kMiB;

}  // namespace

TorchParameters::TorchParameters(const TorchRun& run, TorchTape& tape)
    : run_(run), tape_(tape), model_(gpt2::make_model_spec(run)) {
  gradients_.resize(model_.parameters.size());
  copies_.resize(model_.parameters.size());
}

std::int32_t TorchParameters::weight_of(std::int64_t layer, TorchModule module) const {
  const std::int64_t tensors = run_.bias ? 2 : 1;
  const std::int64_t before = kModulesPerBlock * layer + static_cast<std::int64_t>(module);
  return static_cast<std::int32_t>(2 + tensors * before);
}

std::int32_t TorchParameters::final_norm() const {
  return weight_of(run_.n_layer, TorchModule::kLn1);
}

const Shape& TorchParameters::shape(std::int32_t parameter) const {
  return model_.parameters[static_cast<std::size_t>(parameter)].shape;
}

TorchRef TorchParameters::like(std::int32_t parameter, const TorchLabel& label, TorchDType dtype) {
  TorchLabel labelled = label;
  labelled.parameter = parameter;
  return tape_.allocate(labelled, shape(parameter), dtype);
}

void TorchParameters::allocate() {
  const Shape mask{1, 1, run_.block_size, run_.block_size};
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(model_.parameters.size()); ++i) {
    // Module.to visits children first: an attention's own buffer comes after its projections.
    if (!run_.flash && i >= 2 && i < final_norm()) {
      const std::int32_t of_block = (i - 2) % (weight_of(1, TorchModule::kLn1) - 2);
      if (of_block == weight_of(0, TorchModule::kLn2) - 2) {
        buffers_.push_back(tape_.allocate(
            {"attn.bias (causal mask)", "_to_copy", TorchRole::kBuffer}, mask, TorchDType::kF32));
      }
    }
    parameters_.push_back(like(i, {"", "_to_copy", TorchRole::kParameter}, TorchDType::kF32));
  }
}

void TorchParameters::allocate_state(const std::vector<std::int32_t>& group) {
  const TorchRole role = TorchRole::kOptimizer;
  for (const std::int32_t i : group) {
    if (run_.fused_adam) {
      state_.push_back(tape_.allocate({"step", "zeros", role, i}, Shape{}, TorchDType::kF32));
    }
    state_.push_back(like(i, {"exp_avg", "zeros_like", role}, TorchDType::kF32));
    state_.push_back(like(i, {"exp_avg_sq", "zeros_like", role}, TorchDType::kF32));
  }
}

void TorchParameters::resume() {
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(model_.parameters.size()); ++i) {
    state_dict_.push_back(like(i, {"state_dict", "load", TorchRole::kResume}, TorchDType::kF32));
  }
  for (const std::vector<std::int32_t>& group : groups()) allocate_state(group);
}

std::vector<std::int32_t> TorchParameters::gradient_order() const {
  const std::int32_t tensors = run_.bias ? 2 : 1;
  std::vector<std::int32_t> order;
  const auto add = [&](std::int32_t weight) {
    for (std::int32_t i = 0; i < tensors; ++i) order.push_back(weight + i);
  };
  add(final_norm());
  for (std::int64_t layer = run_.n_layer - 1; layer >= 0; --layer) {
    for (const TorchModule module :
         {TorchModule::kMlpOut, TorchModule::kMlpIn, TorchModule::kLn2, TorchModule::kAttentionOut,
          TorchModule::kAttentionIn, TorchModule::kLn1}) {
      add(weight_of(layer, module));
    }
  }
  order.push_back(position_embedding());
  order.push_back(token_embedding());
  return order;
}

void TorchParameters::wrap_ddp() {
  const TorchRole role = TorchRole::kCommunication;
  const auto flat = [&](std::int64_t elements) {
    return tape_.allocate({"weights to broadcast", "flatten_dense_tensors", role}, {elements},
                          TorchDType::kF32);
  };
  std::int64_t pending = 0;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(model_.parameters.size()); ++i) {
    pending += shape(i).element_count();
    if (pending * 4 < kBroadcastBytes) continue;
    flat(pending);
    pending = 0;
  }
  if (pending > 0) flat(pending);
  buckets_.push_back(tape_.allocate({"DDP bucket", "initialize_buckets", role}, {element_count()},
                                    TorchDType::kF32));
}

// A bucket is closed by the tensor that brings it to its size.
void TorchParameters::rebuild_ddp_buckets() {
  buckets_.clear();
  std::int64_t pending = 0;
  const auto close = [&] {
    buckets_.push_back(tape_.allocate({"DDP bucket", "rebuild_buckets", TorchRole::kCommunication},
                                      {pending}, TorchDType::kF32));
    pending = 0;
  };
  for (const std::int32_t i : gradient_order()) {
    pending += shape(i).element_count();
    if (pending * 4 >= (buckets_.empty() ? kFirstBucketBytes : kBucketBytes)) close();
  }
  if (pending > 0) close();
}

TorchRef TorchParameters::uncached_operand(std::int32_t parameter) {
  if (run_.compute == DType::kF32) return parameters_[static_cast<std::size_t>(parameter)];
  return like(parameter, {"autocast copy", "_to_copy", TorchRole::kWeightCopy},
              torch_dtype(run_.compute));
}

TorchRef TorchParameters::operand(std::int32_t parameter) {
  TorchRef& cached = copies_[static_cast<std::size_t>(parameter)];
  if (!cached) cached = uncached_operand(parameter);
  return cached;
}

void TorchParameters::leave_autocast() {
  for (TorchRef& copy : copies_) copy.reset();
}

void TorchParameters::accumulate(std::int32_t parameter, TorchRef gradient) {
  TorchRef& standing = gradients_[static_cast<std::size_t>(parameter)];
  if (!standing) standing = std::move(gradient);
}

std::vector<std::vector<std::int32_t>> TorchParameters::groups() const {
  std::vector<std::vector<std::int32_t>> result(2);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(model_.parameters.size()); ++i) {
    result[model_.parameters[static_cast<std::size_t>(i)].decays ? 0 : 1].push_back(i);
  }
  return result;
}

// torch.nn.utils.clip_grad_norm_: small tensors only.
void TorchParameters::clip_gradients() {
  const auto count = static_cast<std::int64_t>(gradients_.size());
  std::int64_t chunks = 0;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(gradients_.size()); ++i) {
    chunks += ceil_div(shape(i).element_count(), kForeachChunk);
  }
  std::vector<TorchRef> norms;
  {
    const TorchRef offsets = tape_.allocate(
        {"chunk offsets of the gradient norms", "_foreach_norm"}, {count + 1}, TorchDType::kI64);
    const TorchRef partial =
        tape_.allocate({"gradient norms per chunk", "_foreach_norm"}, {chunks}, TorchDType::kF32);
    for (std::int64_t i = 0; i < count; ++i) {
      norms.push_back(
          tape_.allocate({"gradient norm", "_foreach_norm"}, Shape{}, TorchDType::kF32));
    }
  }
  const TorchRef stacked = tape_.allocate({"gradient norms", "stack"}, {count}, TorchDType::kF32);
  const TorchRef total =
      tape_.allocate({"total gradient norm", "linalg_vector_norm"}, Shape{}, TorchDType::kF32);
}

void TorchParameters::step() {
  const bool first = state_.empty();
  for (const std::vector<std::int32_t>& group : groups()) {
    if (first) allocate_state(group);
    if (run_.fused_adam) continue;
    // One temporary as large as the group; two in older versions.
    std::vector<TorchRef> roots;
    for (int copies = 0; copies < (run_.version == TorchVersion::kOlder ? 2 : 1); ++copies) {
      for (const std::int32_t i : group) {
        roots.push_back(like(i, {"sqrt of exp_avg_sq", "_foreach_sqrt"}, TorchDType::kF32));
      }
    }
  }
}

void TorchParameters::zero_grad() {
  for (TorchRef& gradient : gradients_) gradient.reset();
}

}  // namespace snug::doctor::torch
