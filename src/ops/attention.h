// Causal self-attention over the fused projection (q, k, v one after the other in the last
// dimension, heads within each); softmax scale 1 / sqrt(C / head_count).
#pragma once

#include "ops/operand.h"

namespace snug::ops {

struct Shapes;

struct Attention {
  static constexpr std::string_view kName = "attention";

  Read qkv;   // (B, T, 3C)
  Write out;  // (B, T, C)
  Optional<Write> lse =
      {};  // (B, head_count, T) float32, log of the sum of exp(scores): for backward
  std::int64_t head_count = 0;
  std::uint32_t dropout_site = 0;  // 0: no dropout here

  static constexpr auto kPrecision = &Attention::qkv;
  static constexpr auto operands() {
    return std::tuple{NamedOperand{"qkv", &Attention::qkv}, NamedOperand{"out", &Attention::out},
                      NamedOperand{"lse", &Attention::lse}};
  }
  double arithmetic(const Shapes& shapes) const;
};

struct AttentionBackward {
  static constexpr std::string_view kName = "attention_backward";

  Read qkv, out, lse, dout;  // as in Attention; dout (B, T, C)
  Write dqkv;                // (B, T, 3C)
  std::int64_t head_count = 0;
  std::uint32_t dropout_site = 0;

  static constexpr auto kPrecision = &AttentionBackward::qkv;
  static constexpr auto operands() {
    return std::tuple{NamedOperand{"qkv", &AttentionBackward::qkv},
                      NamedOperand{"out", &AttentionBackward::out},
                      NamedOperand{"lse", &AttentionBackward::lse},
                      NamedOperand{"dout", &AttentionBackward::dout},
                      NamedOperand{"dqkv", &AttentionBackward::dqkv}};
  }
  double arithmetic(const Shapes& shapes) const;
};

// One position, StepContext::position, attending to itself and the cache before it.
struct AttentionDecode {
  static constexpr std::string_view kName = "attention_decode";

  Read qkv;             // (1, 1, 3C)
  Update keys, values;  // (window, C), row `position` is written
  Write out;            // (1, 1, C)
  std::int64_t head_count = 0;

  static constexpr auto kPrecision = &AttentionDecode::qkv;
  static constexpr auto operands() {
    return std::tuple{NamedOperand{"qkv", &AttentionDecode::qkv},
                      NamedOperand{"keys", &AttentionDecode::keys},
                      NamedOperand{"values", &AttentionDecode::values},
                      NamedOperand{"out", &AttentionDecode::out}};
  }
};

// Keys and values of a whole window go into the cache.
struct KvStore {
  static constexpr std::string_view kName = "kv_store";

  Read qkv;            // (1, T, 3C)
  Write keys, values;  // (window, C)

  static constexpr auto kPrecision = &KvStore::qkv;
  static constexpr auto operands() {
    return std::tuple{NamedOperand{"qkv", &KvStore::qkv}, NamedOperand{"keys", &KvStore::keys},
                      NamedOperand{"values", &KvStore::values}};
  }
};

}  // namespace snug::ops
