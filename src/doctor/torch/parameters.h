// The parameters of a PyTorch run and what belongs to them: gradients, AdamW's state, autocast's
// half-precision copies, DDP's buckets, the state dict that a resume leaves behind.
#pragma once

#include <cstdint>
#include <vector>

#include "doctor/torch/run.h"
#include "doctor/torch/tape.h"

namespace snug::doctor::torch {

// The parameters of one block, in nanoGPT's order; each is a weight, with `bias` followed by a
// bias.
enum class TorchModule { kLn1, kAttentionIn, kAttentionOut, kLn2, kMlpIn, kMlpOut };

class TorchParameters {
 public:
  // The tape outlives this.
  TorchParameters(const TorchRun& run, TorchTape& tape);

  // Index of a module's weight; its bias, if there is one, follows.
  std::int32_t weight_of(std::int64_t layer, TorchModule module) const;
  std::int32_t token_embedding() const { return 0; }  // and lm_head
  std::int32_t position_embedding() const { return 1; }
  std::int32_t final_norm() const;
  const Shape& shape(std::int32_t parameter) const;
  std::int64_t element_count() const { return model_.parameter_count(); }

  void allocate();  // model.to(device), with the masks of slow attention
  void resume();    // torch.load(map_location=device): the state dict and AdamW's state

  // DistributedDataParallel's constructor: weights are broadcast in flat copies, then one bucket
  // holds all gradients. After the first iteration, buckets in the order of backward replace it.
  void wrap_ddp();
  void rebuild_ddp_buckets();

  // What a linear op reads: the parameter, under autocast its copy, made on first use and cached
  // until autocast ends.
  TorchRef operand(std::int32_t parameter);
  void leave_autocast();
  TorchRef uncached_operand(std::int32_t parameter);  // as in a compiled graph

  // AccumulateGrad: a first gradient is taken as it is, a later one added to it and freed.
  void accumulate(std::int32_t parameter, TorchRef gradient);

  void clip_gradients();
  void step();       // AdamW; its state is made by the first one
  void zero_grad();  // set_to_none=True

 private:
  TorchRef like(std::int32_t parameter, const TorchLabel& label, TorchDType dtype);
  std::vector<std::vector<std::int32_t>> groups() const;  // decayed, not decayed
  std::vector<std::int32_t> gradient_order() const;       // as backward makes them
  void allocate_state(const std::vector<std::int32_t>& group);

  const TorchRun& run_;
  TorchTape& tape_;
  model::ModelSpec model_;
  std::vector<TorchRef> parameters_, gradients_, copies_;
  std::vector<TorchRef> buffers_, state_, state_dict_, buckets_;
};

}  // namespace snug::doctor::torch
