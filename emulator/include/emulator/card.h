// The fake card: how large it is, what it is told to get wrong, what it has seen. Host code that
// runs on it uses CUDA's own names (cuda_runtime_api.h, cublasLt.h) and knows nothing of this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cublasLt.h"
#include "cuda_runtime_api.h"

namespace emulator {

struct CardSettings {
  std::string name = "Emulated card";
  int compute_major = 8, compute_minor = 6;
  int multiprocessors = 28;
  std::size_t capacity_bytes = std::size_t{12} << 30;
  std::size_t held_bytes = 0;                          // by other programs
  std::size_t context_bytes = std::size_t{256} << 20;  // taken by the first call that needs one
  int clock_khz = 1777000, memory_clock_khz = 7501000, bus_width_bits = 192;
  std::size_t l2_bytes = std::size_t{2304} << 10;
  int driver_version = 13000;  // 12080 is older than the runtime
};

// "rtx3060", "rtx4070", ...: see card_names().
std::optional<CardSettings> card_by_name(const std::string& name);
std::vector<std::string> card_names();

// Puts another card into the machine: allocations, streams, errors and orders of the old one are
// forgotten. nullopt: none at all. Before the first call there is an rtx3060.
void insert_card(std::optional<CardSettings> settings);

// What the program allocated (as asked for, without rounding).
struct CardUse {
  std::size_t live_bytes = 0, high_water_bytes = 0, pinned_bytes = 0, pinned_high_water_bytes = 0;
  std::size_t live_allocations = 0, allocations_ever = 0;
  std::uint64_t launches = 0, copies = 0, matmuls = 0;
};
CardUse card_use();

// Eager: an operation runs when it is enqueued. Lazy: operations wait for a synchronisation, the
// youngest stream goes first, and pinned targets of copies are NaN until then, so that a missing
// event or synchronisation shows.
enum class StreamMode { kEager, kLazy };
void set_stream_mode(StreamMode mode);

// Orders for trouble. Each happens once.
void fail_malloc_after(unsigned successes);
void fail_pinned_after(unsigned successes);
// cublasLtMatmul answers with `status`; the card itself is well, and its last error is clean.
void fail_matmul_after(unsigned successes, cublasStatus_t status = CUBLAS_STATUS_EXECUTION_FAILED);
// A product comes out a hundredth too large.
void spoil_matmul_after(unsigned successes);
// From now on products cut their 16-bit results off instead of rounding them, until another card is
// inserted: no number is off by more than a unit, but all to one side.
void truncate_matmuls();
// From now on tensor cores add up as cards do, until another card is inserted: they align eight
// products to the largest and cut off what is below a float. Slow.
void cut_off_sums();
void lose_card_after(std::uint64_t operations, cudaError_t error = cudaErrorUnknown);
// Other programs take or give back memory.
void set_held_bytes(std::size_t bytes);

// For which products cuBLASLt's heuristic finds algorithms, until another card is inserted: for
// the others it answers `refusal`: NVIDIA's says "not supported" for shapes and epilogues that it
// lacks, and "invalid value" for some.
enum class KnownProducts { kAll, kWithoutEpilogue, kNone };
void set_known_products(KnownProducts known, cublasStatus_t refusal = CUBLAS_STATUS_NOT_SUPPORTED);

}  // namespace emulator
