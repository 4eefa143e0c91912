#include "backend/cuda/gemm_cache.h"

namespace snug::cuda {

const Gemm& GemmCache::get(GemmShape shape, std::string_view label) {
  shape.tf32 = tf32_;
  for (const auto& gemm : gemms_) {
    if (gemm->shape() == shape) return *gemm;
  }
  gemms_.push_back(std::make_unique<Gemm>(handle_, shape, label));
  return *gemms_.back();
}

}  // namespace snug::cuda
