// What the kernels of the CUDA backend do on a card, counted on the emulator: never a time that was
// measured. GPT-2's shapes in bfloat16; what a count says about speed is derived from the card's
// figures.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace snug::device {

struct KernelCounts {
  std::string kernel;  // as its source names it
  std::string call;    // what it was launched by
  // Every operand is read once and written once, if all goes well. What is not: attention, whose
  // blocks share keys, and lists of indices, whose places the data choose.
  bool streams = false;
  std::uint64_t launches = 0;
  // Global memory: the least that the operands need, what goes to and from memory beyond a model of
  // the card's cache; of the 32-byte sectors that a block touches, the share that it asks for, and
  // that of its requests one by one.
  double min_bytes = 0, memory_bytes = 0, sectors_used = 0, requests_used = 0;
  // Shared memory: passes over its banks, and those too many, per pass that is needed.
  double shared_passes = 0, bank_conflicts = 0;
  // Products on tensor cores, and the least for attention of that shape; 0: none.
  double multiply_adds = 0, min_multiply_adds = 0;
  // Warps that a multiprocessor holds by threads and shared memory, of those that it could.
  double warps_share = 0;
  // Derived: what each part of the card needs at its peak.
  double memory_seconds = 0, tensor_seconds = 0, shared_seconds = 0;

  double memory_ratio() const { return memory_bytes / min_bytes; }
  double seconds() const {  // the largest of the three
    return std::max({memory_seconds, tensor_seconds, shared_seconds});
  }
  // Of the tensor cores' peak, if the largest of the three were all: the roofline.
  double tensor_share() const {
    if (multiply_adds == 0) return 0;
    return tensor_seconds * min_multiply_adds / multiply_adds / seconds();
  }
};

struct CountedCard {
  std::string key, name;
  int capability = 0;
  std::vector<KernelCounts> kernels;
};

// Whether this build has kernels that count.
bool can_count_kernels();
// `card` is one that can be emulated. Runs every kernel once; what else uses the emulated card in
// this process must come after.
CountedCard count_kernels(const std::string& card);

}  // namespace snug::device
