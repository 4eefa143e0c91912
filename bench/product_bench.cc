// Speed and accuracy of the products of a linear op over `rows` tokens in one call on all threads:
// on AMX in split floats, by oneDNN, and of bfloat16 operands (widened, or by a unit that
// multiplies them). With OMP_NUM_THREADS=1 the CPU column holds on a busy machine too. `error` is
// the largest one of some hundred elements of y against double, relative to the sum of the sizes of
// their terms, with normal numbers and with their absolute values, whose sums grow with every term.
#include <benchmark/benchmark.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "backend/cpu/gemm.h"
#include "backend/cpu/split/amx.h"
#include "backend/cpu/split/split_product.h"
#include "backend/cpu/widened/tile_product.h"
#include "backend/cpu/widened/widened_product.h"

namespace snug::cpu {
namespace {

std::vector<float> random_floats(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(generator);
  return values;
}

enum class Kind { kForward, kInputGradient, kWeightGradient };

// Arguments: rows, in, out.
cpu::GemmShape shape_of(const benchmark::State& state, Kind kind) {
  const std::int64_t rows = state.range(0), in = state.range(1), out = state.range(2);
  switch (kind) {
    case Kind::kForward:
      return {.m = rows, .n = out, .k = in, .transpose_b = true};
    case Kind::kInputGradient:
      return {.m = rows, .n = in, .k = out};
    case Kind::kWeightGradient:
      break;
  }
  return {.m = out, .n = in, .k = rows, .transpose_a = true, .accumulate = true};
}

struct Operands {
  explicit Operands(const cpu::GemmShape& s)
      : a(random_floats(s.m * s.k, 1)),
        b(random_floats(s.k * s.n, 2)),
        c(random_floats(s.m * s.n, 3)) {}

  void make_positive() {
    for (float& value : a) value = std::abs(value);
    for (float& value : b) value = std::abs(value);
  }

  // Of y = x * weight^T, in which both have their terms side by side.
  double error(const cpu::GemmShape& s) const {
    double largest = 0;
    for (std::int64_t i = 0; i < 512; ++i) {
      const std::int64_t row = i * 7 % s.m, column = i * 13 % s.n;
      const float *x = a.data() + row * s.k, *w = b.data() + column * s.k;
      double sum = 0, size = 0;
      for (std::int64_t k = 0; k < s.k; ++k) {
        const double term = static_cast<double>(x[k]) * w[k];
        sum += term;
        size += std::abs(term);
      }
      const double y = c[static_cast<std::size_t>(row * s.n + column)];
      largest = std::max(largest, std::abs(y - sum) / size);
    }
    return largest;
  }

  std::vector<float> a, b, c;
};

std::byte* aligned(std::vector<std::byte>& bytes) {
  void* at = bytes.data();
  std::size_t room = bytes.size();
  return static_cast<std::byte*>(std::align(64, bytes.size() - 64, at, room));
}

// run(x): the product of x.a and x.b into x.c; false when it fails.
template <class Run>
void measure(benchmark::State& state, const cpu::GemmShape& s, Kind kind, Run run) {
  Operands x(s);
  for (auto _ : state) {
    if (!run(x)) state.SkipWithError("failed");
  }
  state.counters["flops"] = benchmark::Counter(2.0 * static_cast<double>(s.m * s.n * s.k),
                                               benchmark::Counter::kIsIterationInvariantRate);
  if (kind != Kind::kForward) return;
  state.counters["error"] = x.error(s);
  x.make_positive();
  if (run(x)) state.counters["positive_error"] = x.error(s);
}

void split(benchmark::State& state, Kind kind) {
  if (!cpu::amx_usable()) {
    state.SkipWithError("no AMX, or it may not be used");
    return;
  }
  const cpu::GemmShape s = shape_of(state, kind);
  cpu::SplitProduct p = cpu::split_product(s);
  std::vector<std::byte> scratch(
      static_cast<std::size_t>(cpu::split_scratch_bytes(p, omp_get_max_threads())) + 64);
  measure(state, s, kind, [&](Operands& x) {
    p.a.data = x.a.data(), p.b.data = x.b.data(), p.c = x.c.data();
    return cpu::run_split_product(
        p, {aligned(scratch), static_cast<std::int64_t>(scratch.size()) - 64});
  });
}

void onednn(benchmark::State& state, Kind kind) {
  const cpu::GemmShape s = shape_of(state, kind);
  cpu::Gemm gemm(s);
  gemm.prepare();
  std::vector<std::byte> scratch(static_cast<std::size_t>(gemm.scratch_bytes()) + 64);
  measure(state, s, kind, [&](Operands& x) {
    return gemm.run({x.a.data(), x.b.data(), nullptr, x.c.data(), aligned(scratch)});
  });
}

// Of float or Bf16 operands; weight gradients and floats are written as float.
template <class X>
void widened(benchmark::State& state, Kind kind) {
  const cpu::GemmShape s = shape_of(state, kind);
  const Operands values(s);
  std::vector<X> a, b;
  for (const float v : values.a) a.push_back(nearest<X>(v));
  for (const float v : values.b) b.push_back(nearest<X>(v));
  std::vector<float> c = values.c;
  std::vector<X> y(c.size());
  auto p = cpu::widened_product<X>(s);
  p.a.data = a.data(), p.b.data = b.data();
  const bool is_float = kind == Kind::kWeightGradient || std::is_same_v<X, float>;
  if (is_float) {
    p.c = c.data();
  } else {
    p.y = y.data();
  }
  std::optional<cpu::TileUnit> unit;
  if (std::is_same_v<X, Bf16>) unit = cpu::tile_unit();
  const int threads = omp_get_max_threads();
  std::int64_t bytes = cpu::widened_scratch_bytes(s.m, s.n, threads);
  if constexpr (std::is_same_v<X, Bf16>) {
    if (unit) bytes = cpu::tile_scratch_bytes(p, threads, *unit);
  }
  std::vector<std::byte> scratch(static_cast<std::size_t>(bytes) + 64);
  const cpu::Scratch place{aligned(scratch), bytes};
  for (auto _ : state) {
    if constexpr (std::is_same_v<X, Bf16>) {
      if (unit) {
        cpu::run_tile_product(p, place, *unit);
        continue;
      }
    }
    cpu::run_widened_product(p, place);
  }
  state.counters["flops"] = benchmark::Counter(2.0 * static_cast<double>(s.m * s.n * s.k),
                                               benchmark::Counter::kIsIterationInvariantRate);
}

void widened_floats(benchmark::State& state, Kind kind) { widened<float>(state, kind); }
void bfloat16(benchmark::State& state, Kind kind) { widened<Bf16>(state, kind); }

void shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"rows", "in", "out"})->UseRealTime()->Unit(benchmark::kMicrosecond);
  bench->Args({64, 128, 512})
      ->Args({768, 128, 512})
      ->Args({768, 512, 128});                              // nanoGPT's CPU example
  bench->Args({4096, 384, 1536})->Args({4096, 1536, 384});  // shakespeare_char
  bench->Args({2048, 768, 3072})->Args({2048, 3072, 768});  // GPT-2
}

BENCHMARK_CAPTURE(split, y, Kind::kForward)->Apply(shapes);
BENCHMARK_CAPTURE(onednn, y, Kind::kForward)->Apply(shapes);
BENCHMARK_CAPTURE(widened_floats, y, Kind::kForward)->Apply(shapes);
BENCHMARK_CAPTURE(bfloat16, y, Kind::kForward)->Apply(shapes);
BENCHMARK_CAPTURE(split, dx, Kind::kInputGradient)->Apply(shapes);
BENCHMARK_CAPTURE(onednn, dx, Kind::kInputGradient)->Apply(shapes);
BENCHMARK_CAPTURE(widened_floats, dx, Kind::kInputGradient)->Apply(shapes);
BENCHMARK_CAPTURE(bfloat16, dx, Kind::kInputGradient)->Apply(shapes);
BENCHMARK_CAPTURE(split, dw, Kind::kWeightGradient)->Apply(shapes);
BENCHMARK_CAPTURE(onednn, dw, Kind::kWeightGradient)->Apply(shapes);
BENCHMARK_CAPTURE(widened_floats, dw, Kind::kWeightGradient)->Apply(shapes);
BENCHMARK_CAPTURE(bfloat16, dw, Kind::kWeightGradient)->Apply(shapes);

}  // namespace
}  // namespace snug::cpu

BENCHMARK_MAIN();
