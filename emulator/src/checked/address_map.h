// Where an address of a kernel lies: the card's allocations with their named parts, and the memory
// of the program that device code may read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace emulator {

struct Region {
  std::uintptr_t begin = 0, end = 0;
  std::string name;
  bool contains(std::uintptr_t address, std::size_t bytes) const {
    return address >= begin && address + bytes <= end;
  }
};

class AddressMap {
 public:
  AddressMap();

  void add(const void* address, std::size_t bytes);
  void remove(const void* address);
  void name(const void* address, std::size_t bytes, const std::string& name);
  void forget_names();

  // The part, or the allocation without parts, that holds all the bytes; null: none.
  const Region* find(std::uintptr_t address, std::size_t bytes);
  // "12 bytes after weights", for an address that find() did not know.
  std::string nearest(std::uintptr_t address) const;
  // Constants of the program.
  bool is_constant(std::uintptr_t address) const;

 private:
  std::map<std::uintptr_t, Region> allocations_, parts_;
  std::vector<Region> constants_;
  Region last_;
};

}  // namespace emulator
