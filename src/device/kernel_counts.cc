// Compiled with the checked kernels: `cuda` is their namespace here (see cmake/snug_cuda.cmake).
#include "device/kernel_counts.h"

#include <map>
#include <string_view>

#include "device/counted_calls.h"
#include "emulator/card.h"
#include "emulator/counters.h"
#include "emulator/watch.h"
#include "fit/cards.h"

namespace snug::device {
namespace {

// "norm_kernel" of "void snug::cuda::(anonymous namespace)::norm_kernel<...>(...)".
std::string plain_name(std::string name) {
  constexpr std::string_view kUnnamed = "(anonymous namespace)::";
  for (auto at = name.find(kUnnamed); at != std::string::npos; at = name.find(kUnnamed)) {
    name.erase(at, kUnnamed.size());
  }
  name = name.substr(0, name.find_first_of("<("));
  const auto colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

// Lists of indices: their places follow the tokens. What they move is small.
bool is_index_kernel(const std::string& kernel) {
  for (const char* name : {"claim_kernel", "slot_kernel", "key_kernel", "sort_kernel"}) {
    if (kernel == name) return true;
  }
  return false;
}

struct Peaks {
  double bytes, tensor_multiply_adds, shared_passes;  // per second
};
Peaks peaks_of(const emulator::CardSettings& settings, const fit::Card& card) {
  return {card.bandwidth_gbs * 1e9, card.bf16_tflops * 1e12 / 2,
          static_cast<double>(settings.multiprocessors) * settings.clock_khz * 1e3};
}

KernelCounts row_of(const CountedCall& call, const std::string& kernel,
                    const emulator::Counts& counts, const Peaks& peaks) {
  KernelCounts row;
  row.kernel = kernel;
  row.call = call.name;
  row.streams = call.streams && !is_index_kernel(kernel);
  row.launches = counts.launches;
  row.min_bytes = static_cast<double>(counts.distinct_read + counts.distinct_written);
  row.memory_bytes = static_cast<double>(counts.memory_read + counts.memory_written);
  row.sectors_used = counts.sectors_used();
  row.requests_used = counts.requests_used();
  row.shared_passes = static_cast<double>(counts.shared_passes);
  row.bank_conflicts = counts.bank_conflicts();
  row.multiply_adds = static_cast<double>(counts.multiply_adds);
  row.memory_seconds = row.memory_bytes / peaks.bytes;
  row.tensor_seconds = row.multiply_adds / peaks.tensor_multiply_adds;
  row.shared_seconds = row.shared_passes / peaks.shared_passes;
  return row;
}

}  // namespace

bool can_count_kernels() { return true; }

CountedCard count_kernels(const std::string& card) {
  emulator::watch_kernels();
  const emulator::CardSettings settings = emulator::card_by_name(card).value();
  emulator::insert_card(settings);
  CountedCard counted{
      card, settings.name, settings.compute_major * 10 + settings.compute_minor, {}};
  const Peaks peaks = peaks_of(settings, fit::card_named(card));
  cudaDeviceProp facts = {};
  cudaGetDeviceProperties(&facts, 0);
  for (const CountedCall& call : counted_calls()) {
    emulator::start_counting();
    call.run();
    const auto counts_of = emulator::take_counts();
    double multiply_adds = 0;
    for (const auto& [name, counts] : counts_of) {
      multiply_adds += static_cast<double>(counts.multiply_adds);
    }
    for (const auto& [name, counts] : counts_of) {
      KernelCounts row = row_of(call, plain_name(name), counts, peaks);
      row.warps_share = static_cast<double>(counts.blocks_at_once * counts.threads_per_block) /
                        facts.maxThreadsPerMultiProcessor;
      // The call's least is shared out by what its kernels do.
      if (row.multiply_adds > 0) {
        row.min_multiply_adds = call.min_multiply_adds * row.multiply_adds / multiply_adds;
      }
      counted.kernels.push_back(row);
    }
  }
  return counted;
}

}  // namespace snug::device
