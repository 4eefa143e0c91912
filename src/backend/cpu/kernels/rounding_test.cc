// What a kernel on 16-bit activations means: bit for bit the same kernel on floats with the same
// values, each element of the result rounded once. On every instruction set. The kernels on floats
// have tests of their own.
#include <gtest/gtest.h>

#include <functional>

#include "backend/cpu/kernels/attention/attention.h"
#include "backend/cpu/kernels/fast_kernels.h"
#include "backend/cpu/kernels/kernel_testing.h"

namespace snug::cpu::testing {
namespace {

// The same numbers as floats and in X.
template <class X>
struct Both {
  std::vector<X> narrow;
  Values wide;

  Both(std::int64_t count, std::uint32_t seed, float sigma = 1.0f) {
    for (const float value : normal_values(count, seed, sigma)) {
      narrow.push_back(nearest<X>(value));
      wide.push_back(to_float(narrow.back()));
    }
  }
  template <class Y>
  Y* data() {
    if constexpr (std::is_same_v<Y, float>) {
      return wide.data();
    } else {
      return narrow.data();
    }
  }
  void expect_rounded(const char* what) const {
    for (std::size_t i = 0; i < wide.size(); ++i) {
      ASSERT_EQ(narrow[i].bits, nearest<X>(wide[i]).bits) << what << ", element " << i;
    }
  }
};

template <class X>
class Rounding : public ::testing::Test {
 protected:
  // Runs `run` on floats and on X; then all results of X are those of float, rounded.
  template <class Run>
  void check(Run run, std::initializer_list<std::pair<const char*, const Both<X>*>> results) {
    run.template operator()<float>();
    run.template operator()<X>();
    for (const auto& [name, result] : results) result->expect_rounded(name);
  }
};
using Types = ::testing::Types<Bf16, F16>;
TYPED_TEST_SUITE(Rounding, Types);

constexpr std::int64_t kB = 2, kT = 19, kC = 70;

TYPED_TEST(Rounding, OfGelu) {
  using X = TypeParam;
  for_each_target([&] {
    const std::int64_t count = 3001;
    Both<X> x(count, 1, 3), y(count, 2), dy(count, 3);
    this->check(
        [&]<class Y>() {
          gelu_fast(GeluOn<Y>{count, x.template data<Y>(), y.template data<Y>()});
          gelu_backward_fast(GeluBackwardOn<Y>{count, x.template data<Y>(), dy.template data<Y>()});
        },
        {{"y", &y}, {"dx", &dy}});
  });
}

TYPED_TEST(Rounding, OfEmbeddingAndDropout) {
  using X = TypeParam;
  for_each_target([&] {
    for (const Dropout& dropout : {Dropout{}, quarter_dropout()}) {
      Both<X> wte(7 * kC, 1), wpe(kT * kC, 2), out(kB * kT * kC, 3), sum(kB * kT * kC, 4),
          dout(kB * kT * kC, 5), stream(kB * kT * kC, 6), branch(kB * kT * kC, 7);
      std::vector<std::int32_t> tokens(kB * kT, 3);
      std::vector<Values> dwpe, rows;
      this->check(
          [&]<class Y>() {
            embed_fast(EmbedOn<Y>{kB, kT, kC, tokens.data(), wte.template data<Y>(),
                                  wpe.template data<Y>(), out.template data<Y>(), 0, dropout});
            residual_add_fast(ResidualAddOn<Y>{kB, kT, kC, stream.template data<Y>(),
                                               branch.template data<Y>(), sum.template data<Y>(),
                                               dropout});
            dropout_backward_fast(DropoutBackwardOn<Y>{kB, kT, kC, dout.template data<Y>(),
                                                       dout.template data<Y>(), dropout});
            std::vector<std::int32_t> slot(7, -1), row_token(7), row_count(1);
            dwpe.emplace_back(kT * kC), rows.emplace_back(7 * kC);
            embed_backward_fast(EmbedBackwardOn<Y>{
                kB, kT, kC, tokens.data(), dout.template data<Y>(), dwpe.back().data(),
                rows.back().data(), slot.data(), row_token.data(), row_count.data(), Dropout{}});
          },
          {{"embedding", &out}, {"residual", &sum}, {"dropout", &dout}});
    }
  });
}

TYPED_TEST(Rounding, OfLayerNorm) {
  using X = TypeParam;
  for_each_target([&] {
    const std::int64_t rows = kB * kT;
    Both<X> x(rows * kC, 1), y(rows * kC, 2), dy(rows * kC, 3), dx(rows * kC, 4);
    const Values gamma = normal_values(kC, 5), beta = normal_values(kC, 6);
    std::vector<Values> sums;
    this->check(
        [&]<class Y>() {
          Values mean(rows), rstd(rows), dgamma(kC), dbeta(kC), scratch(kB * 2 * kC);
          layernorm_forward_fast(LayerNormOn<Y>{rows, kC, x.template data<Y>(), gamma.data(),
                                                beta.data(), y.template data<Y>(), mean.data(),
                                                rstd.data()});
          layernorm_backward_fast(LayerNormBackwardOn<Y>{
              kB, kT, kC, dy.template data<Y>(), x.template data<Y>(), gamma.data(), mean.data(),
              rstd.data(), dx.template data<Y>(), dgamma.data(), dbeta.data(), scratch.data()});
          sums.push_back(joined({mean, rstd, dgamma, dbeta}));
        },
        {{"y", &y}, {"dx", &dx}});
    expect_same_bits(sums[1], sums[0], "statistics and gradients in float");
  });
}

TYPED_TEST(Rounding, OfCrossEntropy) {
  using X = TypeParam;
  for_each_target([&] {
    const std::int64_t rows = 5, V = 301;
    Both<X> logits(rows * V, 1, 2);
    const std::vector<std::int32_t> targets = {3, 300, 0, -1, 17};
    std::vector<Values> losses;
    const auto run = [&]<class Y>() {
      losses.emplace_back(rows);
      cross_entropy_fast(CrossEntropyOn<Y>{rows, V, targets.data(), logits.template data<Y>(),
                                           losses.back().data(), true, 8.0f});
    };
    run.template operator()<float>();
    run.template operator()<X>();
    expect_same_bits(losses[1], losses[0], "losses");
    for (std::size_t i = 0; i < logits.wide.size(); ++i) {
      const std::int64_t row = static_cast<std::int64_t>(i) / V;
      // Float subtracts from the rounded probability; 16 bits are rounded once, from the
      // difference.
      if (static_cast<std::int64_t>(i) % V == targets[static_cast<std::size_t>(row)]) {
        ASSERT_NEAR(to_float(logits.narrow[i]), logits.wide[i],
                    std::abs(logits.wide[i]) * (std::is_same_v<X, Bf16> ? 0x1p-8 : 0x1p-11));
        continue;
      }
      ASSERT_EQ(logits.narrow[i].bits, nearest<X>(logits.wide[i]).bits) << i;
    }
  });
}

TYPED_TEST(Rounding, OfAttention) {
  using X = TypeParam;
  constexpr std::int64_t kH = 2, kLong = 101;  // more than one tile of keys
  for_each_target([&] {
    for (const Dropout& dropout : {Dropout{}, quarter_dropout()}) {
      Both<X> qkv(kB * kLong * 3 * kC, 1), out(kB * kLong * kC, 2), given(kB * kLong * kC, 3),
          dout(kB * kLong * kC, 4), dqkv(kB * kLong * 3 * kC, 5);
      const int threads = omp_get_max_threads();
      std::vector<std::byte> scratch(static_cast<std::size_t>(
          std::max(attention_scratch_bytes(kLong, kC / kH, threads),
                   attention_backward_scratch_bytes(kLong, kC / kH, threads))));
      const Scratch whole{scratch.data(), std::ssize(scratch)};
      std::vector<Values> lse;
      this->check(
          [&]<class Y>() {
            lse.emplace_back(kB * kH * kLong);
            attention_fast(AttentionOn<Y>{kB, kLong, kC, kH, qkv.template data<Y>(),
                                          out.template data<Y>(), lse.back().data(), whole,
                                          dropout});
            attention_backward_fast(AttentionBackwardOn<Y>{
                kB, kLong, kC, kH, qkv.template data<Y>(), given.template data<Y>(),
                lse.back().data(), dout.template data<Y>(), dqkv.template data<Y>(), whole,
                dropout});
          },
          {{"out", &out}, {"dqkv", &dqkv}});
      expect_same_bits(lse[1], lse[0], "lse");
    }
  });
}

TYPED_TEST(Rounding, OfBiasGradients) {
  using X = TypeParam;
  for_each_target([&] {
    Both<X> dy(kB * kT * kC, 1);
    std::vector<Values> sums;
    const auto run = [&]<class Y>() {
      sums.emplace_back(kC, 0.5f);
      bias_backward_fast(BiasBackwardOn<Y>{kB, kT, kC, dy.template data<Y>(), sums.back().data()});
    };
    run.template operator()<float>();
    run.template operator()<X>();
    expect_same_bits(sums[1], sums[0], "dbias");
  });
}

}  // namespace
}  // namespace snug::cpu::testing
