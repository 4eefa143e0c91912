#include "device/op_bounds.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/float16.h"

namespace snug::device {
namespace {

// Half a unit in the last place, relative.
double rounding_of(DType dtype) {
  switch (dtype) {
    case DType::kBF16:
      return 0x1p-8;
    case DType::kF16:
      return 0x1p-11;
    case DType::kF64:
      return 0x1p-53;
    default:
      return 0x1p-24;
  }
}

// What an op does between its operands and the rounding of its result.
struct Arithmetic {
  double terms = 0;              // of its longest sum in float32
  double narrowed = 0;           // products whose operand it may round to 16 bits first
  double functions = 0;          // exp, log, erf, ..., each good to some units in the last place
  bool on_tensor_cores = false;  // in 16 bits
};

double rows_of(const ops::Shapes& shapes) { return static_cast<double>(shapes.row_count()); }
double length_of(const ops::Shapes& shapes) { return static_cast<double>(shapes.block_size); }
double width_of(const ops::Shapes& shapes, TensorId id) {
  return static_cast<double>(shapes.width(id));
}

// A card's product adds a bias of the result's precision.
Arithmetic of(const ops::Linear& op, const ops::Shapes& s) {
  return {.terms = width_of(s, op.x),
          .narrowed = op.bias.is_present() ? 1.0 : 0.0,
          .on_tensor_cores = true};
}
Arithmetic of(const ops::LinearDx& op, const ops::Shapes& s) {
  return {.terms = width_of(s, op.dy), .on_tensor_cores = true};
}
Arithmetic of(const ops::LinearDw&, const ops::Shapes& s) {
  return {.terms = rows_of(s), .on_tensor_cores = true};
}
Arithmetic of(const ops::LayerNorm& op, const ops::Shapes& s) {
  return {.terms = width_of(s, op.x), .functions = 1};
}
Arithmetic of(const ops::LayerNormApply&, const ops::Shapes&) { return {.functions = 1}; }
Arithmetic of(const ops::LayerNormBackward& op, const ops::Shapes& s) {
  return {.terms = std::max(width_of(s, op.dy), rows_of(s))};
}
// A score is a sum over the head's width, an output one over the sequence.
Arithmetic of(const ops::Attention& op, const ops::Shapes& s) {
  return {.terms = length_of(s) + width_of(s, op.out),
          .narrowed = 1,
          .functions = 2,
          .on_tensor_cores = true};
}
Arithmetic of(const ops::AttentionBackward& op, const ops::Shapes& s) {
  return {.terms = length_of(s) + width_of(s, op.dout),
          .narrowed = 3,
          .functions = 2,
          .on_tensor_cores = true};
}
Arithmetic of(const ops::AttentionDecode& op, const ops::Shapes& s) {
  return {.terms = static_cast<double>(s.shape(op.keys)[0]) + width_of(s, op.out), .functions = 2};
}
Arithmetic of(const ops::CrossEntropy& op, const ops::Shapes& s) {
  return {.terms = width_of(s, op.logits), .functions = 2};
}
Arithmetic of(const ops::EmbedBackward&, const ops::Shapes& s) { return {.terms = rows_of(s)}; }
Arithmetic of(const ops::Gelu&, const ops::Shapes&) { return {.functions = 2}; }
Arithmetic of(const ops::GeluBackward&, const ops::Shapes&) { return {.functions = 3}; }
Arithmetic of(const ops::AdamW&, const ops::Shapes&) { return {.functions = 1}; }
// Sums of float64 over all parameters.
Arithmetic of(const ops::GradientNorm&, const ops::Shapes& s) {
  double count = 0;
  for (const Tensor& tensor : s.tensors) count += static_cast<double>(tensor.byte_count()) / 4;
  return {.terms = count};
}
template <class Op>
Arithmetic of(const Op&, const ops::Shapes&) {
  return {};
}

// What cuBLASLt computes.
bool is_product(const ops::Op& op) {
  return op.is<ops::Linear>() || op.is<ops::LinearDx>() || op.is<ops::LinearDw>();
}

// Ops that only move or round.
bool is_exact(const ops::Op& op) {
  return op.is<ops::Zero>() || op.is<ops::ResetEmbedRows>() || op.is<ops::Cast>() ||
         op.is<ops::KvStore>() || op.is<ops::Copy>();
}

template <class Number>
double wide(Number number) {
  if constexpr (std::is_arithmetic_v<Number>) {
    return static_cast<double>(number);
  } else {
    return double{to_float(number)};
  }
}

template <class Number>
Number at(std::span<const std::byte> bytes, std::size_t i) {
  Number number;
  std::memcpy(&number, bytes.data() + i * sizeof number, sizeof number);
  return number;
}

template <class Number>
double difference_as(std::span<const std::byte> a, std::span<const std::byte> b,
                     std::int64_t row_width) {
  const std::size_t count = b.size() / sizeof(Number);
  const auto width = static_cast<std::size_t>(std::max<std::int64_t>(row_width, 1));
  double largest = 0, worst = 0;
  for (std::size_t i = 0; i < count; ++i)
    largest = std::max(largest, std::abs(wide(at<Number>(b, i))));
  const double least = std::max(largest * 1e-3, 1e-30);
  for (std::size_t row = 0; row < count; row += width) {
    double of_row = least, apart = 0;
    for (std::size_t i = row; i < std::min(row + width, count); ++i) {
      const double x = wide(at<Number>(a, i)), y = wide(at<Number>(b, i));
      if (!std::isfinite(x) || !std::isfinite(y)) return HUGE_VAL;
      of_row = std::max(of_row, std::abs(y));
      apart = std::max(apart, std::abs(x - y));
    }
    worst = std::max(worst, apart / of_row);
  }
  return worst;
}

}  // namespace

Bound bound_of(const ops::Op& op, std::string_view operand, const ops::Shapes& shapes, DType result,
               bool tf32) {
  if (is_exact(op) || result == DType::kI32) return {0, 0};
  constexpr double kSpread = 8;         // of a sum's error, in square roots of its terms
  constexpr double kFunctionUnits = 8;  // of float32
  constexpr double kTermsAtOnce = 8;    // of a tensor core's
  constexpr double kTf32Cut = 0x1p-10;  // of an operand, cut off
  constexpr double kTf32Spread = 4;     // of a sum's error, where its terms cancel
  // What ties and double roundings leave of a rounding to one side; cutting off leaves 0.7 of it.
  constexpr double kOneSided = 0.125;
  Arithmetic done =
      std::visit([&](const auto& definition) { return of(definition, shapes); }, op.definition);
  if (operand == "mean") done.terms *= done.terms;
  const auto precision = ops::precision_of(op, shapes);
  const bool narrow = precision && *precision != DType::kF32;
  const double unit = op.is<ops::GradientNorm>() ? rounding_of(DType::kF64) : 0x1p-24;
  const bool cuts = tf32 && is_product(op);
  const bool on_tensor_cores = done.on_tensor_cores && (narrow || cuts);
  const double in_float = unit * (2 + kSpread * std::sqrt(done.terms)) +
                          unit * kFunctionUnits * done.functions +
                          (on_tensor_cores ? 2 * unit * done.terms / kTermsAtOnce : 0);
  const double narrowed = narrow ? done.narrowed * rounding_of(*precision) : 0;
  return {.apart = 2 * rounding_of(result) + 2 * narrowed + in_float +
                   (cuts ? 2 * kTf32Cut * kTf32Spread : 0),
          .drift = in_float + (cuts ? 2 * kTf32Cut : 0) +
                   kOneSided * std::max(rounding_of(result), narrowed)};
}

double difference(std::span<const std::byte> a, std::span<const std::byte> b, DType dtype,
                  std::int64_t width) {
  switch (dtype) {
    case DType::kF64:
      return difference_as<double>(a, b, width);
    case DType::kF32:
      return difference_as<float>(a, b, width);
    case DType::kBF16:
      return difference_as<Bf16>(a, b, width);
    case DType::kF16:
      return difference_as<F16>(a, b, width);
    case DType::kI32:
      return difference_as<std::int32_t>(a, b, width);
    default:
      return std::ranges::equal(a, b) ? 0 : HUGE_VAL;
  }
}

}  // namespace snug::device
