// Compiled with the checked kernels: `cuda` is their namespace here (see cmake/snug_cuda.cmake).
#include "device/counted_calls.h"

#include <cuda_runtime.h>

#include <cstdint>
#include <numeric>

#include "backend/cuda/kernels/kernels.h"
#include "base/error.h"
#include "config/gpt_sizes.h"

namespace snug::device {
namespace {

constexpr DType kType = DType::kBF16;
constexpr std::int64_t kSequence = 1024, kWidth = 768, kHead = 64,
                       kVocabulary = config::kPaddedGpt2Vocabulary;
constexpr std::int64_t kRows = 96;  // of activations: a norm's blocks have four rows

void require(cudaError_t error) {
  if (error != cudaSuccess) {
    throw InternalError(std::string("counting: ") + cudaGetErrorString(error));
  }
}

// Zeros on the card.
class Zeros {
 public:
  Zeros(DType dtype, std::int64_t count)
      : bytes_(static_cast<std::size_t>(count * size_of(dtype))) {
    require(cudaMalloc(&data_, bytes_));
    require(cudaMemset(data_, 0, bytes_));
  }
  ~Zeros() { cudaFree(data_); }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;

  void* data() const { return data_; }
  float* f32() const { return static_cast<float*>(data_); }
  double* f64() const { return static_cast<double*>(data_); }
  std::int32_t* i32() const { return static_cast<std::int32_t*>(data_); }
  void put(const std::vector<std::int32_t>& values) const {
    require(cudaMemcpy(data_, values.data(), bytes_, cudaMemcpyHostToDevice));
  }

 private:
  std::size_t bytes_;
  void* data_ = nullptr;
};

struct Activations : Zeros {
  Activations() : Zeros(kType, kRows * kWidth) {}
};
struct Floats : Zeros {
  explicit Floats(std::int64_t count) : Zeros(DType::kF32, count) {}
};

// Tokens far apart, each twice.
std::vector<std::int32_t> tokens_of(std::int64_t count) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<std::int32_t>(i / 2 * 37 % 4096);
  }
  return tokens;
}

void embed() {
  const Zeros tokens(DType::kI32, kRows), wte(kType, 4096 * kWidth), wpe(kType, kRows * kWidth);
  const Activations out;
  tokens.put(tokens_of(kRows));
  cuda::embed({.dtype = kType,
               .B = 1,
               .T = kRows,
               .C = kWidth,
               .tokens = tokens.i32(),
               .wte = wte.data(),
               .wpe = wpe.data(),
               .out = out.data(),
               .first_position = 0,
               .dropout = {}},
              nullptr);
}

void embed_backward() {
  constexpr std::int64_t V = 4096;
  const Zeros tokens(DType::kI32, kRows), slot(DType::kI32, V), row_token(DType::kI32, V),
      row_count(DType::kI32, 1), scratch(DType::kI32, cuda::embed_backward_ints(kRows));
  const Activations dx;
  const Floats dwpe(kRows * kWidth), rows(kRows * kWidth);
  tokens.put(tokens_of(kRows));
  slot.put(std::vector<std::int32_t>(V, -1));
  cuda::embed_backward({.dtype = kType,
                        .B = 1,
                        .T = kRows,
                        .C = kWidth,
                        .tokens = tokens.i32(),
                        .dx = dx.data(),
                        .dwpe = dwpe.f32(),
                        .rows = rows.f32(),
                        .capacity = kRows,
                        .slot = slot.i32(),
                        .row_token = row_token.i32(),
                        .row_count = row_count.i32(),
                        .scratch = scratch.i32(),
                        .dropout = {}},
                       nullptr);
}

void merge_rows() {
  const Zeros row_token(DType::kI32, kRows), row_count(DType::kI32, 1);
  const Floats rows(kRows * kWidth), dwte(kRows * kWidth);
  std::vector<std::int32_t> order(kRows);
  std::iota(order.begin(), order.end(), 0);
  row_token.put(order);
  row_count.put({static_cast<std::int32_t>(kRows)});
  cuda::merge_embed_rows({.capacity = kRows,
                          .C = kWidth,
                          .rows = rows.f32(),
                          .row_token = row_token.i32(),
                          .row_count = row_count.i32(),
                          .dwte = dwte.f32()},
                         nullptr);
}

struct NormOperands {
  Activations x, y, branch, sum;
  Floats gamma{kWidth}, beta{kWidth}, mean{kRows}, rstd{kRows};

  cuda::LayerNorm op() const {
    return {.dtype = kType,
            .B = 1,
            .T = kRows,
            .C = kWidth,
            .x = x.data(),
            .gamma = gamma.f32(),
            .beta = beta.f32(),
            .y = y.data(),
            .mean = mean.f32(),
            .rstd = rstd.f32(),
            .residual = nullptr,
            .branch = nullptr,
            .sum = nullptr,
            .dropout = {}};
  }
};

void norm() { cuda::layernorm(NormOperands().op(), nullptr); }
void norm_apply() { cuda::layernorm_apply(NormOperands().op(), nullptr); }
void norm_after_residual() {
  const NormOperands operands;
  cuda::LayerNorm op = operands.op();
  op.x = nullptr;
  op.residual = operands.x.data();
  op.branch = operands.branch.data();
  op.sum = operands.sum.data();
  cuda::layernorm(op, nullptr);
}

void norm_backward() {
  constexpr std::int64_t kMany = 4 * cuda::kReductionBlocks;  // blocks go from row to row
  const Zeros dy(kType, kMany * kWidth), x(kType, kMany * kWidth), dx(kType, kMany * kWidth);
  const Floats gamma(kWidth), mean(kMany), rstd(kMany), dgamma(kWidth), dbeta(kWidth),
      scratch(cuda::norm_backward_floats(kWidth));
  cuda::layernorm_backward({.dtype = kType,
                            .rows = kMany,
                            .C = kWidth,
                            .dy = dy.data(),
                            .x = x.data(),
                            .gamma = gamma.f32(),
                            .mean = mean.f32(),
                            .rstd = rstd.f32(),
                            .dx = dx.data(),
                            .dgamma = dgamma.f32(),
                            .dbeta = dbeta.f32(),
                            .scratch = scratch.f32()},
                           nullptr);
}

void bias_backward() {
  constexpr std::int64_t kMany = 1024;
  const Zeros dy(kType, kMany * kWidth);
  const Floats dbias(kWidth), scratch(cuda::bias_backward_floats(kWidth));
  cuda::bias_backward({.dtype = kType,
                       .rows = kMany,
                       .N = kWidth,
                       .dy = dy.data(),
                       .dbias = dbias.f32(),
                       .scratch = scratch.f32()},
                      nullptr);
}

void spread_bias() {
  const Activations y;
  const Floats bias(kWidth);
  cuda::spread_bias({kType, kRows, kWidth, bias.f32(), y.data()}, nullptr);
}

void gelu() {
  const Activations x, y;
  cuda::gelu({kType, GeluForm::kErf, kRows * kWidth, x.data(), y.data()}, nullptr);
}
void gelu_backward() {
  const Activations x, dy;
  cuda::gelu_backward({kType, GeluForm::kErf, kRows * kWidth, x.data(), dy.data()}, nullptr);
}
void residual_add() {
  const Activations residual, branch, out;
  cuda::residual_add({.dtype = kType,
                      .B = 1,
                      .T = kRows,
                      .C = kWidth,
                      .residual = residual.data(),
                      .branch = branch.data(),
                      .out = out.data(),
                      .dropout = {}},
                     nullptr);
}
void dropout_backward() {
  const Activations dout, din;
  const cuda::Dropout dropout{.threshold = 0x33333333, .scale = 1.25f};
  cuda::dropout_backward({.dtype = kType,
                          .B = 1,
                          .T = kRows,
                          .C = kWidth,
                          .dout = dout.data(),
                          .din = din.data(),
                          .dropout = dropout},
                         nullptr);
}
void cast() {
  const Floats x(kRows * kWidth);
  const Activations y;
  cuda::cast(kType, x.f32(), y.data(), kRows * kWidth, nullptr);
}

void cross_entropy() {
  constexpr std::int64_t kFew = 3;
  const Zeros logits(kType, kFew * kVocabulary), targets(DType::kI32, kFew);
  const Floats losses(kFew);
  cuda::cross_entropy({.dtype = kType,
                       .rows = kFew,
                       .V = kVocabulary,
                       .targets = targets.i32(),
                       .logits = logits.data(),
                       .losses = losses.f32(),
                       .want_gradient = true,
                       .gradient_factor = 1},
                      nullptr);
}

void gradient_norm() {
  constexpr std::int64_t kCount = 4 * kWidth * kWidth / 8;
  const Floats gradients(kCount);
  const Zeros partial(DType::kF64, cuda::kGradientNormDoubles), norm(DType::kF64, 1);
  cuda::FloatArrays arrays;
  arrays.data[0] = gradients.f32();
  arrays.count[0] = kCount;
  arrays.size = 1;
  cuda::add_squares(arrays, partial.f64(), true, nullptr);
  cuda::finish_norm(partial.f64(), 1, norm.f64(), nullptr);
}

void adamw(DType moments) {
  constexpr std::int64_t kCount = 32 * kWidth;
  const Floats weights(kCount), gradients(kCount);
  const Zeros m(moments, kCount), v(moments, kCount), copy(kType, kCount), norm(DType::kF64, 1);
  cuda::AdamW op{};
  op.moments = moments;
  op.copy_dtype = kType;
  op.count = kCount;
  op.weights = weights.f32();
  op.gradients = gradients.f32();
  op.m = m.data();
  op.v = v.data();
  op.copy = copy.data();
  op.norm = norm.f64();
  op.gradient_scale = op.correction1 = op.correction2 = op.epsilon = 1;
  cuda::adamw(op, nullptr);
}

// One head; the others of a batch do the same beside it.
struct HeadOperands {
  Zeros qkv{kType, kSequence * 3 * kHead}, out{kType, kSequence*kHead},
      dout{kType, kSequence*kHead}, dqkv{kType, kSequence * 3 * kHead};
  Floats lse{kSequence}, scratch{cuda::attention_backward_floats(kSequence, 1)};
};
void attention() {
  const HeadOperands o;
  cuda::attention({.dtype = kType,
                   .tensor_cores = cuda::TensorCores::kAmpere,
                   .B = 1,
                   .T = kSequence,
                   .C = kHead,
                   .H = 1,
                   .qkv = o.qkv.data(),
                   .out = o.out.data(),
                   .lse = o.lse.f32(),
                   .dropout = {}},
                  nullptr);
}
void attention_backward() {
  const HeadOperands o;
  cuda::attention_backward({.dtype = kType,
                            .tensor_cores = cuda::TensorCores::kAmpere,
                            .B = 1,
                            .T = kSequence,
                            .C = kHead,
                            .H = 1,
                            .qkv = o.qkv.data(),
                            .out = o.out.data(),
                            .lse = o.lse.f32(),
                            .dout = o.dout.data(),
                            .dqkv = o.dqkv.data(),
                            .scratch = o.scratch.f32(),
                            .dropout = {}},
                           nullptr);
}

void kv_store() {
  const Zeros qkv(kType, kRows * 3 * kWidth);
  const Activations keys, values;
  cuda::kv_store({.dtype = kType,
                  .T = kRows,
                  .C = kWidth,
                  .qkv = qkv.data(),
                  .keys = keys.data(),
                  .values = values.data()},
                 nullptr);
}
void decode() {
  constexpr std::int64_t kHeads = kWidth / kHead, kPosition = 200;
  const Zeros qkv(kType, 3 * kWidth), keys(kType, kSequence * kWidth),
      values(kType, kSequence * kWidth), out(kType, kWidth);
  const Floats scratch(cuda::decode_floats(kHeads, kSequence));
  cuda::attention_decode({.dtype = kType,
                          .C = kWidth,
                          .H = kHeads,
                          .position = kPosition,
                          .window = kSequence,
                          .qkv = qkv.data(),
                          .keys = keys.data(),
                          .values = values.data(),
                          .out = out.data(),
                          .scratch = scratch.f32()},
                         nullptr);
}

}  // namespace

std::vector<CountedCall> counted_calls() {
  // One product of a causal head: half of T x T scores, D terms each. Forward makes two, backward
  // five at least: scores, their gradients, and those of q, k and v.
  constexpr double kProduct = static_cast<double>(kSequence * (kSequence + 1) / 2 * kHead);
  return {{"embedding", embed},
          {"embedding backward", embed_backward},
          {"merge of the embedding's rows", merge_rows},
          {"norm", norm},
          {"residual and norm", norm_after_residual},
          {"norm again", norm_apply},
          {"norm backward", norm_backward},
          {"bias backward", bias_backward},
          {"bias in every row", spread_bias},
          {"gelu", gelu},
          {"gelu backward", gelu_backward},
          {"residual", residual_add},
          {"dropout backward", dropout_backward},
          {"cast", cast},
          {"cross-entropy", cross_entropy},
          {"gradient norm", gradient_norm},
          {"adamw", [] { adamw(DType::kF32); }},
          {"adamw, 16-bit moments", [] { adamw(DType::kBF16); }},
          {"attention", attention, false, 2 * kProduct},
          {"attention backward", attention_backward, false, 5 * kProduct},
          {"cache of keys and values", kv_store},
          {"decode", decode, false}};
}

}  // namespace snug::device
