#include "fit/rates.h"

#include <algorithm>
#include <cmath>

namespace snug {
namespace {

double tensor_bytes(const Program& program, const std::vector<TensorId>& ids) {
  double bytes = 0;
  for (const TensorId id : ids) {
    if (id != kNoTensor) bytes += static_cast<double>(program.tensor(id).byte_count());
  }
  return bytes;
}

// Rows of tables that are looked up, not the whole tables.
double traffic_of(const Program& program, const Op& op) {
  const auto bytes = [&](TensorId id) {
    return static_cast<double>(program.tensor(id).byte_count());
  };
  switch (op.kind) {
    case OpKind::kEmbed:
      return 3 * bytes(op.writes[0]);
    case OpKind::kEmbedBackward:
      return 5 * bytes(op.reads[1]);
    case OpKind::kMergeEmbedRows:
      return 3 * bytes(op.reads[0]);
    case OpKind::kCheckpointRead:
    case OpKind::kCheckpointWrite:
      return 0;  // by the host, between iterations
    default:
      return tensor_bytes(program, op.reads) + tensor_bytes(program, op.writes);
  }
}

// A chunk goes through its own rows of what has one per token, and through all of the rest.
double chunked_traffic(const Program& program, const Op& op, std::int64_t row_count,
                       double chunks) {
  double bytes = 0;
  for (const auto* ids : {&op.reads, &op.writes}) {
    for (const TensorId id : *ids) {
      if (id == kNoTensor) continue;
      const Tensor& tensor = program.tensor(id);
      const int rank = tensor.shape.rank();
      const std::int64_t first = rank > 0 ? tensor.shape[0] : 1;
      const bool by_rows = first == row_count || (rank > 1 && first * tensor.shape[1] == row_count);
      bytes += static_cast<double>(tensor.byte_count()) * (by_rows ? 1 : chunks);
    }
  }
  return bytes;
}

double last_extent(const Program& program, TensorId id) {
  const Shape& shape = program.tensor(id).shape;
  return static_cast<double>(shape[shape.rank() - 1]);
}

double product_flops(const Program& program, const Op& op, double rows) {
  // Of a weight gradient: rows summed over; of the others: rows of the result.
  const bool dw = op.kind == OpKind::kLinearDw;
  const double in = last_extent(program, dw ? op.reads[1] : op.reads[0]);
  const double out = last_extent(program, dw ? op.reads[0] : op.writes[0]);
  return 2 * rows * in * out;
}

// Scores and their use are each 2 T C per row, half of it under the causal mask; backward makes
// the scores again and has four products more.
double attention_flops(const Program& program, const Phase& phase, const Op& op, double rows) {
  const double C = last_extent(program, op.reads[0]) / 3;
  const double forward = 2 * rows * static_cast<double>(phase.block_size) * C;
  return op.kind == OpKind::kAttention ? forward : 2.5 * forward;
}

// What well-made kernels reach of a card's figures: llm.c trains GPT-2 124M at 60% of an A100's
// bf16 rate and llmq a 0.5B model at 73% of a 4090's, attention and norms included, so products
// alone run at about three quarters. Attention runs at half of that, traffic at 80%.
constexpr double kProductShare = 0.75, kAttentionShare = 0.35, kTrafficShare = 0.8;
constexpr double kLaunchSeconds = 5e-6;
// The same sources, and cards whose clocks fall under load, span this much around the middle.
constexpr double kCardLow = 0.85, kCardHigh = 1.5;

}  // namespace

Work work_of(const Program& program, const Phase& phase, const Op& op) {
  const std::int64_t row_count = phase.batch_size * phase.block_size;
  const auto rows = static_cast<double>(op.row_from_context ? 1 : row_count);
  Work work;
  work.bytes = traffic_of(program, op);
  if (op.chunk_rows > 0) {
    work.starts = std::ceil(rows / static_cast<double>(op.chunk_rows));
    work.bytes = chunked_traffic(program, op, row_count, work.starts);
  }
  switch (op.kind) {
    case OpKind::kLinear:
    case OpKind::kLinearDx:
    case OpKind::kLinearDw:
      work.flops = product_flops(program, op, rows);
      work.dtype = program.tensor(op.reads[0]).dtype;
      break;
    case OpKind::kAttention:
    case OpKind::kAttentionBackward:
      work.flops = attention_flops(program, phase, op, rows);
      work.dtype = program.tensor(op.reads[0]).dtype;
      break;
    default:
      break;
  }
  return work;
}

double op_seconds(const Rates& rates, const Op& op, const Work& work) {
  const OpRate& rate = rates.at(op.kind, op.chunk_rows > 0);
  return work.starts * rate.start_seconds + std::max(work.flops * rate.seconds_per_flop(work.dtype),
                                                     work.bytes * rate.seconds_per_byte);
}

double phase_seconds(const Rates& rates, const Program& program, const Phase& phase) {
  double seconds = 0;
  for (const Op& op : phase.ops) seconds += op_seconds(rates, op, work_of(program, phase, op));
  return seconds;
}

Rates card_rates(const Card& card) {
  const auto set_arithmetic = [&](OpRate& rate, double share) {
    const auto seconds = [&](double tera) { return tera > 0 ? 1 / (tera * 1e12 * share) : 0; };
    rate.flop_seconds_f32 = seconds(card.fp32_tflops);
    rate.flop_seconds_bf16 = seconds(card.bf16_tflops);
    rate.flop_seconds_f16 = seconds(card.fp16_tflops);
  };
  Rates rates;
  for (OpRate& rate : rates.ops) {
    rate.start_seconds = kLaunchSeconds;
    rate.seconds_per_byte = 1 / (card.bandwidth_gbs * 1e9 * kTrafficShare);
  }
  for (const bool head : {false, true}) {
    for (const OpKind kind : {OpKind::kLinear, OpKind::kLinearDx, OpKind::kLinearDw}) {
      set_arithmetic(rates.at(kind, head), kProductShare);
    }
  }
  for (const OpKind kind : {OpKind::kAttention, OpKind::kAttentionBackward}) {
    set_arithmetic(rates.at(kind, false), kAttentionShare);
  }
  rates.low = kCardLow;
  rates.high = kCardHigh;
  return rates;
}

}  // namespace snug
