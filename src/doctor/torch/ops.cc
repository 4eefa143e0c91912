#include "doctor/torch/ops.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/integers.h"

namespace snug::doctor::torch {
namespace {

// cuBLASLt's, used when the bias is added in the epilogue: 1 MiB by default below sm_90.
constexpr std::int64_t kLtWorkspaceBytes = 1 * kMiB;

// The scratch of PyTorch's reductions over the outer dimension (ATen/native/cuda/Reduce.cuh).
struct TorchReduction {
  std::int64_t buffer_bytes = 0;  // partial sums between thread blocks; 0: none needed
  std::int64_t semaphore_bytes = 0;
};

constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kMaxThreads = 512;
constexpr std::int64_t kThreadsPerMultiprocessor = 1536;  // sm_86, sm_89
constexpr std::int64_t kMinValuesPerThread = 16;
constexpr std::int64_t kMaxValuesPerThread = 256;

std::int64_t last_power_of_two(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n)));
}

// A sum of `rows` rows into one of `columns` values, accumulated in fp32: setReduceConfig's
// steps for a reduction that is not along the fastest dimension.
TorchReduction torch_column_sum(std::int64_t rows, std::int64_t columns,
                                std::int64_t multiprocessors) {
  const std::int64_t vector = columns % 4 == 0 ? 4 : (columns % 2 == 0 ? 2 : 1);
  const std::int64_t threads = kMaxThreads / vector;
  const std::int64_t across = std::min(last_power_of_two(columns / vector), threads);
  const std::int64_t down = std::min(last_power_of_two(rows), threads);
  const std::int64_t height = std::min(down, threads / std::min(across, kWarp));
  const std::int64_t width = std::min(across, threads / height);
  if (rows < std::min(16 * height, kMaxValuesPerThread)) return {};  // a warp takes whole columns
  const std::int64_t per_thread = ceil_div(rows, height);
  const std::int64_t grid = ceil_div(columns / vector, width);
  const std::int64_t target = multiprocessors * (kThreadsPerMultiprocessor / (width * height));
  if (per_thread < kMaxValuesPerThread || grid > target) return {};
  const std::int64_t blocks =
      std::max(std::min(ceil_div(target, grid), ceil_div(per_thread, kMinValuesPerThread)),
               ceil_div(per_thread, kMaxValuesPerThread));
  if (blocks <= 1) return {};
  const std::int64_t values = checked_mul(checked_mul(columns, blocks), width * vector);
  return {checked_mul(values, 4), 4 * grid};
}

}  // namespace

TorchOps::TorchOps(const TorchRun& run, TorchTape& tape, TorchParameters& parameters)
    : run_(run), tape_(tape), parameters_(parameters) {}

TorchRef TorchOps::activation(std::string_view what, std::string_view op, std::int64_t width,
                              TorchDType dtype) {
  return tape_.allocate({what, op, TorchRole::kActivation}, {pass_.batch, pass_.block, width},
                        dtype);
}

TorchRef TorchOps::temporary(std::string_view what, std::string_view op, const Shape& shape,
                             TorchDType dtype) {
  return tape_.allocate({what, op, TorchRole::kTemporary}, shape, dtype);
}

void TorchOps::matmul_workspace() {
  const TorchLabel label{"cuBLAS workspace", "cublas_workspace", TorchRole::kWorkspace};
  const Shape shape{run_.cublas_workspace_bytes};
  if (run_.version == TorchVersion::kCurrent) {
    tape_.allocate(label, shape, TorchDType::kU8);
    return;
  }
  const bool backward = tape_.sections().back().phase == TorchPhase::kBackward;
  TorchRef& held = backward ? backward_workspace_ : forward_workspace_;
  if (!held) held = tape_.allocate(label, shape, TorchDType::kU8);
}

void TorchOps::matmul_with_bias_workspace() {
  tape_.allocate({"cuBLASLt workspace", "cublas_workspace", TorchRole::kWorkspace},
                 {kLtWorkspaceBytes}, TorchDType::kU8);
}

void TorchOps::sum_scratch(std::int64_t rows, std::int64_t columns) {
  const TorchReduction scratch = torch_column_sum(rows, columns, run_.multiprocessors);
  if (scratch.buffer_bytes == 0) return;
  const TorchRef buffer = temporary("partial sums", "sum", {scratch.buffer_bytes}, TorchDType::kU8);
  temporary("semaphores of a sum", "sum", {scratch.semaphore_bytes}, TorchDType::kU8);
}

TorchRef TorchOps::to_compute(const TorchRef& tensor, std::string_view what, TorchRole role) {
  if (tensor->dtype == compute()) return tensor;
  return tape_.allocate({what, "_to_copy", role}, tensor->shape, compute());
}

TorchRef TorchOps::to_float(TorchRef half, std::string_view what, TorchRole role,
                            std::int32_t parameter) {
  if (half->dtype == TorchDType::kF32) return half;
  return tape_.allocate({what, "_to_copy", role, parameter}, half->shape, TorchDType::kF32);
}

TorchRef TorchOps::layer_norm(std::string_view what, const TorchRef& input,
                              TorchLayerNormSaved* saved) {
  constexpr std::string_view kOp = "native_layer_norm";
  TorchRef output = activation(what, kOp, run_.n_embd, TorchDType::kF32);
  TorchRef mean = activation("layer norm's mean", kOp, 1, TorchDType::kF32);
  TorchRef rstd = activation("layer norm's rstd", kOp, 1, TorchDType::kF32);
  if (saved != nullptr) *saved = {input, std::move(mean), std::move(rstd)};
  return output;
}

// Gradients of weight and bias. Above 65536 rows, blocks of 32 rows make partial sums first
// (layer_norm_kernel.cu).
std::vector<TorchRef> TorchOps::layer_norm_parameter_gradients(std::int32_t weight) {
  constexpr std::string_view kOp = "native_layer_norm_backward";
  constexpr std::int64_t kManyRows = 65536, kBlock = 32, kMaxBlocks = 32768;
  const std::int64_t rows = pass_.batch * pass_.block, columns = run_.n_embd;
  const std::int32_t count = run_.bias ? 2 : 1;
  const auto gradient = [&](std::int32_t i) {
    return tape_.allocate({"gradient", kOp, TorchRole::kGradient, weight + i}, {columns},
                          TorchDType::kF32);
  };
  std::vector<TorchRef> gradients, partial;
  for (std::int32_t i = 0; i < count; ++i) gradients.push_back(gradient(i));
  if (rows <= kManyRows || columns / kBlock >= run_.multiprocessors / 2) return gradients;
  const std::int64_t blocks =
      std::min(ceil_div(rows, kBlock), kMaxBlocks / ceil_div(columns, kBlock));
  for (std::int32_t i = 0; i < count; ++i) {
    partial.push_back(
        temporary("layer norm's partial sums", kOp, {blocks, columns}, TorchDType::kF32));
  }
  for (std::int32_t i = 0; i < count; ++i) {
    TorchRef summed = gradient(i);
    sum_scratch(blocks, columns);
    gradients[static_cast<std::size_t>(i)] = std::move(summed);
  }
  return gradients;
}

TorchRef TorchOps::layer_norm_backward(std::int32_t weight, TorchRef gradient,
                                       TorchLayerNormSaved saved) {
  TorchRef input_gradient =
      temporary("gradient of a layer norm's input", "native_layer_norm_backward",
                saved.input->shape, TorchDType::kF32);
  std::vector<TorchRef> gradients = layer_norm_parameter_gradients(weight);
  gradient.reset();
  saved = {};
  for (TorchRef& one : gradients) parameters_.accumulate(weight++, std::move(one));
  return input_gradient;
}

TorchRef TorchOps::linear(const TorchLinearLabels& labels, std::int32_t weight, bool has_bias,
                          const TorchRef& input, TorchLinearSaved* saved) {
  const TorchPartScope scope(tape_, labels.part);
  if (has_bias) parameters_.operand(weight + 1);
  TorchRef weight_operand = parameters_.operand(weight);
  TorchRef operand = to_compute(input, labels.input);
  TorchRef output =
      tape_.allocate({labels.output, has_bias ? "addmm" : "mm", labels.output_role},
                     {pass_.batch, pass_.block, parameters_.shape(weight)[0]}, compute());
  if (has_bias) {
    matmul_with_bias_workspace();
  } else {
    matmul_workspace();
  }
  if (saved != nullptr) {
    const bool casts = input->dtype != compute();
    *saved = {std::move(operand), std::move(weight_operand), casts};
  }
  return output;
}

void TorchOps::accumulate(std::int32_t parameter, TorchRef gradient, TorchRef* elsewhere) {
  TorchRef full = to_float(std::move(gradient), "gradient", TorchRole::kGradient, parameter);
  if (elsewhere != nullptr) {
    *elsewhere = std::move(full);
  } else {
    parameters_.accumulate(parameter, std::move(full));
  }
}

TorchRef TorchOps::weight_product(std::int32_t weight) {
  const TorchRole role = autocasts() ? TorchRole::kTemporary : TorchRole::kGradient;
  TorchRef result =
      tape_.allocate({"gradient", "mm", role, weight}, parameters_.shape(weight), compute());
  matmul_workspace();
  return result;
}

TorchRef TorchOps::bias_sum(std::int32_t bias) {
  const TorchRole role = autocasts() ? TorchRole::kTemporary : TorchRole::kGradient;
  const Shape& shape = parameters_.shape(bias);
  TorchRef result = tape_.allocate({"gradient", "sum", role, bias}, shape, compute());
  sum_scratch(pass_.batch * pass_.block, shape[0]);
  return result;
}

// MmBackward begins with the weight, AddmmBackward with the input. The casts run backwards through
// forward's: input, weight, bias.
TorchRef TorchOps::linear_backward(const TorchLinearLabels& labels, std::int32_t weight,
                                   bool has_bias, TorchRef gradient, TorchLinearSaved saved,
                                   TorchRef* weight_gradient) {
  const TorchPartScope scope(tape_, labels.part);
  TorchRef of_weight, of_bias;
  if (!has_bias) of_weight = weight_product(weight);
  TorchRef of_input = temporary(labels.input_gradient, "mm", saved.input->shape, compute());
  matmul_workspace();
  if (has_bias) {
    of_weight = weight_product(weight);
    if (recomputed_) saved.input.reset(), saved.weight.reset();
    of_bias = bias_sum(weight + 1);
  }
  gradient.reset();
  const bool casts_input = saved.casts_input;
  saved = {};
  if (casts_input) {
    of_input = to_float(std::move(of_input), labels.input_gradient, TorchRole::kTemporary, -1);
  }
  accumulate(weight, std::move(of_weight), weight_gradient);
  if (has_bias) accumulate(weight + 1, std::move(of_bias), nullptr);
  return of_input;
}

TorchRef TorchOps::dropout(std::string_view what, TorchRef input, TorchRef* mask) {
  if (run_.dropout == 0 || !pass_.trains) return input;
  TorchRef kept = tape_.allocate({"dropout mask", "native_dropout", TorchRole::kActivation},
                                 input->shape, TorchDType::kBool);
  TorchRef output =
      tape_.allocate({what, "native_dropout", TorchRole::kActivation}, input->shape, input->dtype);
  if (mask != nullptr) *mask = std::move(kept);
  return output;
}

TorchRef TorchOps::dropout_backward(TorchRef gradient, TorchRef mask) {
  if (!mask) return gradient;
  TorchRef result = temporary("gradient of dropout's input", "native_dropout_backward",
                              gradient->shape, gradient->dtype);
  gradient.reset();
  mask.reset();
  return result;
}

}  // namespace snug::doctor::torch
