// A typed view of bytes that an Arena owns. Trivially copyable; made only by binding a plan (and by
// tests, of their own buffers).
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "base/float16.h"
#include "base/shape.h"

namespace snug::cpu {

template <class X>
inline constexpr DType kDTypeOf = DType::kF32;
template <>
inline constexpr DType kDTypeOf<Bf16> = DType::kBF16;
template <>
inline constexpr DType kDTypeOf<F16> = DType::kF16;

struct TensorView {
  std::byte* data = nullptr;
  DType dtype = DType::kF32;
  Shape shape;

  std::int64_t element_count() const { return shape.element_count(); }
  std::int64_t byte_count() const { return element_count() * size_of(dtype); }

  // As activations: float, Bf16 or F16.
  template <class X>
  X* as() const noexcept {
    assert(dtype == kDTypeOf<X>);
    return reinterpret_cast<X*>(data);
  }
  float* f32() const noexcept {
    assert(dtype == DType::kF32);
    return reinterpret_cast<float*>(data);
  }
  double* f64() const noexcept {
    assert(dtype == DType::kF64);
    return reinterpret_cast<double*>(data);
  }
  std::uint16_t* bf16() const noexcept {  // the elements' bits
    assert(dtype == DType::kBF16);
    return reinterpret_cast<std::uint16_t*>(data);
  }
  std::int32_t* i32() const noexcept {
    assert(dtype == DType::kI32);
    return reinterpret_cast<std::int32_t*>(data);
  }
};

}  // namespace snug::cpu
