// AVX-512's and AMX's intrinsics that tile products are made of, in plain C++, so that a test can
// run the very code of both units on any processor (tests/emulated_tiles_test.cc). Each does what
// Intel's manual says it does. Never part of the program. Takes the place of <immintrin.h>.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/base.h"

// Emulated code must not be compiled for instructions that are not there.
#undef HWY_PUSH_ATTRIBUTES
#undef HWY_POP_ATTRIBUTES
#define HWY_PUSH_ATTRIBUTES(targets)
#define HWY_POP_ATTRIBUTES

namespace snug::cpu {
namespace {

struct Vector512 {
  std::array<std::uint32_t, 16> dword{};

  std::uint16_t word(std::size_t i) const {
    return static_cast<std::uint16_t>(dword[i / 2] >> (16 * (i % 2)));
  }
  void set_word(std::size_t i, std::uint32_t value) {
    const std::size_t shift = 16 * (i % 2);
    dword[i / 2] = (dword[i / 2] & ~(0xffffu << shift)) | (value & 0xffffu) << shift;
  }
};
using __m512 = Vector512;
using __m512i = Vector512;
using __m512bh = Vector512;
using __mmask16 = std::uint16_t;
using __mmask32 = std::uint32_t;

template <class Fn>
Vector512 each_dword(Fn fn) {
  Vector512 result;
  for (std::size_t i = 0; i < 16; ++i) result.dword[i] = fn(i);
  return result;
}

inline Vector512 load_512(const void* from) {
  Vector512 v;
  std::memcpy(v.dword.data(), from, sizeof v);
  return v;
}
inline void store_512(void* to, const Vector512& v) { std::memcpy(to, v.dword.data(), sizeof v); }

inline Vector512 _mm512_load_si512(const void* p) { return load_512(p); }
inline Vector512 _mm512_load_ps(const void* p) { return load_512(p); }
inline Vector512 _mm512_loadu_ps(const void* p) { return load_512(p); }
inline void _mm512_store_si512(void* p, const Vector512& v) { store_512(p, v); }
inline void _mm512_storeu_ps(void* p, const Vector512& v) { store_512(p, v); }
inline Vector512 _mm512_castps_si512(const Vector512& v) { return v; }

inline Vector512 _mm512_maskz_loadu_epi16(__mmask32 mask, const void* p) {
  Vector512 v;
  for (std::size_t i = 0; i < 32; ++i) {
    if ((mask >> i & 1) == 0) continue;
    std::uint16_t word;
    std::memcpy(&word, static_cast<const std::byte*>(p) + 2 * i, sizeof word);
    v.set_word(i, word);
  }
  return v;
}

inline void _mm512_mask_cvtepi32_storeu_epi16(void* p, __mmask16 mask, const Vector512& v) {
  for (std::size_t i = 0; i < 16; ++i) {
    if ((mask >> i & 1) == 0) continue;
    const auto word = static_cast<std::uint16_t>(v.dword[i]);
    std::memcpy(static_cast<std::byte*>(p) + 2 * i, &word, sizeof word);
  }
}

inline Vector512 _mm512_set1_epi32(std::int32_t value) {
  return each_dword([&](std::size_t) { return static_cast<std::uint32_t>(value); });
}
inline Vector512 _mm512_add_epi32(const Vector512& a, const Vector512& b) {
  return each_dword([&](std::size_t i) { return a.dword[i] + b.dword[i]; });
}
inline Vector512 _mm512_and_si512(const Vector512& a, const Vector512& b) {
  return each_dword([&](std::size_t i) { return a.dword[i] & b.dword[i]; });
}
inline Vector512 _mm512_srli_epi32(const Vector512& a, unsigned shift) {
  return each_dword([&](std::size_t i) { return a.dword[i] >> shift; });
}
inline Vector512 _mm512_mask_or_epi32(const Vector512& other, __mmask16 mask, const Vector512& a,
                                      const Vector512& b) {
  return each_dword([&](std::size_t i) {
    return (mask >> i & 1) != 0 ? a.dword[i] | b.dword[i] : other.dword[i];
  });
}

constexpr int _CMP_UNORD_Q = 3;
inline __mmask16 _mm512_cmp_ps_mask(const Vector512& a, const Vector512& b, int /*unordered*/) {
  unsigned mask = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    const float x = std::bit_cast<float>(a.dword[i]), y = std::bit_cast<float>(b.dword[i]);
    mask |= static_cast<unsigned>(std::isnan(x) || std::isnan(y)) << i;
  }
  return static_cast<__mmask16>(mask);
}

// Words of a (0 to 31) and b (32 to 63) by their numbers.
inline Vector512 _mm512_permutex2var_epi16(const Vector512& a, const Vector512& order,
                                           const Vector512& b) {
  Vector512 result;
  for (std::size_t i = 0; i < 32; ++i) {
    const std::size_t from = order.word(i) % 64;
    result.set_word(i, from < 32 ? a.word(from) : b.word(from - 32));
  }
  return result;
}

// Within each 128-bit lane: its dwords `first` and `first` + 1 of both operands in turns.
inline Vector512 unpack_dwords(const Vector512& a, const Vector512& b, std::size_t first) {
  return each_dword([&](std::size_t i) {
    const std::size_t from = i / 4 * 4 + first + i % 4 / 2;
    return i % 2 == 0 ? a.dword[from] : b.dword[from];
  });
}
inline Vector512 _mm512_unpacklo_epi32(const Vector512& a, const Vector512& b) {
  return unpack_dwords(a, b, 0);
}
inline Vector512 _mm512_unpackhi_epi32(const Vector512& a, const Vector512& b) {
  return unpack_dwords(a, b, 2);
}
// The same of qwords: a's, then b's.
inline Vector512 unpack_qwords(const Vector512& a, const Vector512& b, std::size_t first) {
  return each_dword([&](std::size_t i) {
    const std::size_t from = i / 4 * 4 + first + i % 2;
    return i % 4 < 2 ? a.dword[from] : b.dword[from];
  });
}
inline Vector512 _mm512_unpacklo_epi64(const Vector512& a, const Vector512& b) {
  return unpack_qwords(a, b, 0);
}
inline Vector512 _mm512_unpackhi_epi64(const Vector512& a, const Vector512& b) {
  return unpack_qwords(a, b, 2);
}
// Two lanes of a, then two of b, two bits of `which` each.
inline Vector512 _mm512_shuffle_i32x4(const Vector512& a, const Vector512& b, unsigned which) {
  return each_dword([&](std::size_t i) {
    const std::size_t lane = which >> (2 * (i / 4)) & 3;
    return (i < 8 ? a : b).dword[4 * lane + i % 4];
  });
}

// A bfloat16 as float; subnormal numbers are zero.
inline float bfloat16_at(const Vector512& v, std::size_t i) {
  const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(v.word(i)) << 16);
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}

inline Vector512 _mm512_dpbf16_ps(const Vector512& sum, const Vector512& a, const Vector512& b) {
  return each_dword([&](std::size_t i) {
    auto x = std::bit_cast<float>(sum.dword[i]);
    x = std::fma(bfloat16_at(a, 2 * i + 1), bfloat16_at(b, 2 * i + 1), x);
    x = std::fma(bfloat16_at(a, 2 * i), bfloat16_at(b, 2 * i), x);
    return std::bit_cast<std::uint32_t>(x);
  });
}

// Eight tiles of 16 lines.
struct EmulatedTiles {
  std::array<std::array<Vector512, 16>, 8> tile;
};
inline thread_local EmulatedTiles emulated_tiles;

struct TileRegisters {
  TileRegisters() { emulated_tiles = {}; }
};

inline void _tile_loadd(std::size_t tile, const void* from, std::int64_t stride) {
  const auto* line = static_cast<const std::byte*>(from);
  for (Vector512& to : emulated_tiles.tile[tile]) {
    to = load_512(line);
    line += stride;
  }
}
// The same, with a hint to the caches.
inline void _tile_stream_loadd(std::size_t tile, const void* from, std::int64_t stride) {
  _tile_loadd(tile, from, stride);
}
inline void _tile_stored(std::size_t tile, void* to, std::int64_t stride) {
  auto* line = static_cast<std::byte*>(to);
  for (const Vector512& from : emulated_tiles.tile[tile]) {
    store_512(line, from);
    line += stride;
  }
}
inline void _tile_dpbf16ps(std::size_t sums, std::size_t a, std::size_t b) {
  for (std::size_t m = 0; m < 16; ++m) {
    Vector512& sum = emulated_tiles.tile[sums][m];
    for (std::size_t k = 0; k < 16; ++k) {
      const auto pair = static_cast<std::int32_t>(emulated_tiles.tile[a][m].dword[k]);
      sum = _mm512_dpbf16_ps(sum, _mm512_set1_epi32(pair), emulated_tiles.tile[b][k]);
    }
  }
}

}  // namespace
}  // namespace snug::cpu
