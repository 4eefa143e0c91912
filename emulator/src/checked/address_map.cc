#include "checked/address_map.h"

#include <link.h>

namespace emulator {
namespace {

// Farther than this is no overrun.
constexpr std::uintptr_t kNear = 1 << 20;

const Region* region_at(const std::map<std::uintptr_t, Region>& regions, std::uintptr_t address) {
  auto next = regions.upper_bound(address);
  return next == regions.begin() ? nullptr : &std::prev(next)->second;
}

int add_constants(dl_phdr_info* info, std::size_t, void* out) {
  auto& constants = *static_cast<std::vector<Region>*>(out);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    // A relocated constant lies in a part that was writable while the program was loaded.
    if (part.p_type != PT_GNU_RELRO && (part.p_type != PT_LOAD || part.p_flags & PF_W)) continue;
    const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    constants.push_back({begin, begin + part.p_memsz, "constants"});
  }
  return 0;
}

}  // namespace

AddressMap::AddressMap() { dl_iterate_phdr(&add_constants, &constants_); }

void AddressMap::add(const void* address, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  allocations_[begin] = {begin, begin + bytes,
                         "an allocation of " + std::to_string(bytes) + " bytes"};
}

void AddressMap::remove(const void* address) {
  const auto found = allocations_.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == allocations_.end()) return;
  const Region gone = found->second;
  allocations_.erase(found);
  parts_.erase(parts_.lower_bound(gone.begin), parts_.lower_bound(gone.end));
  last_ = {};
}

void AddressMap::name(const void* address, std::size_t bytes, const std::string& name) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  parts_[begin] = {begin, begin + bytes, name};
  last_ = {};
}

void AddressMap::forget_names() {
  parts_.clear();
  last_ = {};
}

const Region* AddressMap::find(std::uintptr_t address, std::size_t bytes) {
  if (last_.contains(address, bytes)) return &last_;
  const Region* allocation = region_at(allocations_, address);
  if (!allocation || !allocation->contains(address, bytes)) return nullptr;
  const Region* part = region_at(parts_, address);
  const bool has_parts =
      parts_.lower_bound(allocation->begin) != parts_.lower_bound(allocation->end);
  if (has_parts && (!part || !part->contains(address, bytes))) return nullptr;
  last_ = has_parts ? *part : *allocation;
  return &last_;
}

std::string AddressMap::nearest(std::uintptr_t address) const {
  const Region* region = region_at(parts_, address);
  if (!region) region = region_at(allocations_, address);
  if (!region || (address > region->end && address - region->end > kNear)) return "";
  if (address < region->end) {
    return "in " + region->name + ", " + std::to_string(region->end - address) +
           " bytes before its end";
  }
  return std::to_string(address - region->end) + " bytes after " + region->name;
}

bool AddressMap::is_constant(std::uintptr_t address) const {
  for (const Region& region : constants_) {
    if (region.contains(address, 1)) return true;
  }
  return false;
}

}  // namespace emulator
