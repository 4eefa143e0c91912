// Allocations and frees of one device, as they are recorded, into lives.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "doctor/snapshot/snapshot.h"

namespace snug::doctor::snapshot {

enum class Action : std::uint8_t {
  kAlloc,
  kFree,  // completed: the bytes may be used again
  kSegmentAlloc,
  kSegmentFree,
  kOutOfMemory,
  kOther,
};

struct Event {
  Action action = Action::kOther;
  std::int64_t address = 0;
  std::int64_t bytes = 0;
  std::int64_t time_us = 0;
  std::int64_t device_free_bytes = 0;
  std::uint32_t stack = kNoStack;
};

class Recorder {
 public:
  // More lives than that: the earliest that have ended are let go. 72 MiB.
  static constexpr std::size_t kLives = 3 << 20;
  // A copy of what is held is made for so many failures; further ones are counted.
  static constexpr std::int64_t kFailures = 1000;

  // At most `max_lives`, which is at most kLives.
  explicit Recorder(std::size_t max_lives = kLives) : max_lives_(max_lives) {}

  void add(const Event& event);
  std::size_t life_count() const { return trace_.lives.size(); }
  // By address: the lives that have not ended.
  const std::unordered_map<std::int64_t, std::uint32_t>& held() const { return held_; }
  // The recorder is spent.
  Trace finish();

 private:
  void allocate(const Event& event);
  void free(const Event& event);
  void fail(const Event& event);
  bool has_room();
  void keep_from(std::uint32_t event);

  std::size_t max_lives_;
  bool is_full_ = false;  // of what still lives: no more is recorded
  Trace trace_;
  std::unordered_map<std::int64_t, std::uint32_t> held_;  // address: life
};

}  // namespace snug::doctor::snapshot
