#include "checked/counting.h"

#include <algorithm>
#include <bit>
#include <set>

namespace emulator {
namespace {

constexpr std::size_t kBanks = 32, kWordBytes = 4;

}  // namespace

double Counts::traffic_ratio() const {
  const std::uint64_t least = distinct_read + distinct_written;
  return least ? static_cast<double>(bytes_read + bytes_written) / static_cast<double>(least) : 0;
}

double Counts::memory_ratio() const {
  const std::uint64_t least = distinct_read + distinct_written;
  return least ? static_cast<double>(memory_read + memory_written) / static_cast<double>(least) : 0;
}

double Counts::sectors_used() const {
  return block_sectors
             ? static_cast<double>(block_bytes) / static_cast<double>(block_sectors * kSectorBytes)
             : 1;
}

double Counts::requests_used() const {
  return sectors ? static_cast<double>(request_bytes) / static_cast<double>(sectors * kSectorBytes)
                 : 1;
}

double Counts::bank_conflicts() const {
  return min_shared_passes ? static_cast<double>(shared_passes - min_shared_passes) /
                                 static_cast<double>(min_shared_passes)
                           : 0;
}

void RequestCounter::access(const Lane& lane, std::uintptr_t address, std::size_t bytes,
                            bool is_shared, bool writes, std::uint32_t place) {
  const std::uint32_t turn = turns_[static_cast<std::uint64_t>(lane.index) << 32 | place]++;
  const Key key{lane.index / kWarpLanes, place, turn};
  const std::size_t index = index_.emplace(key, requests_.size()).first->second;
  if (index == requests_.size()) requests_.emplace_back();
  Request& request = requests_[index];
  request.is_shared = is_shared;
  request.writes = writes;
  request.bytes[lane.index % kWarpLanes] =
      static_cast<std::uint8_t>(std::min<std::size_t>(bytes, 16));
  request.addresses[lane.index % kWarpLanes] = address;
}

std::vector<SectorUse> RequestCounter::count_global(const Request& request, Counts& counts) {
  std::vector<std::uintptr_t> sectors, touched;
  for (unsigned i = 0; i < kWarpLanes; ++i) {
    for (std::size_t b = 0; b < request.bytes[i]; ++b) {
      const std::uintptr_t byte = request.addresses[i] + b;
      touched.push_back(byte);
      sectors.push_back(byte / kSectorBytes);
      bytes_of_sector_[byte / kSectorBytes] |= 1U << byte % kSectorBytes;
    }
  }
  const auto make_distinct = [](std::vector<std::uintptr_t>& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
  };
  make_distinct(sectors);
  make_distinct(touched);
  ++counts.requests;
  counts.sectors += sectors.size();
  counts.request_bytes += touched.size();
  std::vector<SectorUse> uses;
  for (const std::uintptr_t sector : sectors) uses.push_back({sector, request.writes});
  return uses;
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
    counts.min_shared_passes += passes > 0;
  }
}

BlockTrace RequestCounter::block_ends(Counts& counts) {
  BlockTrace trace;
  for (const Request& request : requests_) {
    if (request.is_shared) {
      count_shared(request, counts);
    } else {
      trace.push_back(count_global(request, counts));
    }
  }
  for (const auto& [sector, bytes] : bytes_of_sector_) {
    ++counts.block_sectors;
    counts.block_bytes += static_cast<std::uint64_t>(std::popcount(bytes));
  }
  bytes_of_sector_.clear();
  requests_.clear();
  index_.clear();
  turns_.clear();
  return trace;
}

}  // namespace emulator
