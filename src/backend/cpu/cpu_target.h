// What the CPU backend needs for each op, asked from the libraries that will run it.
#pragma once

#include <memory>

#include "backend/cpu/gemm.h"
#include "program/target.h"

namespace snug::cpu {

class CpuTarget : public program::Target {
 public:
  explicit CpuTarget(int threads) : threads_(threads), gemms_(threads) {}

  std::int64_t scratch_bytes(const ops::Op& op, const ops::Shapes& shapes) const override;
  std::int64_t overhead_bytes(const program::Program& program) const override;
  int threads() const override { return threads_; }
  DType compute_dtype(DType wanted) const override { return wanted; }

 private:
  int threads_;
  mutable GemmCache gemms_;  // descriptions only
};

}  // namespace snug::cpu
