#include "block.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <utility>

#include "fault_log.h"
#include "watcher.h"

namespace emulator {

constinit thread_local const LaneIdentity* t_lane = nullptr;
Watcher* g_watcher = nullptr;

namespace {

struct LaneFailed {};

}  // namespace

std::string place(const Site& site) {
  const std::string file = site.file_name();
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(site.line());
}

Block::Block()
    : shared_(static_cast<char*>(std::aligned_alloc(4096, kSharedRoom)),
              [](char* room) { std::free(room); }) {
  if (!shared_) throw std::bad_alloc();
}

Block::~Block() = default;

void Block::prepare(uint3 index) {
  const dim3 threads = shape_->block;
  lane_count_ = threads.x * threads.y * threads.z;
  while (lanes_.size() < lane_count_) lanes_.push_back(std::make_unique<Lane>());
  if (order_.size() != lane_count_ || order_version_ != lane_order_version()) {
    order_ = lane_order(lane_count_);
    order_version_ = lane_order_version();
  }
  warps_.assign((lane_count_ + kWarpLanes - 1) / kWarpLanes, Warp());
  for (unsigned i = 0; i < lane_count_; ++i) {
    Lane& lane = *lanes_[i];
    lane.thread = {i % threads.x, i / threads.x % threads.y, i / (threads.x * threads.y)};
    lane.block = index;
    lane.block_shape = threads;
    lane.grid_shape = shape_->grid;
    lane.index = i;
    lane.owner = this;
    lane.state = LaneState::kNew;
    lane.copies.clear();
    lane.copy_group = 0;
    warps_[i / kWarpLanes].present |= 1U << i % kWarpLanes;
  }
  free_stacks_.clear();
  for (const auto& stack : stacks_) free_stacks_.push_back(stack.get());
  failed_ = false;
  epoch_ = 0;
  at_barrier_ = returned_ = 0;
  counting_ = counted_ = 0;
  objects_.clear();
  static_bytes_ = 0;
  const std::size_t dynamic_bytes = shape_->dynamic_shared_bytes;
  shared_used_ =
      kSharedGap + (dynamic_bytes + kSharedGap - 1) / kSharedGap * kSharedGap + kSharedGap;
  std::memset(dynamic_shared(), 0xFF, dynamic_bytes);  // NaN
  objects_.push_back({nullptr, dynamic_shared(), dynamic_bytes});
}

bool Block::run(const KernelCall& call, const LaunchShape& shape, uint3 index) {
  call_ = &call;
  shape_ = &shape;
  prepare(index);
  if (g_watcher) g_watcher->block_begins(*this);
  while (returned_ < lane_count_ && !failed_) {
    bool moved = false;
    for (const unsigned i : order_) {
      Lane& lane = *lanes_[i];
      if (lane.state != LaneState::kNew && lane.state != LaneState::kReady) continue;
      moved = true;
      resume(lane);
      if (failed_) break;
    }
    if (!moved) report_deadlock();
  }
  if (g_watcher) g_watcher->block_ends(*this);
  return !failed_;
}

void Block::resume(Lane& lane) {
  if (lane.state == LaneState::kNew) {
    if (free_stacks_.empty()) {
      stacks_.push_back(std::make_unique<Stack>());
      free_stacks_.push_back(stacks_.back().get());
    }
    lane.stack = free_stacks_.back();
    free_stacks_.pop_back();
    lane.context.start(*lane.stack, &Block::run_lane, &lane);
  }
  running_ = &lane;
  t_lane = &lane;
  scheduler_.switch_to(lane.context);
  t_lane = nullptr;
  running_ = nullptr;
  if (lane.state == LaneState::kReturned) free_stacks_.push_back(lane.stack);
}

void Block::run_lane(void* argument) {
  Lane& lane = *static_cast<Lane*>(argument);
  Block& block = *lane.owner;
  try {
    block.call_->run_thread();
    block.lane_returns(lane);
  } catch (const LaneFailed&) {
  }
  lane.context.switch_to(block.scheduler_, true);
}

void Block::wait() { running_->context.switch_to(scheduler_); }

void Block::lane_returns(Lane& lane) {
  lane.state = LaneState::kReturned;
  ++returned_;
  const std::uint32_t bit = 1U << lane.index % kWarpLanes;
  Warp& warp = warp_of(lane);
  warp.returned |= bit;
  for (const Meeting& meeting : warp.meetings) {
    if (!(meeting.mask & bit)) continue;
    fail(FaultKind::kExitedLane, std::string("returns while its warp waits for it in ") +
                                     meeting.what + " at " + place(meeting.site));
  }
  if (at_barrier_ > 0 && at_barrier_ + returned_ == lane_count_) release_barrier();
}

void Block::release_barrier() {
  for (unsigned i = 0; i < lane_count_; ++i) {
    Lane& lane = *lanes_[i];
    if (lane.state == LaneState::kAtBarrier) lane.state = LaneState::kReady;
  }
  at_barrier_ = 0;
  ++epoch_;
  counted_ = counting_;
  counting_ = 0;
}

void Block::barrier(const Site& site) {
  Lane& self = lane();
  if (at_barrier_ > 0) {
    for (unsigned i = 0; i < lane_count_; ++i) {
      const Lane& other = *lanes_[i];
      if (other.state != LaneState::kAtBarrier) continue;
      if (same_site(other.waits_at, site)) break;
      fail(FaultKind::kDivergence, "reaches the barrier at " + place(site) + " while thread " +
                                       std::to_string(i) + " waits in the one at " +
                                       place(other.waits_at));
    }
  }
  self.waits_at = site;
  self.state = LaneState::kAtBarrier;
  if (++at_barrier_ + returned_ == lane_count_) {
    release_barrier();
    self.state = LaneState::kReady;
    return;
  }
  wait();
}

int Block::count(int predicate, const Site& site) {
  counting_ += predicate != 0;
  barrier(site);
  return counted_;
}

void Block::check_meeting(const Meeting& meeting, std::uint32_t mask, Together together,
                          const char* what, const Site& site) {
  if (meeting.mask == mask && meeting.together == together && same_site(meeting.site, site)) return;
  fail(FaultKind::kDivergence, std::string("is in ") + what + " at " + place(site) +
                                   " while lanes of its warp wait for it in " + meeting.what +
                                   " at " + place(meeting.site));
}

void Block::meet(std::uint32_t mask, void* argument, Together together, const char* what,
                 const Site& site) {
  Lane& self = lane();
  Warp& warp = warp_of(self);
  const std::uint32_t bit = 1U << self.index % kWarpLanes;
  mask &= warp.present;
  if (!(mask & bit)) {
    fail(FaultKind::kDivergence,
         std::string("calls ") + what + " at " + place(site) + " with a mask without itself");
  }
  if (mask & warp.returned) {
    fail(FaultKind::kExitedLane,
         std::string("waits in ") + what + " at " + place(site) + " for lanes that have returned");
  }
  std::size_t found = warp.meetings.size();
  for (std::size_t i = 0; i < warp.meetings.size(); ++i) {
    if (!(warp.meetings[i].mask & mask)) continue;
    check_meeting(warp.meetings[i], mask, together, what, site);
    found = i;
  }
  if (found == warp.meetings.size()) warp.meetings.push_back({mask, 0, together, what, site});
  Meeting& meeting = warp.meetings[found];
  meeting.arrived |= bit;
  self.argument = argument;
  self.waits_at = site;
  self.state = LaneState::kInMeeting;
  if (meeting.arrived == mask) {
    complete(warp, found, self.index / kWarpLanes * kWarpLanes);
    return;
  }
  wait();
}

void Block::complete(Warp& warp, std::size_t index, unsigned first_lane) {
  const Meeting meeting = warp.meetings[index];
  warp.meetings.erase(warp.meetings.begin() + static_cast<std::ptrdiff_t>(index));
  void* arguments[kWarpLanes] = {};
  for (unsigned i = 0; i < kWarpLanes; ++i) {
    if (!(meeting.mask >> i & 1)) continue;
    Lane& lane = *lanes_[first_lane + i];
    arguments[i] = lane.argument;
    lane.state = LaneState::kReady;
  }
  if (!meeting.together) return;
  // Lanes hand over what lies on their stacks: no access of device code.
  const LaneIdentity* self = std::exchange(t_lane, nullptr);
  meeting.together(arguments, meeting.mask);
  t_lane = self;
}

void Block::warp_barrier(std::uint32_t mask, const Site& site) {
  Warp& warp = warp_of(lane());
  const std::uint64_t before = warp.epoch;
  meet(mask, nullptr, nullptr, "__syncwarp", site);
  if (warp.epoch == before) ++warp.epoch;
}

void* Block::shared_object(const void* declaration, std::size_t bytes, std::size_t alignment) {
  for (const SharedObject& object : objects_) {
    if (object.declaration == declaration) return object.address;
  }
  static_bytes_ += (bytes + alignment - 1) / alignment * alignment;
  const std::size_t total = static_bytes_ + shape_->dynamic_shared_bytes;
  if (static_bytes_ > kStaticSharedLimit || total > shape_->shared_limit_bytes) {
    fail(FaultKind::kSharedMemory, std::to_string(static_bytes_) + " bytes of static and " +
                                       std::to_string(shape_->dynamic_shared_bytes) +
                                       " of dynamic shared memory are more than the card has");
  }
  char* address = shared_.get() + shared_used_;
  shared_used_ += (bytes + kSharedGap - 1) / kSharedGap * kSharedGap + kSharedGap;
  std::memset(address, 0xFF, bytes);  // NaN
  objects_.push_back({declaration, address, bytes});
  if (g_watcher) g_watcher->shared_appears(*this, address, bytes);
  return address;
}

void Block::record(FaultKind kind, const Lane& lane, const std::string& text) {
  Fault fault{kind,
              kernel_name(call_->function()),
              {lane.block.x, lane.block.y, lane.block.z},
              {lane.thread.x, lane.thread.y, lane.thread.z},
              text};
  log_fault(std::move(fault));
}

void Block::fail(FaultKind kind, const std::string& text) {
  record(kind, lane(), text);
  failed_ = true;
  throw LaneFailed();
}

void Block::abandon(FaultKind kind, const std::string& text) {
  record(kind, lane(), text);
  failed_ = true;
  lane().context.switch_to(scheduler_, true);
  std::abort();
}

void Block::report_deadlock() {
  std::map<std::string, unsigned> waiting;
  const Lane* first = nullptr;
  for (unsigned i = 0; i < lane_count_; ++i) {
    const Lane& lane = *lanes_[i];
    if (lane.state == LaneState::kReturned) continue;
    if (!first) first = &lane;
    ++waiting[(lane.state == LaneState::kAtBarrier ? "the barrier at " : "the warp at ") +
              place(lane.waits_at)];
  }
  std::string text = "no thread can go on:";
  for (const auto& [where, count] : waiting) {
    text += " " + std::to_string(count) + " wait in " + where + ";";
  }
  text += " " + std::to_string(returned_) + " have returned";
  record(FaultKind::kDeadlock, *first, text);
  failed_ = true;
}

}  // namespace emulator
