// Element types of tensors.
#pragma once

#include <cstdint>
#include <string_view>

namespace snug {

enum class DType : std::uint8_t { kF64, kF32, kBF16, kF16, kI32, kU16, kU8 };

constexpr std::int64_t size_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::kF64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kBF16:
    case DType::kF16:
    case DType::kU16:
      return 2;
    case DType::kU8:
      return 1;
  }
  return 0;
}

constexpr std::string_view name_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::kF64:
      return "float64";
    case DType::kF32:
      return "float32";
    case DType::kBF16:
      return "bfloat16";
    case DType::kF16:
      return "float16";
    case DType::kI32:
      return "int32";
    case DType::kU16:
      return "uint16";
    case DType::kU8:
      return "uint8";
  }
  return "?";
}

// The floating-point type that a config names; "auto" and whatever else is float32.
constexpr DType compute_dtype_named(std::string_view name) noexcept {
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    if (name == name_of(dtype)) return dtype;
  }
  return DType::kF32;
}

}  // namespace snug
