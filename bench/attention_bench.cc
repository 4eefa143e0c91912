// Speed of attention's two passes, in causal flops: T (T + 1) / 2 pairs per head, 4 D flops each
// forward (two products) and 10 D backward (five).
#include <benchmark/benchmark.h>
#include <omp.h>

#include <cstdint>
#include <random>
#include <vector>

#include "backend/cpu/kernels/attention/attention.h"

namespace snug::cpu {
namespace {

std::vector<float> random_floats(std::int64_t count) {
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(generator);
  return values;
}

// Arguments: B, T, H, D, dropout in percent.
struct Buffers {
  explicit Buffers(const benchmark::State& state)
      : B(state.range(0)), T(state.range(1)), H(state.range(2)), D(state.range(3)), C(H * D) {
    const auto share = static_cast<double>(state.range(4)) / 100.0;
    dropout.threshold = static_cast<std::uint32_t>(share * 0x1p32);
    dropout.scale = static_cast<float>(1.0 / (1.0 - share));
    qkv = random_floats(B * T * 3 * C);
    dout = random_floats(B * T * C);
    out.resize(dout.size());
    dqkv.resize(qkv.size());
    lse.resize(static_cast<std::size_t>(B * H * T));
    const int threads = omp_get_max_threads();
    scratch.resize(static_cast<std::size_t>(cpu::attention_scratch_bytes(T, D, threads) / 4 + 1));
    back_scratch.resize(
        static_cast<std::size_t>(cpu::attention_backward_scratch_bytes(T, D, threads) / 4 + 1));
  }
  static cpu::Scratch whole(std::vector<float>& floats) {
    return {reinterpret_cast<std::byte*>(floats.data()),
            static_cast<std::int64_t>(floats.size() * sizeof(float))};
  }
  void forward() {
    cpu::attention_fast<float>(
        {B, T, C, H, qkv.data(), out.data(), lse.data(), whole(scratch), dropout});
  }
  void backward() {
    cpu::attention_backward_fast<float>({B, T, C, H, qkv.data(), out.data(), lse.data(),
                                         dout.data(), dqkv.data(), whole(back_scratch), dropout});
  }
  void report(benchmark::State& state, double flops_per_pair_and_channel) const {
    const double pairs = double(B * H) * double(T) * double(T + 1) / 2;
    state.counters["flops"] = benchmark::Counter(flops_per_pair_and_channel * pairs * double(D),
                                                 benchmark::Counter::kIsIterationInvariantRate);
  }

  std::int64_t B, T, H, D, C;
  cpu::Dropout dropout{};
  std::vector<float> qkv, out, lse, dout, dqkv, scratch, back_scratch;
};

void forward(benchmark::State& state) {
  Buffers buffers(state);
  for (auto _ : state) buffers.forward();
  buffers.report(state, 4);
}

void backward(benchmark::State& state) {
  Buffers buffers(state);
  buffers.forward();
  for (auto _ : state) buffers.backward();
  buffers.report(state, 10);
}

void shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"B", "T", "H", "D", "dropout"})->UseRealTime()->Unit(benchmark::kMicrosecond);
  for (const std::int64_t dropout : {0, 20}) {
    bench->Args({1, 1024, 12, 64, dropout});  // GPT-2
    bench->Args({4, 256, 6, 64, dropout});    // shakespeare_char
    bench->Args({12, 64, 4, 32, dropout});    // its CPU version
    bench->Args({1, 1024, 1, 64, dropout});   // fewer heads than threads
  }
}

BENCHMARK(forward)->Apply(shapes);
BENCHMARK(backward)->Apply(shapes);

}  // namespace
}  // namespace snug::cpu

BENCHMARK_MAIN();
