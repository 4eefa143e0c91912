// TorchTape: the life of every tensor of a PyTorch run, in the order in which PyTorch allocates and
// frees. Nothing is computed: a tensor is a name, a shape and a reference count, so that code
// written like the run itself (see ops.h) leaves the run's memory behind as it goes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"
#include "doctor/torch/allocator.h"

namespace snug::doctor::torch {

enum class TorchDType : std::uint8_t { kF32, kBF16, kF16, kI64, kBool, kU8 };

std::int64_t size_of(TorchDType dtype) noexcept;
std::string_view name_of(TorchDType dtype) noexcept;  // as PyTorch prints it, without "torch."
TorchDType torch_dtype(DType dtype);                  // kF32, kBF16, kF16 only

// The parts of train.py, in their order.
enum class TorchPhase : std::uint8_t {
  kStart,          // model, optimizer state of a resume, first batch
  kEvaluateFirst,  // before the first iteration
  kForward,
  kBackward,
  kOptimizer,      // clipping and AdamW
  kEvaluateLater,  // with optimizer state and the last micro-step's logits
};

std::string_view name_of(TorchPhase phase) noexcept;

enum class TorchRole : std::uint8_t {
  kParameter,
  kBuffer,      // masks of slow attention
  kGradient,    // of a parameter
  kOptimizer,   // state of AdamW
  kWeightCopy,  // autocast's half-precision parameters
  kInput,       // tokens and targets
  kActivation,
  kLoss,           // the vocabulary-wide tensors of the loss head
  kTemporary,      // gradients of activations, scratch of an op
  kWorkspace,      // cuBLAS
  kCommunication,  // DDP's buckets
  kResume,         // the state dict that train.py keeps after a resume
};

std::string_view name_of(TorchRole role) noexcept;

// The line of model.py that allocates a tensor, forward or backward. What a traceback names.
enum class TorchPart : std::uint8_t {
  kNone,
  kEmbedding,
  kAttention,  // of a block: its norm, its dropout, the sum with the stream
  kAttentionIn,
  kAttentionHeads,  // between the two projections
  kAttentionOut,
  kMlp,  // likewise
  kMlpIn,
  kGelu,
  kMlpOut,
  kHead,  // lm_head
  kLoss,  // cross_entropy
};
// The part of a block that a finer one belongs to, else the part itself.
TorchPart whole_of(TorchPart part) noexcept;

struct TorchTensor {
  std::string_view what;        // a literal
  std::int32_t layer = -1;      // -1: not of a block
  std::int32_t parameter = -1;  // index in the model's parameters that `what` speaks of
  Shape shape;
  TorchDType dtype = TorchDType::kF32;
  std::int64_t bytes = 0;  // unrounded
  TorchRole role = TorchRole::kTemporary;
  TorchPart part = TorchPart::kNone;
  std::string_view op;  // PyTorch's name of the operator that allocates it
  bool saved = false;   // still there at the end of the forward pass that made it

  TorchPhase phase = TorchPhase::kStart;
  std::int32_t iteration = 0;
  std::int32_t micro_step = 0;
  // What PyTorch has allocated and reserved when it asks for this tensor; the first is the "already
  // allocated" of an out-of-memory message that ends here.
  std::int64_t allocated_before_bytes = 0;
  std::int64_t reserved_before_bytes = 0;
};

// A stretch of the run with its own peaks.
struct TorchSection {
  TorchPhase phase = TorchPhase::kStart;
  std::int32_t iteration = 0;
  std::int32_t micro_step = 0;
  std::int64_t first_event = 0;           // the stretch ends where the next one begins
  std::int64_t peak_requested_bytes = 0;  // sum of tensors' bytes, unrounded
  std::int64_t peak_allocated_bytes = 0;  // as torch.cuda.max_memory_allocated() counts
  std::int64_t peak_reserved_bytes = 0;
  std::int64_t end_requested_bytes = 0;
  std::int64_t end_allocated_bytes = 0;
  std::int32_t peak_tensor = -1;  // whose allocation reaches peak_requested_bytes; -1: the start
};

struct TorchEvent {
  std::int32_t tensor = 0;
  bool allocates = false;
};

class TorchTape;

// One reference to a tensor of a tape; the last one that goes frees the tensor. The tape outlives
// it.
class TorchRef {
 public:
  TorchRef() = default;
  TorchRef(const TorchRef& other);
  TorchRef(TorchRef&& other) noexcept;
  TorchRef& operator=(TorchRef other) noexcept;
  ~TorchRef() { reset(); }

  void reset();
  explicit operator bool() const noexcept { return tape_ != nullptr; }
  const TorchTensor& operator*() const;
  const TorchTensor* operator->() const { return &**this; }

 private:
  friend class TorchTape;
  TorchRef(TorchTape* tape, std::int32_t index) : tape_(tape), index_(index) {}

  TorchTape* tape_ = nullptr;
  std::int32_t index_ = -1;
};

struct TorchLabel {
  std::string_view what;
  std::string_view op;
  TorchRole role = TorchRole::kTemporary;
  std::int32_t parameter = -1;
};

class TorchTape {
 public:
  TorchTape() = default;
  TorchTape(const TorchTape&) = delete;
  TorchTape& operator=(const TorchTape&) = delete;

  void begin(TorchPhase phase, int iteration = 0, int micro_step = 0);
  void set_layer(std::int64_t layer) { layer_ = static_cast<std::int32_t>(layer); }
  // Returns the part until then.
  TorchPart set_part(TorchPart part) { return std::exchange(part_, part); }
  // Marks what was allocated since the current section began and still lives as saved.
  void mark_saved();
  void end();

  TorchRef allocate(const TorchLabel& label, const Shape& shape, TorchDType dtype);

  const std::vector<TorchTensor>& tensors() const noexcept { return tensors_; }
  const std::vector<TorchEvent>& events() const noexcept { return events_; }
  const std::vector<TorchSection>& sections() const noexcept { return sections_; }
  bool is_alive(std::int32_t tensor) const { return references_[tensor] > 0; }
  std::int64_t requested_bytes() const noexcept { return requested_bytes_; }

 private:
  friend class TorchRef;
  void release(std::int32_t tensor);

  std::vector<TorchTensor> tensors_;
  std::vector<std::int32_t> references_;
  std::vector<TorchAllocator::BlockId> blocks_;
  std::vector<TorchEvent> events_;
  std::vector<TorchSection> sections_;
  TorchAllocator allocator_;
  std::int64_t requested_bytes_ = 0;
  std::int32_t layer_ = -1;
  TorchPart part_ = TorchPart::kNone;
};

// What is allocated in its lifetime is of one part.
class TorchPartScope {
 public:
  TorchPartScope(TorchTape& tape, TorchPart part) : tape_(tape), before_(tape.set_part(part)) {}
  ~TorchPartScope() { tape_.set_part(before_); }
  TorchPartScope(const TorchPartScope&) = delete;
  TorchPartScope& operator=(const TorchPartScope&) = delete;

 private:
  TorchTape& tape_;
  TorchPart before_;
};

}  // namespace snug::doctor::torch
