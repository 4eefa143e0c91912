#include "checked/workouts.h"

#include "backend/cuda/kernels/kernel_testing.h"

namespace snug::cuda {
namespace {

void run_cross_entropy(DType dtype, std::int64_t V) {
  const CardArray logits(dtype, random_floats(2 * V, dtype, 1)), targets(Ints{3, 7}),
      losses(DType::kF32, 2);
  cross_entropy({dtype, 2, V, targets.i32(), logits.data(), losses.f32(), true, 1}, nullptr);
}

void run_gradient_norm() {
  const CardArray values(DType::kF32, random_floats(70001, DType::kF32, 1)),
      partial(DType::kF64, kReductionBlocks), norm(DType::kF64, 1);
  FloatArrays arrays;
  arrays.data[0] = values.f32();
  arrays.count[0] = 70001;
  arrays.size = 1;
  add_squares(arrays, partial.f64(), true, nullptr);
  finish_norm(partial.f64(), 1, norm.f64(), nullptr);
}

void run_adamw() {
  constexpr std::int64_t kCount = 1500;
  const CardArray weights(DType::kF32, random_floats(kCount, DType::kF32, 1)),
      gradients(DType::kF32, random_floats(kCount, DType::kF32, 2)), m(DType::kF32, Floats(kCount)),
      v(DType::kF32, Floats(kCount)), squares(DType::kF64, kReductionBlocks), norm(DType::kF64, 1);
  FloatArrays arrays;
  arrays.data[0] = gradients.f32();
  arrays.count[0] = kCount;
  arrays.size = 1;
  add_squares(arrays, squares.f64(), true, nullptr);
  finish_norm(squares.f64(), 1, norm.f64(), nullptr);
  AdamW op = {};
  op.moments = DType::kF32;
  op.copy_dtype = DType::kBF16;
  op.count = kCount;
  op.weights = weights.f32();
  op.gradients = gradients.f32();
  op.m = m.data();
  op.v = v.data();
  op.norm = norm.f64();
  op.gradient_scale = op.gradient_clip = op.correction1 = op.correction2 = 1;
  adamw(op, nullptr);
}

// More rows than blocks, so that a block goes from row to row; three warps.
void run_norm_backward() {
  constexpr DType kType = DType::kBF16;
  constexpr std::int64_t kRows = 2 * kReductionBlocks + 9, C = 520;
  const CardArray dy(kType, random_floats(kRows * C, kType, 1)),
      x(kType, random_floats(kRows * C, kType, 2)), dx(kType, random_floats(kRows * C, kType, 3)),
      gamma(DType::kF32, random_floats(C, DType::kF32, 4)),
      mean(DType::kF32, random_floats(kRows, DType::kF32, 5)),
      rstd(DType::kF32, random_floats(kRows, DType::kF32, 6)), dgamma(DType::kF32, Floats(C)),
      dbeta(DType::kF32, Floats(C)), scratch(DType::kF32, std::size_t{kReductionBlocks} * 2 * C);
  layernorm_backward({kType, kRows, C, dy.data(), x.data(), gamma.f32(), mean.f32(), rstd.f32(),
                      dx.data(), dgamma.f32(), dbeta.f32(), scratch.f32()},
                     nullptr);
}

void run_bias_backward() {
  constexpr std::int64_t kRows = 100, N = 72;
  const CardArray dy(DType::kBF16, random_floats(kRows * N, DType::kBF16, 1)),
      dbias(DType::kF32, Floats(N)), scratch(DType::kF32, std::size_t{kReductionBlocks} * N);
  bias_backward({DType::kBF16, kRows, N, dy.data(), dbias.f32(), scratch.f32()}, nullptr);
}

// More positions than the sorting block has threads, more slots than a digit.
void run_embed_backward() {
  constexpr std::int64_t B = 3, T = 200, C = 8, kCapacity = 40, V = 40;
  const CardArray tokens(random_tokens(B * T, V, 1)),
      dx(DType::kBF16, random_floats(B * T * C, DType::kBF16, 2)), dwpe(DType::kF32, Floats(T * C)),
      rows(DType::kF32, Floats(kCapacity * C)), slot(Ints(V, -1)), row_token(Ints(kCapacity, 0)),
      row_count(Ints{0}), scratch(DType::kI32, std::size_t{3 * B * T});
  embed_backward({DType::kBF16, B, T, C, tokens.i32(), dx.data(), dwpe.f32(), rows.f32(), kCapacity,
                  slot.i32(), row_token.i32(), row_count.i32(), scratch.i32(), Dropout()},
                 nullptr);
}

struct Heads {
  DType dtype;
  TensorCores cores;
  std::int64_t D;
  static constexpr std::int64_t T = 200, H = 1;  // four tiles of queries, the last not full
};

void run_attention(const Heads& h) {
  const CardArray qkv(h.dtype, random_floats(h.T * 3 * h.D, h.dtype, 1)),
      out(h.dtype, static_cast<std::size_t>(h.T * h.D)),
      lse(DType::kF32, static_cast<std::size_t>(h.T));
  attention({h.dtype, h.cores, 1, h.T, h.D, 1, qkv.data(), out.data(), lse.f32(), Dropout()},
            nullptr);
}

void run_attention_backward(const Heads& h) {
  const CardArray qkv(h.dtype, random_floats(h.T * 3 * h.D, h.dtype, 1)),
      out(h.dtype, random_floats(h.T * h.D, h.dtype, 2)),
      dout(h.dtype, random_floats(h.T * h.D, h.dtype, 3)),
      lse(DType::kF32, random_floats(h.T, DType::kF32, 4)),
      dqkv(h.dtype, static_cast<std::size_t>(h.T * 3 * h.D)),
      scratch(DType::kF32, static_cast<std::size_t>(h.T));
  attention_backward({h.dtype, h.cores, 1, h.T, h.D, 1, qkv.data(), out.data(), lse.f32(),
                      dout.data(), dqkv.data(), scratch.f32(), Dropout()},
                     nullptr);
}

void run_decode() {
  constexpr std::int64_t C = 40, kWindow = 300;
  const CardArray qkv(DType::kBF16, random_floats(3 * C, DType::kBF16, 1)),
      keys(DType::kBF16, random_floats(kWindow * C, DType::kBF16, 2)),
      values(DType::kBF16, random_floats(kWindow * C, DType::kBF16, 3)),
      out(DType::kBF16, std::size_t{C}), scratch(DType::kF32, std::size_t{kWindow});
  attention_decode({DType::kBF16, C, 1, 200, kWindow, qkv.data(), keys.data(), values.data(),
                    out.data(), scratch.f32()},
                   nullptr);
}

}  // namespace

std::vector<Workout> workouts() {
  std::vector<Workout> all = {
      {"cross-entropy, one pack", [] { run_cross_entropy(DType::kBF16, 1024); }},
      {"cross-entropy, seven packs", [] { run_cross_entropy(DType::kBF16, 9000); }},
      {"cross-entropy, read twice", [] { run_cross_entropy(DType::kF32, 129); }},
      {"gradient norm", run_gradient_norm},
      {"AdamW", run_adamw},
      {"norm backward", run_norm_backward},
      {"bias backward", run_bias_backward},
      {"embedding backward", run_embed_backward},
      {"decode", run_decode}};
  const auto add = [&](const std::string& name, const Heads& h) {
    all.push_back({"attention " + name, [h] { run_attention(h); }});
    all.push_back({"attention backward " + name, [h] { run_attention_backward(h); }});
  };
  add("bfloat16", {DType::kBF16, TensorCores::kAmpere, 64});
  add("bfloat16, wide heads", {DType::kBF16, TensorCores::kAmpere, 128});
  add("Turing", {DType::kF16, TensorCores::kTuring, 32});
  add("float32", {DType::kF32, TensorCores::kAmpere, 64});
  return all;
}

}  // namespace snug::cuda
