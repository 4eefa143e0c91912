// Floating-point instructions. Sums, products, quotients and roots are rounded once to nearest;
// what PTX only bounds (.approx) is the C library's, as in the kernels that g++ compiles.
#include <cfenv>
#include <cmath>

#include "thread.h"

namespace emulator::ptx {
namespace {

float f32(Thread& t, const Step& step, std::size_t i) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(t.get(step.in->operands[i], step.type)));
}

double f64(Thread& t, const Step& step, std::size_t i) {
  return as_float(truncated(t.get(step.in->operands[i], step.type), step.type), step.type);
}

std::uint64_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

// In float for f32 and the 16-bit types (whose results float holds before they are rounded), in
// double for f64; pairs half by half.
template <typename Function>
void apply(Thread& t, const Step& step, Function function, std::size_t arguments) {
  const Instruction& in = *step.in;
  if (step.type.kind == 'f' && step.type.bits == 32) {
    const float a = f32(t, step, 1), b = arguments > 1 ? f32(t, step, 2) : 0;
    const float c = arguments > 2 ? f32(t, step, 3) : 0;
    float value = function(a, b, c);
    if (in.has("sat")) value = std::isnan(value) ? 0 : std::fmin(1.0f, std::fmax(0.0f, value));
    return t.set(in.operands[0], bits_of(value));
  }
  if (step.type.kind == 'f') {
    const double a = f64(t, step, 1), b = arguments > 1 ? f64(t, step, 2) : 0;
    const double c = arguments > 2 ? f64(t, step, 3) : 0;
    return t.set(in.operands[0], std::bit_cast<std::uint64_t>(function(a, b, c)));
  }
  const Type one{step.type.kind, 16, false};
  std::uint64_t result = 0;
  for (unsigned half = 0; half < (step.type.pair ? 2U : 1U); ++half) {
    double x[3] = {};
    for (std::size_t i = 0; i < arguments; ++i) {
      x[i] = as_float(truncated(t.get(in.operands[i + 1], step.type) >> 16 * half, one), one);
    }
    result |= from_float(function(static_cast<float>(x[0]), static_cast<float>(x[1]),
                                  static_cast<float>(x[2])),
                         one)
              << 16 * half;
  }
  t.set(in.operands[0], result);
}

void fused(Thread& t, const Step& step) {
  const bool down = step.in->has("rm");
  if (down) std::fesetround(FE_DOWNWARD);
  apply(
      t, step, [](auto a, auto b, auto c) { return std::fma(a, b, c); }, 3);
  if (down) std::fesetround(FE_TONEAREST);
}

// The sign, of numbers and of NaN alike.
void flip_sign(Thread& t, const Step& step) {
  const std::uint64_t value = truncated(t.get(step.in->operands[1], step.type), step.type);
  std::uint64_t sign = std::uint64_t{1} << (step.type.bits - 1);
  if (step.type.pair) sign |= 0x8000;
  t.set(step.in->operands[0], step.in->opcode == "neg" ? value ^ sign : value & ~sign);
}

void copy_sign(Thread& t, const Step& step) {
  const std::uint64_t sign = std::uint64_t{1} << (step.type.bits - 1);
  const std::uint64_t from = t.get(step.in->operands[1], step.type);
  const std::uint64_t onto = truncated(t.get(step.in->operands[2], step.type), step.type);
  t.set(step.in->operands[0], (onto & ~sign) | (from & sign));
}

template <typename Function>
Handler of(Function) {
  return [](Thread& t, const Step& s) { apply(t, s, Function{}, Function::kArguments); };
}

#define EMULATOR_FLOAT_FUNCTION(name, arguments, expression)            \
  struct name {                                                         \
    static constexpr std::size_t kArguments = arguments;                \
    template <typename T>                                               \
    T operator()([[maybe_unused]] T a, [[maybe_unused]] T b, T) const { \
      return static_cast<T>(expression);                                \
    }                                                                   \
  };
EMULATOR_FLOAT_FUNCTION(Add, 2, a + b)
EMULATOR_FLOAT_FUNCTION(Sub, 2, a - b)
EMULATOR_FLOAT_FUNCTION(Mul, 2, a* b)
EMULATOR_FLOAT_FUNCTION(Div, 2, a / b)
EMULATOR_FLOAT_FUNCTION(Min, 2, std::fmin(a, b))
EMULATOR_FLOAT_FUNCTION(Max, 2, std::fmax(a, b))
EMULATOR_FLOAT_FUNCTION(Rcp, 1, T(1) / a)
EMULATOR_FLOAT_FUNCTION(Sqrt, 1, std::sqrt(a))
EMULATOR_FLOAT_FUNCTION(Rsqrt, 1, T(1) / std::sqrt(a))
EMULATOR_FLOAT_FUNCTION(Ex2, 1, std::exp2(a))
EMULATOR_FLOAT_FUNCTION(Lg2, 1, std::log2(a))
EMULATOR_FLOAT_FUNCTION(Sin, 1, std::sin(a))
EMULATOR_FLOAT_FUNCTION(Cos, 1, std::cos(a))
EMULATOR_FLOAT_FUNCTION(Tanh, 1, std::tanh(a))
#undef EMULATOR_FLOAT_FUNCTION

}  // namespace

const std::map<std::string, Handler>& float_handlers() {
  static const std::map<std::string, Handler> handlers = {
      {"add", of(Add{})},   {"sub", of(Sub{})},     {"mul", of(Mul{})}, {"div", of(Div{})},
      {"min", of(Min{})},   {"max", of(Max{})},     {"rcp", of(Rcp{})}, {"sqrt", of(Sqrt{})},
      {"ex2", of(Ex2{})},   {"lg2", of(Lg2{})},     {"sin", of(Sin{})}, {"cos", of(Cos{})},
      {"tanh", of(Tanh{})}, {"rsqrt", of(Rsqrt{})}, {"fma", fused},     {"neg", flip_sign},
      {"abs", flip_sign},   {"copysign", copy_sign}};
  return handlers;
}

}  // namespace emulator::ptx
