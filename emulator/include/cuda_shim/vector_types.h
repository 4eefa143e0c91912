// CUDA's small vector types and dim3, as kernels and host code name them.
#pragma once

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr explicit dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};

#define EMULATOR_VECTOR_TYPES(T, name)                          \
  struct alignas(2 * sizeof(T)) name##2 {                       \
    T x, y;                                                     \
  };                                                            \
  struct alignas(sizeof(T) > 4 ? 16 : 4 * sizeof(T)) name##4 {  \
    T x, y, z, w;                                               \
  };                                                            \
  constexpr name##2 make_##name##2(T x, T y) { return {x, y}; } \
  constexpr name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
EMULATOR_VECTOR_TYPES(float, float)
EMULATOR_VECTOR_TYPES(double, double)
EMULATOR_VECTOR_TYPES(int, int)
EMULATOR_VECTOR_TYPES(unsigned, uint)
EMULATOR_VECTOR_TYPES(short, short)
EMULATOR_VECTOR_TYPES(unsigned short, ushort)
EMULATOR_VECTOR_TYPES(signed char, char)
EMULATOR_VECTOR_TYPES(unsigned char, uchar)
EMULATOR_VECTOR_TYPES(long long, longlong)
EMULATOR_VECTOR_TYPES(unsigned long long, ulonglong)
#undef EMULATOR_VECTOR_TYPES

struct float3 {
  float x, y, z;
};
