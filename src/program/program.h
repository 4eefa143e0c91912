// Program: the ops of a run, phase by phase, over named tensors. The plan places exactly these
// tensors and the backend runs exactly these ops: no size or lifetime is written twice.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/tensor.h"
#include "ops/op.h"

namespace snug::program {

enum class PhaseKind : std::uint8_t {
  kLoad,
  kEvaluate,
  kBeginIteration,
  kMicroStep,
  kUpdate,
  kSave,
  kPrefill,
  kDecode,
};
std::string_view name_of(PhaseKind kind);

// What goes in and out of a phase; kNoTensor where it has none.
struct PhaseTensors {
  TensorId tokens = kNoTensor;   // (B, T) int32
  TensorId targets = kNoTensor;  // (B, T) int32
  TensorId losses = kNoTensor;   // (B, T)
  TensorId logits = kNoTensor;   // (1, V), sampling
  TensorId norm = kNoTensor;     // (1) float64, update
};

struct Phase {
  PhaseKind kind;
  bool in_iteration;  // kIteration tensors are alive in it
  std::int64_t batch_size = 0;
  std::int64_t block_size = 0;
  PhaseTensors io = {};    // as the ops see them
  PhaseTensors host = {};  // as the host does: the same, or their twins where it cannot reach those
  std::vector<ops::Op> ops = {};
  std::vector<ops::RowLoop> loops = {};  // parts of `ops` that run chunk by chunk; in order, apart

  // The loop that an op is part of, or null.
  const ops::RowLoop* loop_of(std::size_t op) const;
};

struct Program {
  int threads = 0;  // that scratch is booked for; 0: the target's scratch does not depend on it
  std::vector<Tensor> tensors;
  std::vector<Phase> phases;  // in the order in which a run goes through them
  // Parallel to ModelSpec::parameters; the last three are empty in a sampling program.
  std::vector<TensorId> weights, gradients, first_moments, second_moments;
  // What the ops compute with: a weight's 16-bit copy where it has one, else the weight itself.
  std::vector<TensorId> compute_weights;

  const Tensor& tensor(TensorId id) const { return tensors[static_cast<std::size_t>(id)]; }
  // Throws InternalError when the program has no such phase.
  const Phase& phase(PhaseKind kind) const;
};

// The sizes that op number `op` of `phase` works with. They refer to the program's tensors.
ops::Shapes shapes_of(const Program& program, const Phase& phase, std::size_t op);

}  // namespace snug::program
