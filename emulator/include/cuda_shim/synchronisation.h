// Barriers, votes and shuffles. Each takes the place of its call, so that a report can name it.
#pragma once

#include <cstdint>
#include <cstring>

#include "emulator/lane.h"

inline void __syncthreads(const emulator::Site& site = emulator::Site::current()) {
  emulator::block_barrier(site);
}
inline int __syncthreads_count(int p, const emulator::Site& site = emulator::Site::current()) {
  return emulator::block_count(p, site);
}
inline int __syncthreads_or(int p, const emulator::Site& site = emulator::Site::current()) {
  return emulator::block_count(p, site) > 0;
}
inline int __syncthreads_and(int p, const emulator::Site& site = emulator::Site::current()) {
  return emulator::block_count(!p, site) == 0;
}
inline void __syncwarp(unsigned mask = ~0U,
                       const emulator::Site& site = emulator::Site::current()) {
  emulator::warp_barrier(mask, site);
}
inline void __threadfence() {}
inline void __threadfence_block() {}
inline unsigned __activemask() { return emulator::active_lanes(); }

namespace emulator {

inline unsigned lane_of_warp() { return t_lane->index % kWarpLanes; }

struct ShuffleArgument {
  std::uint64_t bits;
  int source;  // lane of the warp; its own where the other is outside its part
  std::uint64_t result;
};

inline void shuffle_together(void* const (&arguments)[kWarpLanes], std::uint32_t mask) {
  for (unsigned i = 0; i < kWarpLanes; ++i) {
    if (!(mask >> i & 1)) continue;
    auto* own = static_cast<ShuffleArgument*>(arguments[i]);
    auto* source = static_cast<ShuffleArgument*>(arguments[own->source]);
    // What a lane outside the mask holds is undefined.
    own->result = source ? source->bits : 0xFFFF'DEAD'FFFF'DEADULL;
  }
}

template <typename T>
T shuffle(unsigned mask, T value, int source, const char* what, const Site& site) {
  static_assert(sizeof(T) <= 8);
  ShuffleArgument argument{0, source, 0};
  std::memcpy(&argument.bits, &value, sizeof(T));
  warp_meet(mask, &argument, &shuffle_together, what, site);
  std::memcpy(&value, &argument.result, sizeof(T));
  return value;
}

struct VoteArgument {
  int predicate;
  std::uint32_t ballot;
};

inline void vote_together(void* const (&arguments)[kWarpLanes], std::uint32_t mask) {
  std::uint32_t ballot = 0;
  for (unsigned i = 0; i < kWarpLanes; ++i) {
    if (mask >> i & 1 && static_cast<VoteArgument*>(arguments[i])->predicate) ballot |= 1U << i;
  }
  for (unsigned i = 0; i < kWarpLanes; ++i) {
    if (mask >> i & 1) static_cast<VoteArgument*>(arguments[i])->ballot = ballot;
  }
}

inline std::uint32_t vote(unsigned mask, int predicate, const char* what, const Site& site) {
  VoteArgument argument{predicate, 0};
  warp_meet(mask, &argument, &vote_together, what, site);
  return argument.ballot;
}

// The lanes of the caller's part of the warp, `width` wide: its first one.
inline int part_begin(int width) { return static_cast<int>(lane_of_warp()) & ~(width - 1); }

}  // namespace emulator

template <typename T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32,
              const emulator::Site& site = emulator::Site::current()) {
  const int source = emulator::part_begin(width) + (lane & (width - 1));
  return emulator::shuffle(mask, value, source, "__shfl_sync", site);
}

template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int flipped, int width = 32,
                  const emulator::Site& site = emulator::Site::current()) {
  const int own = static_cast<int>(emulator::lane_of_warp()), other = own ^ flipped;
  const int source = other < emulator::part_begin(width) + width ? other : own;
  return emulator::shuffle(mask, value, source, "__shfl_xor_sync", site);
}

template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 const emulator::Site& site = emulator::Site::current()) {
  const int own = static_cast<int>(emulator::lane_of_warp()), other = own - static_cast<int>(delta);
  const int source = other >= emulator::part_begin(width) ? other : own;
  return emulator::shuffle(mask, value, source, "__shfl_up_sync", site);
}

template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   const emulator::Site& site = emulator::Site::current()) {
  const int own = static_cast<int>(emulator::lane_of_warp()), other = own + static_cast<int>(delta);
  const int source = other < emulator::part_begin(width) + width ? other : own;
  return emulator::shuffle(mask, value, source, "__shfl_down_sync", site);
}

inline unsigned __ballot_sync(unsigned mask, int p,
                              const emulator::Site& site = emulator::Site::current()) {
  return emulator::vote(mask, p, "__ballot_sync", site);
}
inline int __any_sync(unsigned mask, int p,
                      const emulator::Site& site = emulator::Site::current()) {
  return emulator::vote(mask, p, "__any_sync", site) != 0;
}
inline int __all_sync(unsigned mask, int p,
                      const emulator::Site& site = emulator::Site::current()) {
  return emulator::vote(mask, !p, "__all_sync", site) == 0;
}
