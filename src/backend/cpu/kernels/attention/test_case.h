// One attention problem with its buffers, for the tests: random input, exact-size scratch with
// canaries after it, an optional misalignment, and forward, backward and decode calls on it.
#pragma once

#include <gtest/gtest.h>
#include <omp.h>

#include <cstdint>
#include <random>
#include <vector>

#include "backend/cpu/kernels/attention/attention.h"

namespace snug::cpu {

struct AttentionShape {
  std::int64_t B, T, H, D;
  bool dropout;
  std::int64_t C() const { return H * D; }
};

inline Dropout test_dropout(bool on) {
  if (!on) return {};
  return {.seed = 0xFEEDFACE12345678,
          .site = (1u << 16) + 5,
          .iteration = 9,
          .first_sequence = 100,
          .threshold = 1u << 30,
          .scale = 4.0f / 3.0f};
}

inline std::vector<float> random_floats(std::int64_t count, std::uint32_t seed, float spread) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0.0f, spread);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(generator);
  return values;
}

// Scratch of exactly the booked bytes; the canaries after it must survive every call.
class GuardedScratch {
 public:
  GuardedScratch(std::int64_t bytes, std::int64_t offset)
      : offset_(offset),
        count_((bytes + 3) / 4),
        floats_(static_cast<std::size_t>(offset_ + count_ + kCanaries), kCanary) {}
  Scratch whole() { return {reinterpret_cast<std::byte*>(floats_.data() + offset_), 4 * count_}; }
  void expect_intact() const {
    for (std::int64_t n = 0; n < kCanaries; ++n) {
      ASSERT_EQ(floats_[static_cast<std::size_t>(offset_ + count_ + n)], kCanary);
    }
  }

 private:
  static constexpr std::int64_t kCanaries = 64;
  static constexpr float kCanary = -12345.5f;
  std::int64_t offset_, count_;
  std::vector<float> floats_;
};

struct AttentionResult {
  std::vector<float> out, lse, dqkv;
  bool operator==(const AttentionResult&) const = default;
};

// Runs both passes; `forward` and `backward` are the fast or the reference kernels. Every pointer
// is `offset` floats past an allocation's start. backward reads out and lse of `forward`, or of
// `saved` when given.
template <class Forward, class Backward>
AttentionResult run_attention(const AttentionShape& shape, const std::vector<float>& qkv,
                              const std::vector<float>& dout, const Dropout& dropout,
                              Forward forward, Backward backward, std::int64_t offset = 0,
                              const AttentionResult* saved = nullptr) {
  const auto [B, T, H, D, with_dropout] = shape;
  const std::int64_t C = shape.C();
  const auto shifted = [offset](const std::vector<float>& from) {
    std::vector<float> to(from.size() + static_cast<std::size_t>(offset));
    std::copy(from.begin(), from.end(), to.begin() + offset);
    return to;
  };
  const auto filled = [offset](std::int64_t count) {
    return std::vector<float>(static_cast<std::size_t>(count + offset), -3e30f);
  };
  const int threads = omp_get_max_threads();
  GuardedScratch scratch(attention_scratch_bytes(T, D, threads), offset);
  GuardedScratch back_scratch(attention_backward_scratch_bytes(T, D, threads), offset);
  const std::vector<float> qkv_in = shifted(qkv), dout_in = shifted(dout);
  std::vector<float> out = filled(B * T * C), lse = filled(B * H * T), dqkv = filled(B * T * 3 * C);
  forward(Attention{B, T, C, H, qkv_in.data() + offset, out.data() + offset, lse.data() + offset,
                    scratch.whole(), dropout});
  const std::vector<float> out_in = saved ? shifted(saved->out) : out;
  const std::vector<float> lse_in = saved ? shifted(saved->lse) : lse;
  backward(AttentionBackward{B, T, C, H, qkv_in.data() + offset, out_in.data() + offset,
                             lse_in.data() + offset, dout_in.data() + offset, dqkv.data() + offset,
                             back_scratch.whole(), dropout});
  scratch.expect_intact();
  back_scratch.expect_intact();
  const auto strip = [offset](const std::vector<float>& from) {
    return std::vector<float>(from.begin() + offset, from.end());
  };
  return {strip(out), strip(lse), strip(dqkv)};
}

}  // namespace snug::cpu
