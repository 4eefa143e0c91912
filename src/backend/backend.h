// What the training loop and the sampler need of a backend: views of planned tensors and the
// running of planned phases. Nothing here allocates after construction.
#pragma once

#include <cstdint>

#include "base/tensor_view.h"
#include "program/program.h"

namespace snug {

// The numbers that change from step to step; everything else is in the Program.
struct StepContext {
  std::uint64_t seed = 0;
  std::int64_t iteration = 0;
  std::int64_t first_sequence = 0;  // number, within the iteration, of the batch's first sequence
  std::int64_t sequence_count = 0;  // sequences in use, at most the phase's batch_size
  std::int64_t position = 0;        // sampling: the row whose logits are wanted
  double dropout = 0;               // probability of dropping
  // Update only.
  double gradient_scale = 1;  // 1 / (sequences * T)
  double gradient_clip = 0;   // largest allowed norm; 0: off
  double learning_rate = 0, beta1 = 0, beta2 = 0, epsilon = 1e-8;
  std::int64_t update_count = 0;  // AdamW's t, 1 for the first update
};

class Executor {
 public:
  virtual ~Executor() = default;
  // Runs every op of the phase in order. An update whose gradient norm is not finite changes
  // nothing.
  virtual void run(const Phase& phase, const StepContext& context) = 0;
  virtual TensorView view(TensorId id) const = 0;
};

}  // namespace snug
