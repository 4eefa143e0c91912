// bfloat16 as NVIDIA's header names it; only what is listed here. Arithmetic: convert to float.
#pragma once

#include "cuda_shim/narrow_floats.h"
#include "cuda_shim/vector_types.h"

struct __nv_bfloat16_raw {
  unsigned short x;
};

struct __nv_bfloat16 {
  unsigned short bits;
  __nv_bfloat16() = default;
  __nv_bfloat16(const __nv_bfloat16_raw& raw) : bits(raw.x) {}
  explicit __nv_bfloat16(float value) : bits(emulator::bf16_bits(value)) {}
  explicit __nv_bfloat16(int value) : __nv_bfloat16(static_cast<float>(value)) {}
  operator float() const { return emulator::bf16_value(bits); }
  operator __nv_bfloat16_raw() const { return {bits}; }
};
static_assert(sizeof(__nv_bfloat16) == 2);

struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};

inline __nv_bfloat16 __float2bfloat16(float value) { return __nv_bfloat16(value); }
inline __nv_bfloat16 __float2bfloat16_rn(float value) { return __nv_bfloat16(value); }
inline float __bfloat162float(const __nv_bfloat16& value) { return static_cast<float>(value); }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__nv_bfloat16(x), __nv_bfloat16(y)};
}
inline __nv_bfloat162 __float22bfloat162_rn(float2 value) {
  return {__nv_bfloat16(value.x), __nv_bfloat16(value.y)};
}
inline float2 __bfloat1622float2(const __nv_bfloat162& value) {
  return {static_cast<float>(value.x), static_cast<float>(value.y)};
}
inline float __low2float(const __nv_bfloat162& value) { return static_cast<float>(value.x); }
inline float __high2float(const __nv_bfloat162& value) { return static_cast<float>(value.y); }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) { return value.bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return {__nv_bfloat16_raw{bits}}; }

// As one rounding: that to float first changes nothing, 24 bits being twice these and two more.
inline __nv_bfloat16 __hadd(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(float(a) + float(b));
}
inline __nv_bfloat16 __hsub(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(float(a) - float(b));
}
inline __nv_bfloat16 __hmul(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __nv_bfloat16(float(a) * float(b));
}
inline __nv_bfloat16 __hmax(__nv_bfloat16 a, __nv_bfloat16 b) {
  return float(a) < float(b) ? b : a;
}
inline __nv_bfloat16 __hmin(__nv_bfloat16 a, __nv_bfloat16 b) {
  return float(b) < float(a) ? b : a;
}
inline __nv_bfloat16 __hneg(__nv_bfloat16 a) {
  return {__nv_bfloat16_raw{static_cast<unsigned short>(a.bits ^ 0x8000U)}};
}
inline bool __hisnan(__nv_bfloat16 a) { return (a.bits & 0x7FFFU) > 0x7F80U; }
inline int __hisinf(__nv_bfloat16 a) {
  return (a.bits & 0x7FFFU) != 0x7F80U ? 0 : a.bits >> 15 ? -1 : 1;
}
inline __nv_bfloat162 __hadd2(__nv_bfloat162 a, __nv_bfloat162 b) {
  return {__hadd(a.x, b.x), __hadd(a.y, b.y)};
}
inline __nv_bfloat162 __hmul2(__nv_bfloat162 a, __nv_bfloat162 b) {
  return {__hmul(a.x, b.x), __hmul(a.y, b.y)};
}

using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;
