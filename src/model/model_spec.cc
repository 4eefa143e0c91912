#include "model/model_spec.h"

namespace snug::model {
std::int64_t ModelSpec::parameter_count() const {
  std::int64_t count = 0;
  for (const ParameterSpec& p : parameters) count = checked_add(count, p.shape.element_count());
  return count;
}

std::int64_t ModelSpec::reported_parameter_count() const {
  return parameter_count() - checked_mul(block_size, n_embd);
}

double flops_per_token(const ModelSpec& model, std::int64_t block_size) {
  const auto parameters = static_cast<double>(model.reported_parameter_count());
  return 6.0 * parameters + 12.0 * static_cast<double>(model.n_layer) *
                                static_cast<double>(model.n_embd) * static_cast<double>(block_size);
}

}  // namespace snug::model
