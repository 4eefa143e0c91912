// The GPU cards that a run can be planned for without having one: memory, speed, and what CUDA and
// a display take of them. Peak figures by the makers; what a kernel reaches of them is not here.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace snug::fit {

struct Card {
  std::string_view
      key;  // "rtx3060": lower case, no blanks; a variant ends in "-8gb", "-sxm", "-laptop"
  std::string_view name;      // "GeForce RTX 3060"
  std::int64_t memory_mib;    // as sold: 12288
  std::int64_t reported_mib;  // total that the driver tells programs on Linux; at most memory_mib
  // Dense arithmetic that accumulates in fp32, in 1e12 operations per second. GeForce cards do it
  // on tensor cores at half the rate that is advertised, which accumulates in fp16.
  double bf16_tflops;      // 0: the card has no bf16
  double fp16_tflops;      // without tensor cores that of fp32, at which mixed precision then runs
  double fp32_tflops;      // without tensor cores
  double bandwidth_gbs;    // of its memory, 1e9 bytes per second
  int compute_capability;  // 86 for 8.6
  bool desktop;            // usually drives a display
};

// By family, within one by speed.
std::span<const Card> all_cards();

// The card that people or the driver call so, in any case and with or without blanks, dashes,
// "NVIDIA", "GeForce", "RTX" and its memory: "RTX 3060 12GB", "3060", "A100-SXM4-80GB". A name
// without memory is the variant whose key has none. An amount alone, "12GiB", is a card of which
// no more is known: see is_card_of_size(). nullptr: no card, or several, as of "A100". Cards live
// as long as the program.
const Card* find_card(std::string_view text);

// The same, or a ConfigError that suggests the nearest.
const Card& card_named(std::string_view text);

// The one that is assumed where none is known: what most users have.
const Card& assumed_card();

// A card by its memory alone; its rates are those of an RTX 3060.
bool is_card_of_size(const Card& card);

// 16-bit arithmetic that is faster than float32: cards with tensor cores have it.
inline bool has_fast_16bit(const Card& card) { return card.fp16_tflops > 1.5 * card.fp32_tflops; }

struct ContextRange {
  std::int64_t low_bytes, high_bytes;
};

// What CUDA and its libraries hold of a card in one process on one GPU, without NCCL.
ContextRange cuda_context(const Card& card);

// What a display holds of a desktop card; 0 of the others.
std::int64_t display_bytes(const Card& card);

// What one process can have of a card, context included: what the driver tells, less a display.
std::int64_t process_bytes(const Card& card);

}  // namespace snug::fit
