#include "doctor/torch/tape.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace snug::doctor::torch {

std::int64_t size_of(TorchDType dtype) noexcept {
  switch (dtype) {
    case TorchDType::kI64:
      return 8;
    case TorchDType::kF32:
      return 4;
    case TorchDType::kBF16:
    case TorchDType::kF16:
      return 2;
    case TorchDType::kBool:
    case TorchDType::kU8:
      return 1;
  }
  return 0;
}

std::string_view name_of(TorchDType dtype) noexcept {
  constexpr std::string_view kNames[] = {"float32", "bfloat16", "float16",
                                         "int64",   "bool",     "uint8"};
  return kNames[static_cast<int>(dtype)];
}

TorchDType torch_dtype(DType dtype) {
  if (dtype == DType::kF32) return TorchDType::kF32;
  if (dtype == DType::kBF16) return TorchDType::kBF16;
  if (dtype == DType::kF16) return TorchDType::kF16;
  throw InternalError("autocast knows float32, bfloat16 and float16 only");
}

std::string_view name_of(TorchPhase phase) noexcept {
  constexpr std::string_view kNames[] = {"start",    "first evaluation", "forward",
                                         "backward", "optimizer step",   "evaluation"};
  return kNames[static_cast<int>(phase)];
}

TorchPart whole_of(TorchPart part) noexcept {
  switch (part) {
    case TorchPart::kAttentionIn:
    case TorchPart::kAttentionHeads:
    case TorchPart::kAttentionOut:
      return TorchPart::kAttention;
    case TorchPart::kMlpIn:
    case TorchPart::kGelu:
    case TorchPart::kMlpOut:
      return TorchPart::kMlp;
    default:
      return part;
  }
}

std::string_view name_of(TorchRole role) noexcept {
  constexpr std::string_view kNames[] = {
      "parameter",  "buffer", "gradient",  "optimizer state", "weight copy",   "input",
      "activation", "loss",   "temporary", "workspace",       "communication", "resume copy"};
  return kNames[static_cast<int>(role)];
}

TorchRef::TorchRef(const TorchRef& other) : tape_(other.tape_), index_(other.index_) {
  if (tape_ != nullptr) ++tape_->references_[index_];
}

TorchRef::TorchRef(TorchRef&& other) noexcept
    : tape_(std::exchange(other.tape_, nullptr)), index_(std::exchange(other.index_, -1)) {}

TorchRef& TorchRef::operator=(TorchRef other) noexcept {
  std::swap(tape_, other.tape_);
  std::swap(index_, other.index_);
  return *this;
}

void TorchRef::reset() {
  if (tape_ == nullptr) return;
  TorchTape* tape = std::exchange(tape_, nullptr);
  if (--tape->references_[index_] == 0) tape->release(index_);
}

const TorchTensor& TorchRef::operator*() const { return tape_->tensors_[index_]; }

void TorchTape::begin(TorchPhase phase, int iteration, int micro_step) {
  end();
  TorchSection section;
  section.phase = phase;
  section.iteration = iteration;
  section.micro_step = micro_step;
  section.first_event = static_cast<std::int64_t>(events_.size());
  section.peak_requested_bytes = requested_bytes_;
  section.peak_allocated_bytes = allocator_.allocated_bytes();
  section.peak_reserved_bytes = allocator_.reserved_bytes();
  sections_.push_back(section);
  layer_ = -1;
  part_ = TorchPart::kNone;
}

void TorchTape::end() {
  if (sections_.empty()) return;
  sections_.back().end_requested_bytes = requested_bytes_;
  sections_.back().end_allocated_bytes = allocator_.allocated_bytes();
}

void TorchTape::mark_saved() {
  const auto first = static_cast<std::size_t>(sections_.back().first_event);
  for (std::size_t i = first; i < events_.size(); ++i) {
    const std::int32_t tensor = events_[i].tensor;
    if (events_[i].allocates && is_alive(tensor)) tensors_[tensor].saved = true;
  }
}

TorchRef TorchTape::allocate(const TorchLabel& label, const Shape& shape, TorchDType dtype) {
  TorchSection& section = sections_.back();
  TorchTensor tensor;
  tensor.what = label.what;
  tensor.layer = layer_;
  tensor.parameter = label.parameter;
  tensor.shape = shape;
  tensor.dtype = dtype;
  tensor.bytes = checked_mul(shape.element_count(), size_of(dtype));
  tensor.role = label.role;
  tensor.part = part_;
  tensor.op = label.op;
  tensor.phase = section.phase;
  tensor.iteration = section.iteration;
  tensor.micro_step = section.micro_step;
  tensor.allocated_before_bytes = allocator_.allocated_bytes();
  tensor.reserved_before_bytes = allocator_.reserved_bytes();

  const auto index = static_cast<std::int32_t>(tensors_.size());
  tensors_.push_back(tensor);
  references_.push_back(1);
  blocks_.push_back(allocator_.allocate(tensor.bytes));
  events_.push_back({index, true});
  requested_bytes_ = checked_add(requested_bytes_, tensor.bytes);
  if (requested_bytes_ > section.peak_requested_bytes) {
    section.peak_requested_bytes = requested_bytes_;
    section.peak_tensor = index;
  }
  section.peak_allocated_bytes =
      std::max(section.peak_allocated_bytes, allocator_.allocated_bytes());
  section.peak_reserved_bytes = std::max(section.peak_reserved_bytes, allocator_.reserved_bytes());
  return TorchRef(this, index);
}

void TorchTape::release(std::int32_t tensor) {
  allocator_.free(blocks_[tensor]);
  events_.push_back({tensor, false});
  requested_bytes_ -= tensors_[tensor].bytes;
}

}  // namespace snug::doctor::torch
