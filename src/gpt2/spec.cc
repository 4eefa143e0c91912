#include "gpt2/spec.h"

#include <fmt/format.h>

#include <cmath>

#include "gpt2/network.h"

namespace snug::gpt2 {
namespace {

using Init = model::ParameterSpec::Init;

constexpr double kInitStd = 0.02;

void add_layer_norm(model::ModelSpec& model, const std::string& name) {
  const Shape shape{model.n_embd};
  model.parameters.push_back({name + ".weight", shape, false, Init::kOnes, 0});
  if (model.bias) model.parameters.push_back({name + ".bias", shape, false, Init::kZeros, 0});
}

void add_linear(model::ModelSpec& model, const std::string& name, std::int64_t in, std::int64_t out,
                double init_std) {
  model.parameters.push_back({name + ".weight", {out, in}, true, Init::kNormal, init_std});
  if (model.bias) model.parameters.push_back({name + ".bias", {out}, false, Init::kZeros, 0});
}

void add_block(model::ModelSpec& model, std::int64_t layer) {
  const std::string prefix = fmt::format("transformer.h.{}.", layer);
  const std::int64_t C = model.n_embd;
  // Residual projections start smaller so that the stream's variance does not grow with depth.
  const double projection_std = kInitStd / std::sqrt(2.0 * static_cast<double>(model.n_layer));
  add_layer_norm(model, prefix + "ln_1");
  add_linear(model, prefix + "attn.c_attn", C, 3 * C, kInitStd);
  add_linear(model, prefix + "attn.c_proj", C, C, projection_std);
  add_layer_norm(model, prefix + "ln_2");
  add_linear(model, prefix + "mlp.c_fc", C, 4 * C, kInitStd);
  add_linear(model, prefix + "mlp.c_proj", 4 * C, C, projection_std);
}

}  // namespace

model::ModelSpec make_model_spec(const config::GptSizes& sizes) {
  model::ModelSpec model{sizes, &gpt2_network(), {}};
  const std::int64_t C = model.n_embd;
  model.parameters.push_back(
      {"transformer.wte.weight", {model.vocab_size, C}, true, Init::kNormal, kInitStd});
  model.parameters.push_back(
      {"transformer.wpe.weight", {model.block_size, C}, true, Init::kNormal, kInitStd});
  for (std::int64_t layer = 0; layer < model.n_layer; ++layer) add_block(model, layer);
  add_layer_norm(model, "transformer.ln_f");
  return model;
}

model::ModelSpec make_model_spec(config::GptSizes sizes, std::int64_t vocab_size) {
  sizes.vocab_size = vocab_size;
  return make_model_spec(sizes);
}

}  // namespace snug::gpt2
