// What the checked build knows of each byte that kernels may touch: whether it was ever written,
// who wrote it last and who read it since, and when by the block's and the warp's barriers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace emulator {

// Who and when. "Several" marks are of reads that no barrier orders among themselves.
struct Stamp {
  std::uint32_t launch = 0, block = 0;
  std::uint32_t epoch = 0, warp_epoch = 0;
  std::uint16_t thread = 0;
  bool several_lanes = false, several_warps = false, several_blocks = false;
  bool atomic = false;
  std::uint32_t place = 0;  // of the instruction, from the program's start
};

struct Cell {
  Stamp write, read;
  bool defined = false;
  bool pending = false;  // a target of an asynchronous copy before its wait
};

// Whether everything that `before` stands for happened before `now`.
bool ordered(const Stamp& before, const Stamp& now);

// `before` and `now` as one stamp of reads.
Stamp joined(const Stamp& before, const Stamp& now);

class Shadow {
 public:
  Cell& operator[](std::uintptr_t address) {
    const std::uintptr_t page = address / kPageBytes;
    if (page != last_page_) {
      std::unique_ptr<Page>& held = pages_[page];
      if (!held) held = std::make_unique<Page>();
      last_ = held.get();
      last_page_ = page;
    }
    return (*last_)[address % kPageBytes];
  }
  void forget(std::uintptr_t address, std::size_t bytes);
  void undefine(std::uintptr_t address, std::size_t bytes);

 private:
  // visit(cell) for those of the bytes whose page is there: of others nothing is known.
  template <typename Visit>
  void for_each_known(std::uintptr_t address, std::size_t bytes, Visit visit);

  static constexpr std::size_t kPageBytes = 1024;
  using Page = std::array<Cell, kPageBytes>;
  std::unordered_map<std::uintptr_t, std::unique_ptr<Page>> pages_;
  std::uintptr_t last_page_ = ~std::uintptr_t{0};
  Page* last_ = nullptr;
};

}  // namespace emulator
