#include "gpt2/network.h"

#include "base/philox.h"
#include "gpt2/block.h"

namespace snug::gpt2 {
namespace {

class Gpt2Pass : public program::Pass {
 public:
  Gpt2Pass(program::ProgramBuilder& builder, program::PassMode mode,
           std::span<const program::LayerCache> caches)
      : builder_(builder),
        mode_(mode),
        caches_(caches),
        saved_(static_cast<std::size_t>(builder.model().n_layer)) {}

  TensorId embed() override {
    const program::Phase& phase = builder_.phase();
    const TensorId x = builder_.activation(
        "embedding", {phase.batch_size, phase.block_size, builder_.model().n_embd});
    builder_.emit("embedding",
                  ops::Embed{.tokens = phase.io.tokens,
                             .wte = head_weight(),
                             .wpe = builder_.weight("wpe.weight"),
                             .x = x,
                             .dropout_site = embedding_dropout_site(),
                             .position_from_context = mode_ == program::PassMode::kDecode});
    return x;
  }

  TensorId forward(std::int64_t layer, TensorId stream, bool keep_all) override {
    return block(layer, keep_all).forward(stream, saved(layer));
  }

  TensorId final_norm(TensorId stream) override {
    const program::Phase& phase = builder_.phase();
    const std::int64_t B = phase.batch_size, T = phase.block_size;
    last_stream_ = stream;
    mean_ = builder_.statistic("ln_f.mean", {B, T});
    rstd_ = builder_.statistic("ln_f.rstd", {B, T});
    const TensorId normed = builder_.activation("ln_f.out", {B, T, builder_.model().n_embd});
    builder_.emit("ln_f", ops::LayerNorm{.x = stream,
                                         .gamma = builder_.weight("ln_f.weight"),
                                         .beta = builder_.weight("ln_f.bias"),
                                         .y = normed,
                                         .mean = mean_,
                                         .rstd = rstd_});
    return normed;
  }

  TensorId head_weight() const override { return builder_.weight("wte.weight"); }
  TensorId head_weight_gradient() const override { return builder_.gradient("wte.weight"); }

  TensorId final_norm_backward(TensorId dnormed) override {
    const program::Phase& phase = builder_.phase();
    const TensorId dstream = builder_.activation(
        "dstream", {phase.batch_size, phase.block_size, builder_.model().n_embd});
    builder_.emit("dstream", ops::Zero{.tensors = {{dstream}}});
    builder_.emit("ln_f backward",
                  ops::LayerNormBackward{.dy = dnormed,
                                         .x = last_stream_,
                                         .gamma = builder_.weight("ln_f.weight"),
                                         .mean = mean_,
                                         .rstd = rstd_,
                                         .dx = dstream,
                                         .dgamma = builder_.gradient("ln_f.weight"),
                                         .dbeta = builder_.gradient("ln_f.bias")});
    return dstream;
  }

  void backward(std::int64_t layer, TensorId dstream, bool recompute, bool keep_all) override {
    BlockEmitter emitter = block(layer, keep_all);
    if (recompute) *saved(layer) = emitter.recompute(saved(layer)->input);
    emitter.backward(*saved(layer), dstream);
  }

  void embed_backward(TensorId dstream, const ops::EmbedRows& rows) override {
    builder_.emit("embedding backward",
                  ops::EmbedBackward{.tokens = builder_.phase().io.tokens,
                                     .dx = dstream,
                                     .dwpe = builder_.gradient("wpe.weight"),
                                     .rows = rows.rows,
                                     .slot = rows.slot,
                                     .row_token = rows.row_token,
                                     .row_count = rows.row_count,
                                     .dropout_site = embedding_dropout_site()});
  }

 private:
  SavedBlock* saved(std::int64_t layer) { return &saved_[static_cast<std::size_t>(layer)]; }

  BlockEmitter block(std::int64_t layer, bool keep_all) {
    const program::LayerCache none;
    const auto at = static_cast<std::size_t>(layer);
    return {builder_, layer, mode_, at < caches_.size() ? caches_[at] : none, keep_all};
  }

  std::uint32_t embedding_dropout_site() const {
    const model::ModelSpec& model = builder_.model();
    return mode_ == program::PassMode::kTraining ? dropout_site(model, model.n_layer, 0) : 0;
  }

  program::ProgramBuilder& builder_;
  program::PassMode mode_;
  std::span<const program::LayerCache> caches_;
  std::vector<SavedBlock> saved_;
  TensorId last_stream_ = kNoTensor, mean_ = kNoTensor, rstd_ = kNoTensor;
};

class Gpt2Network : public program::Network {
 public:
  std::unique_ptr<program::Pass> begin(program::ProgramBuilder& builder, program::PassMode mode,
                                       std::span<const program::LayerCache> caches) const override {
    return std::make_unique<Gpt2Pass>(builder, mode, caches);
  }
  std::int64_t cache_width(const model::ModelSpec& model) const override { return model.n_embd; }
  std::string_view token_embedding() const override { return "wte.weight"; }
};

}  // namespace

const program::Network& gpt2_network() {
  static const Gpt2Network network;
  return network;
}

}  // namespace snug::gpt2
