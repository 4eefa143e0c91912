// float16 as NVIDIA's header names it; only what is listed here. Arithmetic: convert to float.
#pragma once

#include "cuda_shim/narrow_floats.h"
#include "cuda_shim/vector_types.h"

struct __half_raw {
  unsigned short x;
};

struct __half {
  unsigned short bits;
  __half() = default;
  __half(const __half_raw& raw) : bits(raw.x) {}
  explicit __half(float value) : bits(emulator::half_bits(value)) {}
  explicit __half(int value) : __half(static_cast<float>(value)) {}
  operator float() const { return emulator::half_value(bits); }
  operator __half_raw() const { return {bits}; }
};
static_assert(sizeof(__half) == 2);

struct alignas(4) __half2 {
  __half x, y;
};

inline __half __float2half(float value) { return __half(value); }
inline __half __float2half_rn(float value) { return __half(value); }
inline float __half2float(const __half& value) { return static_cast<float>(value); }
inline __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
inline __half2 __float22half2_rn(float2 value) { return {__half(value.x), __half(value.y)}; }
inline float2 __half22float2(const __half2& value) {
  return {static_cast<float>(value.x), static_cast<float>(value.y)};
}
inline float __low2float(const __half2& value) { return static_cast<float>(value.x); }
inline float __high2float(const __half2& value) { return static_cast<float>(value.y); }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline unsigned short __half_as_ushort(__half value) { return value.bits; }
inline __half __ushort_as_half(unsigned short bits) { return {__half_raw{bits}}; }

// As one rounding: that to float first changes nothing, 24 bits being twice these and two more.
inline __half __hadd(__half a, __half b) { return __half(float(a) + float(b)); }
inline __half __hsub(__half a, __half b) { return __half(float(a) - float(b)); }
inline __half __hmul(__half a, __half b) { return __half(float(a) * float(b)); }
inline __half __hmax(__half a, __half b) { return float(a) < float(b) ? b : a; }
inline __half __hmin(__half a, __half b) { return float(b) < float(a) ? b : a; }
inline __half __hneg(__half a) {
  return {__half_raw{static_cast<unsigned short>(a.bits ^ 0x8000U)}};
}
inline bool __hisnan(__half a) { return (a.bits & 0x7FFFU) > 0x7C00U; }
inline int __hisinf(__half a) { return (a.bits & 0x7FFFU) != 0x7C00U ? 0 : a.bits >> 15 ? -1 : 1; }
inline __half2 __hadd2(__half2 a, __half2 b) { return {__hadd(a.x, b.x), __hadd(a.y, b.y)}; }
inline __half2 __hmul2(__half2 a, __half2 b) { return {__hmul(a.x, b.x), __hmul(a.y, b.y)}; }

using half = __half;
using half2 = __half2;
