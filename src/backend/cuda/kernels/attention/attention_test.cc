// Attention forward, backward and decode against the CPU's reference in double.
#include "backend/cpu/kernels/reference/attention.h"
#include "backend/cuda/kernels/kernel_testing.h"

namespace snug::cuda {
namespace {

struct Case {
  DType dtype;
  TensorCores cores;
  std::int64_t B, T, H, D;
  bool drops;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  struct Kind {
    DType dtype;
    TensorCores cores;
  };
  for (const Kind& kind :
       {Kind{DType::kF32, TensorCores::kAmpere}, Kind{DType::kBF16, TensorCores::kAmpere},
        Kind{DType::kF16, TensorCores::kAmpere}, Kind{DType::kF16, TensorCores::kTuring}}) {
    for (const bool drops : {false, true}) {
      // Head sizes that fill a tile, leave part of it empty, and are not aligned; lengths below,
      // at and beyond a tile.
      all.push_back({kind.dtype, kind.cores, 1, 1, 1, 8, drops});
      all.push_back({kind.dtype, kind.cores, 2, 37, 3, 11, drops});
      all.push_back({kind.dtype, kind.cores, 1, 64, 2, 32, drops});
      all.push_back({kind.dtype, kind.cores, 1, 65, 1, 40, drops});
      all.push_back({kind.dtype, kind.cores, 1, 130, 2, 64, drops});
      all.push_back({kind.dtype, kind.cores, 1, 97, 1, 128, drops});
      all.push_back({kind.dtype, kind.cores, 1, 33, 1, 127, drops});
    }
  }
  return all;
}

struct Attended {
  Floats out, lse, dqkv;
};

Attended reference_of(const Case& c, const Floats& qkv, const Floats& dout,
                      const Dropout& dropout) {
  const std::int64_t C = c.H * c.D;
  Attended a{Floats(dout.size()), Floats(static_cast<std::size_t>(c.B * c.H * c.T)),
             Floats(qkv.size())};
  const auto draws = as_cpu<cpu::Dropout>(dropout);
  cpu::reference::attention<float>(
      {c.B, c.T, C, c.H, qkv.data(), a.out.data(), a.lse.data(), {}, draws});
  cpu::reference::attention_backward<float>({c.B,
                                             c.T,
                                             C,
                                             c.H,
                                             qkv.data(),
                                             a.out.data(),
                                             a.lse.data(),
                                             dout.data(),
                                             a.dqkv.data(),
                                             {},
                                             draws});
  return a;
}

// Probabilities are rounded to the precision before they are multiplied, and results once more.
// out: a mean of values of order 1, each off by one rounding, and its own.
// Gradients: products of rounded numbers, sums of up to T of them; dp - delta cancels.
struct Bounds {
  double relative, out, gradient;
};
Bounds bounds_of(const Case& c) {
  const double eps = rounding_of(c.dtype), scale = c.drops ? 1.25 : 1;
  const double of_sums = 0x1p-24 * static_cast<double>(c.T + c.D);
  return {2 * eps + 1e-6, scale * (8 * eps + of_sums),
          scale * scale * (8 * eps + of_sums) * (4 + 2 * std::sqrt(static_cast<double>(c.D)))};
}

void check(const Case& c) {
  SCOPED_TRACE(::testing::Message()
               << name_of(c.dtype) << (c.cores == TensorCores::kTuring ? " (8)" : "")
               << " T=" << c.T << " H=" << c.H << " D=" << c.D << (c.drops ? " with dropout" : ""));
  const std::int64_t C = c.H * c.D, rows = c.B * c.T;
  const Floats qkv = random_floats(rows * 3 * C, c.dtype, 1),
               dout = random_floats(rows * C, c.dtype, 2);
  const Dropout dropout = c.drops ? some_dropout() : Dropout();
  const Attended expected = reference_of(c, qkv, dout, dropout);
  const CardArray card_qkv(c.dtype, qkv), card_dout(c.dtype, dout), out(c.dtype, dout.size()),
      lse(DType::kF32, expected.lse.size()), dqkv(c.dtype, qkv.size()),
      scratch(DType::kF32, expected.lse.size());
  attention({c.dtype, c.cores, c.B, c.T, C, c.H, card_qkv.data(), out.data(), lse.f32(), dropout},
            nullptr);
  const Bounds bounds = bounds_of(c);
  expect_near(out.floats(), expected.out, bounds.relative, bounds.out, "out");
  expect_near(lse.floats(), expected.lse, 1e-6, 4e-6, "lse");
  attention_backward({c.dtype, c.cores, c.B, c.T, C, c.H, card_qkv.data(), out.data(), lse.f32(),
                      card_dout.data(), dqkv.data(), scratch.f32(), dropout},
                     nullptr);
  expect_near(dqkv.floats(), expected.dqkv, bounds.relative, bounds.gradient, "dqkv");
}

TEST(CudaAttention, IsTheReferences) {
  for (const Case& c : cases()) check(c);
}

// Scores far apart: the running maximum has to be subtracted, or exp overflows.
TEST(CudaAttention, HoldsLargeScores) {
  for (const DType dtype : kPrecisions) {
    const Case c{dtype, TensorCores::kAmpere, 1, 70, 1, 32, false};
    const Floats qkv = random_floats(c.T * 3 * 32, dtype, 3, 30),
                 dout = random_floats(c.T * 32, dtype, 4);
    const Attended expected = reference_of(c, qkv, dout, {});
    const CardArray card_qkv(dtype, qkv), out(dtype, dout.size());
    attention({dtype, c.cores, 1, c.T, 32, 1, card_qkv.data(), out.data(), nullptr, {}}, nullptr);
    expect_near(out.floats(), expected.out, 4 * rounding_of(dtype) + 1e-4,
                30 * (8 * rounding_of(dtype) + 1e-4), "out");
  }
}

// Every position with the cache before it is the row that the whole sequence has there.
TEST(CudaAttention, DecodeIsTheLastRow) {
  for (const DType dtype : kPrecisions) {
    constexpr std::int64_t T = 19, H = 3, D = 11, C = H * D, kWindow = 21;
    const Floats qkv = random_floats(T * 3 * C, dtype, 5);
    const Case c{dtype, TensorCores::kAmpere, 1, T, H, D, false};
    const Attended expected = reference_of(c, qkv, Floats(static_cast<std::size_t>(T * C)), {});
    const CardArray card_qkv(dtype, qkv),
        keys(dtype, Floats(static_cast<std::size_t>(kWindow * C))),
        values(dtype, Floats(static_cast<std::size_t>(kWindow * C))),
        out(dtype, static_cast<std::size_t>(C)),
        scratch(DType::kF32, static_cast<std::size_t>(H * kWindow));
    // The first ten by the store of a window, the others one by one.
    kv_store({dtype, 10, C, card_qkv.data(), keys.data(), values.data()}, nullptr);
    for (std::int64_t t = 10; t < T; ++t) {
      const std::byte* row =
          static_cast<const std::byte*>(card_qkv.data()) + t * 3 * C * size_of(dtype);
      attention_decode(
          {dtype, C, H, t, kWindow, row, keys.data(), values.data(), out.data(), scratch.f32()},
          nullptr);
      const Floats wanted(expected.out.begin() + t * C, expected.out.begin() + (t + 1) * C);
      expect_near(out.floats(), wanted, rounding_of(dtype) + 1e-6, 4e-6, "decoded");
    }
  }
}

}  // namespace
}  // namespace snug::cuda
