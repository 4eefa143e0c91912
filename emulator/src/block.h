// One block of a launch: its lanes as fibers of the calling OS thread, their barriers and warps,
// its shared memory. A Block is used again for block after block; its stacks stay.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "emulator/faults.h"
#include "emulator/lane.h"
#include "emulator/launch.h"
#include "fiber.h"

namespace emulator {

class Block;

enum class LaneState : std::uint8_t { kNew, kReady, kAtBarrier, kInMeeting, kReturned };

struct AsyncCopy {
  void* target;
  const void* source;
  std::size_t bytes, source_bytes;
  std::uint64_t group;
};

struct Lane : LaneIdentity {
  Block* owner = nullptr;
  LaneState state = LaneState::kNew;
  Context context;
  Stack* stack = nullptr;
  Site waits_at;
  void* argument = nullptr;
  std::vector<AsyncCopy> copies;
  std::uint64_t copy_group = 0;  // the one that is being filled
};

// Lanes of one warp that wait for each other.
struct Meeting {
  std::uint32_t mask = 0, arrived = 0;
  Together together = nullptr;
  const char* what = "";
  Site site;
};

struct Warp {
  std::uint32_t present = 0, returned = 0;
  std::uint64_t epoch = 0;  // counts its barriers
  std::vector<Meeting> meetings;
};

struct SharedObject {
  const void* declaration;
  char* address;
  std::size_t bytes;
};

class Block {
 public:
  static constexpr std::size_t kSharedRoom = 512 << 10;  // with the gaps between objects
  static constexpr std::size_t kSharedGap = 128;         // a row of banks

  Block();
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  // Runs all threads of block `index`. False if it found a fault.
  bool run(const KernelCall& call, const LaunchShape& shape, uint3 index);

  // Called by the lane that runs.
  void barrier(const Site& site);
  int count(int predicate, const Site& site);
  void meet(std::uint32_t mask, void* argument, Together together, const char* what,
            const Site& site);
  void warp_barrier(std::uint32_t mask, const Site& site);
  void* shared_object(const void* declaration, std::size_t bytes, std::size_t alignment);
  char* dynamic_shared() const { return shared_.get() + kSharedGap; }
  // Ends the running lane by an exception, so that what its frames hold is freed.
  [[noreturn]] void fail(FaultKind kind, const std::string& text);
  // The same from where none can pass: the compiler's hooks count as functions that do not throw.
  // What the lane's frames hold stays.
  [[noreturn]] void abandon(FaultKind kind, const std::string& text);

  Lane& lane() { return *running_; }
  Warp& warp_of(const Lane& lane) { return warps_[lane.index / kWarpLanes]; }
  std::uint64_t epoch() const { return epoch_; }
  const LaunchShape& shape() const { return *shape_; }
  const char* shared_begin() const { return shared_.get(); }
  const std::vector<SharedObject>& shared_objects() const { return objects_; }

 private:
  static void run_lane(void* lane);
  void prepare(uint3 index);
  void resume(Lane& lane);
  void wait();
  void lane_returns(Lane& lane);
  void release_barrier();
  void check_meeting(const Meeting& meeting, std::uint32_t mask, Together together,
                     const char* what, const Site& site);
  void complete(Warp& warp, std::size_t meeting, unsigned first_lane);
  void report_deadlock();
  void record(FaultKind kind, const Lane& lane, const std::string& text);

  const KernelCall* call_ = nullptr;
  const LaunchShape* shape_ = nullptr;
  unsigned lane_count_ = 0;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<unsigned> order_;
  unsigned order_version_ = 0;
  std::vector<Warp> warps_;
  std::vector<std::unique_ptr<Stack>> stacks_;
  std::vector<Stack*> free_stacks_;
  Context scheduler_;
  Lane* running_ = nullptr;
  bool failed_ = false;

  std::uint64_t epoch_ = 0;
  unsigned at_barrier_ = 0, returned_ = 0;
  int counting_ = 0, counted_ = 0;

  std::unique_ptr<char[], void (*)(char*)> shared_;
  std::size_t shared_used_ = 0, static_bytes_ = 0;
  std::vector<SharedObject> objects_;
};

// "attention.cu:120"
std::string place(const Site& site);

// The order in which a block's lanes get their turn, as set_lane_order() wants it, and how often
// that has been called.
std::vector<unsigned> lane_order(unsigned count);
unsigned lane_order_version();

}  // namespace emulator
