#include "backend/cpu/op_rows.h"

#include <algorithm>
#include <array>

#include "backend/cpu/activation_ops.h"
#include "backend/cpu/linear.h"
#include "backend/cpu/op_functions.h"
#include "backend/cpu/op_run.h"
#include "backend/op_table.h"

namespace snug::cpu {
namespace {

// From a function of one definition to one that takes any op, and finds its definition in it.
template <class Definition, auto function>
std::int64_t ask_scratch(const OpQuestion& question) {
  return function(question, std::get<Definition>(question.op.definition));
}
template <class Definition, auto function>
void run_definition(const OpRun& run) {
  function(run, std::get<Definition>(run.op.definition));
}

template <class Definition, auto run, auto scratch = nullptr>
constexpr OpRow row(std::optional<DType> precision) {
  OpRow made{ops::kind_of<Definition>(),     precision, nullptr, nullptr, false,
             run_definition<Definition, run>};
  // By type: under the sanitizers a function's address is no constant that can be compared.
  if constexpr (!std::is_null_pointer_v<std::remove_cv_t<decltype(scratch)>>) {
    made.scratch = ask_scratch<Definition, scratch>;
  }
  return made;
}

// An op on bytes, whatever they hold.
template <class Definition, auto run>
constexpr OpRow row_of_bytes() {
  return row<Definition, run>(std::nullopt);
}

// An op that can work on a part of the rows.
template <class Definition, auto run>
constexpr OpRow row_in_chunks(DType precision) {
  OpRow made = row<Definition, run>(precision);
  made.runs_in_chunks = true;
  return made;
}

template <class Definition, auto run>
constexpr OpRow linear_row(DType precision) {
  OpRow made = row_in_chunks<Definition, run>(precision);
  made.scratch = [](const OpQuestion& question) {
    return linear_scratch(question, *linear_form(question.op, question.shapes));
  };
  made.prepare = [](const OpQuestion& question) {
    return prepare_linear(question, *linear_form(question.op, question.shapes));
  };
  return made;
}

// Rows of the ops on activations of type X.
template <class X>
constexpr std::array kActivationRows = {
    row<ops::Embed, run_embed<X>>(kDTypeOf<X>),
    row<ops::EmbedBackward, run_embed_backward<X>>(kDTypeOf<X>),
    row<ops::LayerNorm, run_layernorm<X>>(kDTypeOf<X>),
    row<ops::LayerNormApply, run_layernorm_apply<X>>(kDTypeOf<X>),
    row<ops::LayerNormBackward, run_layernorm_backward<X>, layernorm_backward_scratch>(kDTypeOf<X>),
    row<ops::Gelu, run_gelu<X>>(kDTypeOf<X>),
    row<ops::GeluBackward, run_gelu_backward<X>>(kDTypeOf<X>),
    row<ops::Attention, run_attention<X>, attention_scratch>(kDTypeOf<X>),
    row<ops::AttentionBackward, run_attention_backward<X>, attention_backward_scratch>(kDTypeOf<X>),
    row<ops::AttentionDecode, run_attention_decode<X>, attention_decode_scratch>(kDTypeOf<X>),
    row<ops::KvStore, run_kv_store<X>>(kDTypeOf<X>),
    row<ops::ResidualAdd, run_residual_add<X>>(kDTypeOf<X>),
    row<ops::DropoutBackward, run_dropout_backward<X>>(kDTypeOf<X>),
    row_in_chunks<ops::CrossEntropy, run_cross_entropy<X>>(kDTypeOf<X>),
    linear_row<ops::Linear, run_linear<X>>(kDTypeOf<X>),
    linear_row<ops::LinearDx, run_linear_dx<X>>(kDTypeOf<X>),
    linear_row<ops::LinearDw, run_linear_dw<X>>(kDTypeOf<X>),
};

// Rows of the ops on weights, gradients and bytes.
constexpr std::array kOtherRows = {
    row_of_bytes<ops::Zero, run_zero>(),
    row<ops::ResetEmbedRows, run_reset_embed_rows>(DType::kF32),
    row<ops::MergeEmbedRows, run_merge_embed_rows>(DType::kF32),
    row<ops::GradientNorm, run_gradient_norm, gradient_norm_scratch>(std::nullopt),
    row<ops::AdamW, run_adamw>(DType::kF32),
    row<ops::AdamW, run_adamw_bf16>(DType::kBF16),
    row_of_bytes<ops::Cast, run_cast>(),
    row_of_bytes<ops::Copy, run_copy>(),
    row_of_bytes<ops::CheckpointWrite, run_checkpoint_write>(),
    row_of_bytes<ops::CheckpointRead, run_checkpoint_read>(),
};

constexpr auto kRows = backend::joined_rows(kActivationRows<float>, kActivationRows<Bf16>,
                                            kActivationRows<F16>, kOtherRows);

}  // namespace

std::span<const OpRow> op_rows() { return kRows; }

const OpRow& row_of(const ops::Op& op, const ops::Shapes& shapes) {
  return backend::row_of(kRows, op, shapes, "cpu");
}

}  // namespace snug::cpu
