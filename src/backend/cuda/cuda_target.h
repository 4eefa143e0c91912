// What the CUDA backend needs for each op, so that a run can be planned for a card without one.
#pragma once

#include "backend/cuda/scratch.h"
#include "program/target.h"

namespace snug::cuda {

class CudaTarget : public program::Target {
 public:
  // Cards before compute capability 8.0 have no bfloat16: float16 takes its place.
  explicit CudaTarget(bool has_bfloat16 = true) : has_bfloat16_(has_bfloat16) {}

  std::int64_t scratch_bytes(const ops::Op& op, const ops::Shapes& shapes) const override {
    return scratch_of(op, shapes);
  }
  // The context is not here: it is no part of the arena, and the budget leaves room for it.
  std::int64_t overhead_bytes(const program::Program&) const override { return 0; }
  Space space() const override { return Space::kDevice; }
  Space host_side() const override { return Space::kPinned; }
  DType compute_dtype(DType wanted) const override {
    return wanted == DType::kBF16 && !has_bfloat16_ ? DType::kF16 : wanted;
  }

 private:
  bool has_bfloat16_;
};

}  // namespace snug::cuda
