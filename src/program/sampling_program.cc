#include "program/sampling_program.h"

#include <fmt/format.h>

#include "program/block.h"

namespace snug {
namespace {

using Mode = BlockEmitter::Mode;

struct Cache {
  std::vector<TensorId> keys, values;
};

void emit_forward(ProgramBuilder& builder, PhaseKind kind, std::int64_t T, const Cache& cache) {
  const ModelSpec& model = builder.model();
  Phase& phase = builder.begin_phase(kind, false, 1, T);
  phase.tokens = builder.add({"tokens", {1, T}, DType::kI32, Role::kIo, Lifetime::kPhase});
  phase.logits =
      builder.add({"logits", {1, model.vocab_size}, DType::kF32, Role::kIo, Lifetime::kPhase});
  const TensorId tokens = phase.tokens, logits = phase.logits;
  TensorId stream = builder.activation("embedding", {1, T, model.n_embd});
  builder.emit({OpKind::kEmbed,
                "embedding",
                {tokens, builder.weight("wte.weight"), builder.weight("wpe.weight")},
                {stream}});
  for (std::int64_t layer = 0; layer < model.n_layer; ++layer) {
    BlockEmitter block(builder, layer,
                       kind == PhaseKind::kPrefill ? Mode::kPrefill : Mode::kDecode);
    const auto at = static_cast<std::size_t>(layer);
    block.set_cache(cache.keys[at], cache.values[at]);
    stream = block.forward(stream, nullptr);
  }
  const TensorId normed = builder.activation("ln_f.out", {1, T, model.n_embd});
  builder.emit(
      {OpKind::kLayerNorm,
       "ln_f",
       {stream, builder.weight("ln_f.weight"), builder.weight("ln_f.bias")},
       {normed, builder.statistic("ln_f.mean", {1, T}), builder.statistic("ln_f.rstd", {1, T})}});
  Op head{OpKind::kLinear, "lm_head", {normed, builder.weight("wte.weight"), kNoTensor}, {logits}};
  head.tile_rows = 1;
  head.row_from_context = true;
  builder.emit(std::move(head));
}

}  // namespace

Program build_sampling_program(const ModelSpec& model, std::int64_t window, DType compute,
                               const Target& target) {
  ProgramBuilder builder(model, target, compute);
  builder.add_weights();
  Cache cache;
  for (std::int64_t layer = 0; layer < model.n_layer; ++layer) {
    const auto add = [&](const char* name) {
      return builder.add({fmt::format("h.{}.attn.{}", layer, name),
                          {window, model.n_embd},
                          builder.compute(),
                          Role::kActivations,
                          Lifetime::kRun});
    };
    cache.keys.push_back(add("key_cache"));
    cache.values.push_back(add("value_cache"));
  }
  builder.begin_phase(PhaseKind::kLoad, false);
  builder.emit({OpKind::kCheckpointRead, "read weights", {}, builder.program().weights});
  emit_forward(builder, PhaseKind::kPrefill, window, cache);
  emit_forward(builder, PhaseKind::kDecode, 1, cache);
  return builder.take();
}

}  // namespace snug
