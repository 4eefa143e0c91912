// The watcher of the checked build: every load and store of a kernel, as the compiler's hooks
// report it, is looked up and checked before it happens. One OS thread.
#pragma once

#include <map>
#include <string>

#include "block.h"
#include "checked/address_map.h"
#include "checked/counting.h"
#include "checked/shadow.h"
#include "watcher.h"

namespace emulator {

class Checker final : public Watcher {
 public:
  void card_memory_appears(void* address, std::size_t bytes) override;
  void card_memory_goes(void* address, std::size_t bytes) override;
  void card_memory_written(void* address, std::size_t bytes) override;
  void launch_begins(const KernelCall& call, const LaunchShape& shape) override;
  void launch_ends() override;
  void block_begins(Block& block) override;
  void block_ends(Block& block) override;
  void shared_appears(Block& block, void* object, std::size_t bytes) override;
  void copy_issued(Lane& lane, void* target, std::size_t bytes, const void* source,
                   std::size_t source_bytes, const Site& site) override;
  void copy_landed(Lane& lane, void* target, std::size_t bytes) override;
  void lane_reads(const void* address, std::size_t bytes, const void* pc) override;
  void lane_writes(const void* address, std::size_t bytes, const void* pc) override;
  void lane_updates(const void* address, std::size_t bytes, const void* pc) override;
  void lane_ran_mma(Lane&, std::size_t multiply_adds) override;

  AddressMap addresses;
  Shadow shadow;
  RequestCounter requests;
  CacheModel cache;
  std::map<std::string, Counts> counts;

 private:
  enum class Access { kRead, kWrite, kUpdate };
  enum class Where { kOwn, kShared, kCard, kElsewhere };

  void access(const void* address, std::size_t bytes, Access kind, const void* pc);
  Where locate(Lane& lane, std::uintptr_t address, std::size_t bytes, Access kind,
               std::uint32_t place);
  void check_bytes(Lane& lane, std::uintptr_t address, std::size_t bytes, Access kind, Where where,
                   std::uint32_t place);
  void check_byte(Lane& lane, Cell& cell, std::uintptr_t address, Access kind, Where where,
                  const Stamp& now);
  [[noreturn]] void fail_race(Lane& lane, const Stamp& before, const char* did, const char* does,
                              std::uintptr_t address, const Stamp& now);
  std::string describe(const Lane& lane, std::uintptr_t address);
  Stamp stamp(Lane& lane, std::uint32_t place) const;

  void count_block(Block& block);

  std::uint32_t launch_ = 0;
  const KernelCall* call_ = nullptr;
  Counts* counting_ = nullptr;
};

Checker& checker();

}  // namespace emulator
