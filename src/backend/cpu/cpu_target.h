// What the CPU backend needs for each op, asked from the libraries that will run it.
#pragma once

#include <memory>

#include "backend/cpu/gemm.h"
#include "program/target.h"

namespace snug::cpu {

class CpuTarget : public Target {
 public:
  explicit CpuTarget(int threads) : threads_(threads), gemms_(threads) {}

  std::int64_t scratch_bytes(const Op& op, const ops::Shapes& shapes) const override;
  std::int64_t overhead_bytes(const Program& program) const override;
  int threads() const override { return threads_; }
  // The CPU's kernels are float32.
  DType compute_dtype(DType) const override { return DType::kF32; }

 private:
  int threads_;
  mutable GemmCache gemms_;  // descriptions only
};

}  // namespace snug::cpu
