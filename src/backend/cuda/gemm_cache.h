// The products of a program, each chosen once however many ops share it.
#pragma once

#include <memory>
#include <vector>

#include "backend/cuda/gemm.h"

namespace snug::cuda {

class GemmCache {
 public:
  explicit GemmCache(bool tf32) : tf32_(tf32) {}

  // Lives as long as the cache. The shape's tf32 is set here.
  const Gemm& get(GemmShape shape, std::string_view label);

 private:
  CublasHandle handle_;
  bool tf32_;
  std::vector<std::unique_ptr<Gemm>> gemms_;
};

}  // namespace snug::cuda
