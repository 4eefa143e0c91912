// What the checked build is told of a running kernel. Without one nothing is called.
#pragma once

#include <cstddef>

#include "emulator/launch.h"
#include "emulator/site.h"

namespace emulator {

class Block;
struct Lane;

class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void card_memory_appears(void* address, std::size_t bytes) = 0;
  virtual void card_memory_goes(void* address, std::size_t bytes) = 0;
  // The host, a copy or a library wrote it.
  virtual void card_memory_written(void* address, std::size_t bytes) = 0;

  virtual void launch_begins(const KernelCall& call, const LaunchShape& shape) = 0;
  virtual void launch_ends() = 0;
  virtual void block_begins(Block& block) = 0;
  virtual void block_ends(Block& block) = 0;
  virtual void shared_appears(Block& block, void* object, std::size_t bytes) = 0;
  virtual void copy_issued(Lane& lane, void* target, std::size_t bytes, const void* source,
                           std::size_t source_bytes, const Site& site) = 0;
  virtual void copy_landed(Lane& lane, void* target, std::size_t bytes) = 0;
  virtual void lane_reads(const void* address, std::size_t bytes, const void* program_counter) = 0;
  virtual void lane_writes(const void* address, std::size_t bytes, const void* program_counter) = 0;
  virtual void lane_updates(const void* address, std::size_t bytes,
                            const void* program_counter) = 0;
  virtual void lane_ran_mma(Lane& lane, std::size_t multiply_adds) = 0;
};

extern Watcher* g_watcher;  // null: plain build

}  // namespace emulator
