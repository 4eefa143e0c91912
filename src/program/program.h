// Program: the ops of a run, phase by phase, over named tensors. The plan places exactly these
// tensors and the backend runs exactly these ops: no size or lifetime is written twice.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"

namespace snug {

using TensorId = std::int32_t;
constexpr TensorId kNoTensor = -1;  // an optional operand that is absent

// What bytes are for: the rows of every memory report.
enum class Role : std::uint8_t {
  kWeights,
  kGradients,
  kOptimizerState,
  kActivations,
  kLossHead,
  kWorkspace,
  kIo,
};
constexpr int kRoleCount = 7;
std::string_view name_of(Role role);

// Where bytes live. One arena per space.
enum class Space : std::uint8_t { kHost, kPinned, kDevice };

enum class Lifetime : std::uint8_t {
  kRun,        // from start to end: weights, optimizer state
  kIteration,  // from the first phase of an iteration to its last: gradients
  kPhase,      // all of one phase: what the host fills before it or reads after it
  kOps,        // from the first op that touches it to the last one, within one phase
};

struct Tensor {
  std::string name;
  Shape shape;
  DType dtype = DType::kF32;
  Role role = Role::kActivations;
  Lifetime lifetime = Lifetime::kOps;
  Space space = Space::kHost;

  std::int64_t byte_count() const { return checked_mul(shape.element_count(), size_of(dtype)); }
};

// reads -> writes; [x] is kNoTensor when absent; += adds to what is there (also listed as read).
enum class OpKind : std::uint8_t {
  kZero,               // -> every listed tensor, all bytes 0
  kResetEmbedRows,     // -> slot, row_count, rows
  kEmbed,              // tokens, wte, wpe -> x
  kEmbedBackward,      // tokens, dx, dwpe, rows, slot, row_token, row_count -> the same, +=
  kMergeEmbedRows,     // rows, row_token, row_count, dwte -> dwte +=
  kLayerNorm,          // x, gamma, [beta] -> y, mean, rstd
  kLayerNormApply,     // x, gamma, [beta], mean, rstd -> y
  kLayerNormBackward,  // dy, x, gamma, mean, rstd, dx -> dx +=, dgamma +=, [dbeta +=]
  kLinear,             // x, weight, [bias] -> y
  kLinearDx,           // dy, weight -> dx
  kLinearDw,           // dy, x, dweight -> dweight +=, [dbias +=]
  kGelu,               // x -> y
  kGeluBackward,       // x, dy -> dy
  kAttention,          // qkv -> out, [lse]
  kAttentionBackward,  // qkv, out, lse, dout -> dqkv
  kAttentionDecode,    // qkv, keys, values -> out, keys, values
  kKvStore,            // qkv -> keys, values
  kResidualAdd,        // residual, branch -> out
  kDropoutBackward,    // dout -> din
  kCrossEntropy,       // logits, targets -> losses, [logits, now their gradient]
  kGradientNorm,       // every gradient -> norm
  kAdamW,              // weight, gradient, m, v, norm -> weight, m, v, [compute copy]
  kCast,               // weights -> their copies in the precision of the arithmetic
  kCheckpointWrite,    // weights and optimizer state, by the host ->
  kCheckpointRead,     // -> weights and optimizer state, by the host
};
std::string_view name_of(OpKind kind);

struct Op {
  OpKind kind;
  std::string label;  // "h.11.mlp.c_fc backward", as reports name it
  std::vector<TensorId> reads;
  std::vector<TensorId> writes;
  // The loss head is a loop: consecutive ops with the same chunk_rows > 0 run for one chunk of the
  // batch's rows after the other (chunk_end tells where each ends). 0: all rows at once.
  std::int64_t chunk_rows = 0;
  // A GEMM never spans more rows of a sequence than this, so that its shape, and with it the order
  // of its sums, does not depend on how the batch or the loss head is split. 0: the whole sequence.
  std::int64_t tile_rows = 0;
  bool row_from_context = false;     // the one row is StepContext::position (sampling)
  std::uint32_t dropout_site = 0;    // 0: no dropout here
  std::int64_t head_count = 0;       // attention ops
  double weight_decay = 0;           // kAdamW
  std::int64_t parameter_index = 0;  // kAdamW: keys the rounding of 16-bit moments
  std::int64_t scratch_bytes = 0;    // booked by the plan, granted at bind, kept for this op only
};

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

struct Phase {
  PhaseKind kind;
  bool in_iteration;  // kIteration tensors are alive in it
  std::int64_t batch_size = 0;
  std::int64_t block_size = 0;
  // What the host fills and reads; kNoTensor where the phase has none.
  TensorId tokens = kNoTensor;   // (B, T) int32
  TensorId targets = kNoTensor;  // (B, T) int32
  TensorId losses = kNoTensor;   // (B, T)
  TensorId logits = kNoTensor;   // (1, V), sampling
  TensorId norm = kNoTensor;     // (1) float64, update
  std::vector<Op> ops;
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

// Where the chunk of the loss head that starts at `first` ends: chunk_rows further at the most, at
// a border of a sequence's tiles, so that chunks never cut a product in two.
std::int64_t chunk_end(const Op& op, std::int64_t T, std::int64_t first, std::int64_t total_rows);

// What a backend has to tell before its memory can be planned.
class Target {
 public:
  virtual ~Target() = default;
  // Bytes that `op` needs beside its tensors, library workspaces included.
  virtual std::int64_t scratch_bytes(const Program& program, const Phase& phase,
                                     const Op& op) const = 0;
  virtual int threads() const { return 0; }
  virtual Space space() const { return Space::kHost; }
  // What this backend computes in when `wanted` was asked for.
  virtual DType compute_dtype(DType wanted) const = 0;
  // Resident bytes of the process outside the arena: code, libraries, thread stacks, this program.
  // On a card: what comes on top of the context, which the budget holds.
  virtual std::int64_t overhead_bytes(const Program& program) const = 0;
};

}  // namespace snug
