#include "cli/device_snapshot.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>

#include "base/bytes.h"
#include "base/integers.h"

namespace snug::cli {
namespace {

std::string own_cgroups() {
  std::ifstream file("/proc/self/cgroup");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::optional<std::int64_t> address_space_limit() {
  constexpr auto kMax = static_cast<rlim_t>(std::numeric_limits<std::int64_t>::max());
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur >= kMax) return std::nullopt;
  return static_cast<std::int64_t>(limit.rlim_cur);
}

MemoryFacts memory_facts() {
  MemoryFacts facts;
  facts.now = machine::host_memory();
  facts.now.available_bytes = std::min(facts.now.available_bytes, facts.now.total_bytes);
  facts.machine_bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  const machine::HostMemory empty{facts.machine_bytes, facts.machine_bytes, "machine"};
  const machine::HostMemory limited =
      machine::within_cgroups(empty, "/sys/fs/cgroup", own_cgroups());
  if (limited.total_bytes < facts.machine_bytes) facts.cgroup_limit_bytes = limited.total_bytes;
  facts.ulimit_bytes = address_space_limit();
  return facts;
}

// Drivers report up to a tenth less than is sold, and never more than a rounding.
bool has_memory(const fit::Card& card, std::int64_t total_bytes) {
  const double share =
      static_cast<double>(total_bytes) / static_cast<double>(card.memory_mib * kMiB);
  return share > 0.88 && share < 1.02;
}

}  // namespace

DeviceSnapshot take_snapshot(const cuda::Nvml& nvml, const cuda::CudaOrder& order) {
  DeviceSnapshot snapshot{nvml.read(), memory_facts(),
                          machine::largest_processes(kLargestProcesses)};
  cuda::number_cards(order, snapshot.gpu);
  return snapshot;
}

std::string card_number(const cuda::CardReading& card) {
  return card.is_hidden() ? "-" : std::to_string(card.cuda_index.value_or(card.index));
}

const fit::Card* known_card(const cuda::CardReading& card) {
  const fit::Card* named = fit::find_card(card.name);
  if (!card.total_bytes) return named;
  if (named != nullptr && has_memory(*named, *card.total_bytes)) return named;
  // Only the memory tells an RTX 4060 Ti with 16 GB from one with 8.
  const std::int64_t gib = ceil_div(*card.total_bytes, kGiB);
  const fit::Card* variant = fit::find_card(fmt::format("{} {}GB", card.name, gib));
  return variant != nullptr && has_memory(*variant, *card.total_bytes) ? variant : nullptr;
}

std::optional<std::int64_t> usable_bytes(const cuda::CardReading& card) {
  if (!card.free_bytes || card.is_divided) return std::nullopt;
  const fit::Card* known = known_card(card);
  const fit::ContextRange context = fit::cuda_context(known ? *known : fit::assumed_card());
  return std::max<std::int64_t>(0, *card.free_bytes - context.high_bytes);
}

}  // namespace snug::cli
