// Embedding: the shared check of kernels, the compact table of token rows, and the derivatives.
#include <limits>

#include "backend/cpu/kernels/fast_kernels.h"
#include "backend/cpu/kernels/kernel_testing.h"
#include "backend/cpu/kernels/reference/kernels.h"

namespace snug::cpu::testing {
namespace {

constexpr std::int64_t kVocabulary = 11, kFirstPosition = 2;

struct EmbeddingCase {
  BatchShape s;
  Dropout dropout;
  std::vector<std::int32_t> tokens;
  Values wte, wpe, dout, dwpe;

  EmbeddingCase(const BatchShape& shape, const Dropout& drop) : s(shape), dropout(drop) {
    std::mt19937 generator(1);
    std::uniform_int_distribution<std::int32_t> any(0, kVocabulary - 1);
    for (std::int64_t i = 0; i < s.B * s.T; ++i) tokens.push_back(any(generator));
    wte = normal_values(kVocabulary * s.C, 2);
    wpe = normal_values((kFirstPosition + s.T) * s.C, 3);
    dout = normal_values(s.B * s.T * s.C, 4);
    dwpe = normal_values(s.T * s.C, 5);
  }
};

Values run_forward(const EmbeddingCase& c, const Way& way,
                   std::int64_t first_position = kFirstPosition) {
  const auto& [B, T, C] = c.s;
  const Array wte(c.wte, way.offset), wpe(c.wpe, way.offset);
  const Array out(Values(c.dout.size()), way.offset);
  for_each_call(way, B, [&](std::int64_t first, std::int64_t count) {
    const Embed op{count,
                   T,
                   C,
                   c.tokens.data() + first * T,
                   wte.data(),
                   wpe.data(),
                   out.data() + first * T * C,
                   first_position,
                   from_sequence(c.dropout, first)};
    way.fast ? embed_fast(op) : reference::embed(op);
  });
  return out.values();
}

struct Backward {
  Values dout, dwpe, rows;
  std::vector<std::int32_t> slot, row_token;
  std::int32_t row_count = 0;
};

Backward run_backward(const EmbeddingCase& c, const Way& way) {
  const auto& [B, T, C] = c.s;
  Backward result;
  result.slot.assign(kVocabulary, -1);
  result.row_token.assign(kVocabulary, -1);
  const Array dout(c.dout, way.offset), dwpe(c.dwpe, way.offset);
  const Array rows(Values(static_cast<std::size_t>(kVocabulary * C)), way.offset);
  for_each_call(way, B, [&](std::int64_t first, std::int64_t count) {
    const EmbedBackward op{count,
                           T,
                           C,
                           c.tokens.data() + first * T,
                           dout.data() + first * T * C,
                           dwpe.data(),
                           rows.data(),
                           result.slot.data(),
                           result.row_token.data(),
                           &result.row_count,
                           from_sequence(c.dropout, first)};
    way.fast ? embed_backward_fast(op) : reference::embed_backward(op);
  });
  result.dout = dout.values();
  result.dwpe = dwpe.values();
  result.rows = rows.values();
  return result;
}

// One rounding of the sum and one of the product with the multiplier; the reference has its own.
TEST(Embed, FastMatchesReferenceAndKeepsItsBits) {
  for (const BatchShape& s : kShapes) {
    for (const Dropout& dropout : {Dropout{}, quarter_dropout()}) {
      const EmbeddingCase c(s, dropout);
      std::vector<double> bounds;
      for (const float value : run_forward(c, {false, s.B, 0})) {
        bounds.push_back(3 * kRound * std::abs(value));
      }
      check_kernel(
          s.B, [&](const Way& way) { return run_forward(c, way); }, bounds);
    }
  }
}

// Both tables add the same floats in the same order: there is no tolerance.
TEST(EmbedBackward, FastEqualsReference) {
  for (const BatchShape& s : kShapes) {
    for (const Dropout& dropout : {Dropout{}, quarter_dropout()}) {
      const EmbeddingCase c(s, dropout);
      const Backward reference = run_backward(c, {false, s.B, 0});
      const auto outputs = [&](const Way& way) {
        const Backward b = run_backward(c, way);
        EXPECT_EQ(b.slot, reference.slot);
        EXPECT_EQ(b.row_token, reference.row_token);
        EXPECT_EQ(b.row_count, reference.row_count);
        return joined({b.dout, b.dwpe, b.rows});
      };
      const std::size_t count = c.dout.size() + c.dwpe.size() + c.wte.size();
      check_kernel(s.B, outputs, std::vector<double>(count, 0.0));
    }
  }
}

TEST(EmbedBackward, TokensGetSlotsInOrderOfFirstAppearance) {
  EmbeddingCase c({2, 3, 4}, Dropout{});
  c.tokens = {7, 2, 7, 0, 2, 9};
  for (const bool fast : {false, true}) {
    const Backward b = run_backward(c, {fast, 2, 0});
    EXPECT_EQ(b.row_count, 4);
    EXPECT_EQ(b.slot, (std::vector<std::int32_t>{2, -1, 1, -1, -1, -1, -1, 0, -1, 3, -1}));
    EXPECT_EQ(std::vector<std::int32_t>(b.row_token.begin(), b.row_token.begin() + 4),
              (std::vector<std::int32_t>{7, 2, 0, 9}));
  }
}

TEST(Embed, NanComesThrough) {
  EmbeddingCase c({1, 2, 21}, quarter_dropout());
  c.tokens = {3, 4};
  for (std::size_t i = 3 * 21; i < 4 * 21; ++i) {
    c.wte[i] = std::numeric_limits<float>::quiet_NaN();
  }
  for_each_target([&] {
    const Values out = run_forward(c, {true, 1, 0});
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(std::isnan(out[i]), i < 21) << i;
  });
}

TEST(Embed, GradientsAreTheDerivatives) {
  EmbeddingCase c({2, 3, 5}, quarter_dropout());
  std::fill(c.dwpe.begin(), c.dwpe.end(), 0.0f);
  const Way plain{false, 2, 0};
  const Backward b = run_backward(c, plain);
  const auto loss = [&] { return weighted_sum(run_forward(c, plain, 0), c.dout); };
  for (std::size_t i = 0; i < c.dwpe.size(); ++i) {
    EXPECT_NEAR(b.dwpe[i], numeric_derivative(loss, c.wpe[i]), kDerivativeTolerance) << i;
  }
  for (std::size_t i = 0; i < c.wte.size(); ++i) {
    const std::int32_t slot = b.slot[i / 5];
    const float gradient = slot < 0 ? 0.0f : b.rows[static_cast<std::size_t>(slot) * 5 + i % 5];
    EXPECT_NEAR(gradient, numeric_derivative(loss, c.wte[i]), kDerivativeTolerance) << i;
  }
}

}  // namespace
}  // namespace snug::cpu::testing
