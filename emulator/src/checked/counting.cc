#include "checked/counting.h"

#include <algorithm>
#include <set>

namespace emulator {
namespace {

constexpr std::size_t kSectorBytes = 32, kBanks = 32, kWordBytes = 4;

}  // namespace

double Counts::traffic_ratio() const {
  const std::uint64_t least = distinct_read + distinct_written;
  return least ? static_cast<double>(bytes_read + bytes_written) / static_cast<double>(least) : 0;
}

double Counts::sectors_used() const {
  return sectors ? static_cast<double>(request_bytes) / static_cast<double>(sectors * kSectorBytes)
                 : 1;
}

double Counts::bank_conflicts() const {
  return shared_passes_least ? static_cast<double>(shared_passes - shared_passes_least) /
                                   static_cast<double>(shared_passes_least)
                             : 0;
}

void RequestCounter::access(const Lane& lane, std::uintptr_t address, std::size_t bytes,
                            bool is_shared, std::uint32_t place) {
  const std::uint32_t turn = turns_[static_cast<std::uint64_t>(lane.index) << 32 | place]++;
  Request& request = requests_[{lane.index / kWarpLanes, place, turn}];
  request.is_shared = is_shared;
  request.bytes[lane.index % kWarpLanes] =
      static_cast<std::uint8_t>(std::min<std::size_t>(bytes, 16));
  request.addresses[lane.index % kWarpLanes] = address;
}

void RequestCounter::count_global(const Request& request, Counts& counts) {
  std::vector<std::uintptr_t> sectors, touched;
  for (unsigned i = 0; i < kWarpLanes; ++i) {
    for (std::size_t b = 0; b < request.bytes[i]; ++b) {
      touched.push_back(request.addresses[i] + b);
      sectors.push_back((request.addresses[i] + b) / kSectorBytes);
    }
  }
  const auto distinct = [](std::vector<std::uintptr_t>& values) {
    std::sort(values.begin(), values.end());
    return static_cast<std::uint64_t>(std::unique(values.begin(), values.end()) - values.begin());
  };
  ++counts.requests;
  counts.sectors += distinct(sectors);
  counts.request_bytes += distinct(touched);
}

// Wide accesses go in parts of the warp that together ask for at most 128 bytes.
void RequestCounter::count_shared(const Request& request, Counts& counts) {
  const std::size_t widest = *std::max_element(std::begin(request.bytes), std::end(request.bytes));
  const unsigned lanes_at_once = widest >= 16 ? 8 : widest >= 8 ? 16 : 32;
  for (unsigned first = 0; first < kWarpLanes; first += lanes_at_once) {
    std::set<std::uintptr_t> words_of_bank[kBanks];
    std::size_t passes = 0;
    for (unsigned i = first; i < first + lanes_at_once; ++i) {
      for (std::size_t b = 0; b < request.bytes[i]; b += kWordBytes) {
        const std::uintptr_t word = (request.addresses[i] + b) / kWordBytes;
        words_of_bank[word % kBanks].insert(word);
        passes = std::max(passes, words_of_bank[word % kBanks].size());
      }
    }
    counts.shared_passes += passes;
    counts.shared_passes_least += passes > 0;
  }
}

void RequestCounter::block_ends(Counts& counts) {
  for (const auto& [key, request] : requests_) {
    request.is_shared ? count_shared(request, counts) : count_global(request, counts);
  }
  requests_.clear();
  turns_.clear();
}

}  // namespace emulator
