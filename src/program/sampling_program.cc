#include "program/sampling_program.h"

#include <fmt/format.h>

#include "program/network.h"

namespace snug::program {
namespace {

std::vector<LayerCache> add_caches(ProgramBuilder& builder, std::int64_t window) {
  const model::ModelSpec& model = builder.model();
  const auto add = [&](std::int64_t layer, const char* name) {
    return builder.add({fmt::format("h.{}.attn.{}", layer, name),
                        {window, model.network->cache_width(model)},
                        builder.compute(),
                        Role::kActivations,
                        Lifetime::kRun});
  };
  std::vector<LayerCache> caches;
  for (std::int64_t layer = 0; layer < model.n_layer; ++layer) {
    const TensorId keys = add(layer, "key_cache");
    caches.push_back({keys, add(layer, "value_cache")});
  }
  return caches;
}

void emit_forward(ProgramBuilder& builder, PhaseKind kind, std::int64_t T,
                  std::span<const LayerCache> caches) {
  const model::ModelSpec& model = builder.model();
  Phase& phase = builder.begin_phase(kind, false, 1, T);
  phase.io.tokens = builder.add({"tokens", {1, T}, DType::kI32, Role::kIo, Lifetime::kPhase});
  phase.io.logits =
      builder.add({"logits", {1, model.vocab_size}, DType::kF32, Role::kIo, Lifetime::kPhase});
  const TensorId logits = phase.io.logits;
  phase.host.tokens = builder.from_host(phase.io.tokens);
  const auto pass = model.network->begin(
      builder, kind == PhaseKind::kPrefill ? PassMode::kPrefill : PassMode::kDecode, caches);
  TensorId stream = pass->embed();
  for (std::int64_t layer = 0; layer < model.n_layer; ++layer) {
    stream = pass->forward(layer, stream, false);
  }
  const TensorId normed = pass->final_norm(stream);
  builder.emit("lm_head", ops::Linear{.x = normed,
                                      .weight = pass->head_weight(),
                                      .bias = kNoTensor,
                                      .y = logits,
                                      .tile_rows = 1,
                                      .row_from_context = true});
  phase.host.logits = builder.to_host(logits);
}

}  // namespace

Program build_sampling_program(const model::ModelSpec& model, std::int64_t window, DType compute,
                               const Target& target) {
  ProgramBuilder builder(model, target, compute);
  builder.add_weights();
  const std::vector<LayerCache> caches = add_caches(builder, window);
  builder.begin_phase(PhaseKind::kLoad, false);
  builder.emit("read weights", ops::CheckpointRead{.tensors = builder.program().weights,
                                                   .staging = builder.add_staging()});
  emit_forward(builder, PhaseKind::kPrefill, window, caches);
  emit_forward(builder, PhaseKind::kDecode, 1, caches);
  return builder.take();
}

}  // namespace snug::program
