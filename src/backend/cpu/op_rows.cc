#include "backend/cpu/op_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backend/cpu/linear.h"
#include "backend/cpu/op_functions.h"
#include "backend/cpu/op_run.h"
#include "base/error.h"

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

// A row of an op in float32.
template <class Definition, auto run, auto scratch = nullptr>
constexpr OpRow row(std::optional<DType> precision = DType::kF32) {
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

// An op in float32 that can work on a part of the rows.
template <class Definition, auto run>
constexpr OpRow row_in_chunks() {
  OpRow made = row<Definition, run>();
  made.runs_in_chunks = true;
  return made;
}

template <class Definition, auto run>
constexpr OpRow linear_row() {
  OpRow made = row_in_chunks<Definition, run>();
  made.scratch = [](const OpQuestion& question) {
    return linear_scratch(question, *linear_form(question.op, question.shapes));
  };
  made.prepare = [](const OpQuestion& question) {
    return prepare_linear(question, *linear_form(question.op, question.shapes));
  };
  return made;
}

constexpr std::array kRows = {
    row_of_bytes<ops::Zero, run_zero>(),
    row<ops::ResetEmbedRows, run_reset_embed_rows>(),
    row<ops::Embed, run_embed>(),
    row<ops::EmbedBackward, run_embed_backward>(),
    row<ops::MergeEmbedRows, run_merge_embed_rows>(),
    row<ops::LayerNorm, run_layernorm>(),
    row<ops::LayerNormApply, run_layernorm_apply>(),
    row<ops::LayerNormBackward, run_layernorm_backward, layernorm_backward_scratch>(),
    linear_row<ops::Linear, run_linear>(),
    linear_row<ops::LinearDx, run_linear_dx>(),
    linear_row<ops::LinearDw, run_linear_dw>(),
    row<ops::Gelu, run_gelu>(),
    row<ops::GeluBackward, run_gelu_backward>(),
    row<ops::Attention, run_attention, attention_scratch>(),
    row<ops::AttentionBackward, run_attention_backward, attention_backward_scratch>(),
    row<ops::AttentionDecode, run_attention_decode, attention_decode_scratch>(),
    row<ops::KvStore, run_kv_store>(),
    row<ops::ResidualAdd, run_residual_add>(),
    row<ops::DropoutBackward, run_dropout_backward>(),
    row_in_chunks<ops::CrossEntropy, run_cross_entropy>(),
    row<ops::GradientNorm, run_gradient_norm, gradient_norm_scratch>(std::nullopt),
    row<ops::AdamW, run_adamw>(DType::kF32),
    row<ops::AdamW, run_adamw_bf16>(DType::kBF16),
    row_of_bytes<ops::Cast, run_cast>(),
    row_of_bytes<ops::Copy, run_copy>(),
    row_of_bytes<ops::CheckpointWrite, run_checkpoint_write>(),
    row_of_bytes<ops::CheckpointRead, run_checkpoint_read>(),
};

}  // namespace

std::span<const OpRow> op_rows() { return kRows; }

const OpRow& row_of(const Op& op, const ops::Shapes& shapes) {
  const std::optional<DType> precision = ops::precision_of(op, shapes);
  for (const OpRow& candidate : kRows) {
    if (candidate.kind == op.kind() && (!candidate.precision || candidate.precision == precision)) {
      return candidate;
    }
  }
  throw InternalError(fmt::format("the cpu backend has no kernel for '{}' in {} ({})",
                                  ops::name_of(op), precision ? name_of(*precision) : "bytes",
                                  op.label));
}

}  // namespace snug::cpu
