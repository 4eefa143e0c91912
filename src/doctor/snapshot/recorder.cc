#include "doctor/snapshot/recorder.h"

#include <algorithm>
#include <utility>

namespace snug::doctor::snapshot {

void Recorder::add(const Event& event) {
  if (trace_.event_count + 1 == kNeverFreed) return;
  if (event.time_us > 0) {
    if (trace_.begin_us == 0) trace_.begin_us = event.time_us;
    trace_.end_us = std::max(trace_.end_us, event.time_us);
  }
  switch (event.action) {
    case Action::kAlloc:
      allocate(event);
      break;
    case Action::kFree:
      free(event);
      break;
    case Action::kSegmentAlloc:
    case Action::kSegmentFree:
      if (trace_.out_of_memory) {
        trace_.out_of_memory->reserved_change_bytes +=
            event.action == Action::kSegmentAlloc ? event.bytes : -event.bytes;
      }
      break;
    case Action::kOutOfMemory:
      fail(event);
      break;
    case Action::kOther:
      break;
  }
  ++trace_.event_count;
}

void Recorder::allocate(const Event& event) {
  if (!has_room()) return;
  const auto life = static_cast<std::uint32_t>(trace_.lives.size());
  trace_.lives.push_back({event.bytes, event.stack, trace_.event_count, kNeverFreed, false});
  const auto [place, is_new] = held_.try_emplace(event.address, life);
  if (is_new) return;
  trace_.lives[place->second].died = trace_.event_count;  // its end was not recorded
  place->second = life;
}

void Recorder::free(const Event& event) {
  if (const auto found = held_.find(event.address); found != held_.end()) {
    trace_.lives[found->second].died = trace_.event_count;
    held_.erase(found);
    return;
  }
  if (!has_room()) return;
  // Nothing was recorded of how it was made: neither stack nor moment.
  const auto life = static_cast<std::uint32_t>(trace_.lives.size());
  trace_.lives.push_back({event.bytes, kNoStack, 0, trace_.event_count, true});
  if (trace_.out_of_memory && trace_.out_of_memory->held.size() < max_lives_)
    trace_.out_of_memory->held.push_back({event.address, life});
}

void Recorder::fail(const Event& event) {
  if (++trace_.out_of_memory_count > kFailures) return;
  OutOfMemory failure;
  failure.event = trace_.event_count;
  failure.request_bytes = event.bytes;
  failure.device_free_bytes = event.device_free_bytes;
  failure.stack = event.stack;
  failure.held.reserve(held_.size());
  for (const auto& [address, life] : held_) failure.held.push_back({address, life});
  trace_.out_of_memory = std::move(failure);
}

bool Recorder::has_room() {
  if (is_full_) return false;
  if (trace_.lives.size() < max_lives_) return true;
  keep_from(trace_.first_event + (trace_.event_count - trace_.first_event) / 2);
  if (trace_.lives.size() > max_lives_ / 2) keep_from(trace_.event_count);
  is_full_ = trace_.lives.size() > max_lives_ / 2;
  return !is_full_;
}

// Lets go of what ended before.
void Recorder::keep_from(std::uint32_t event) {
  std::vector<std::uint32_t> moved(trace_.lives.size(), kNoLife);
  std::deque<Life> kept;
  for (std::size_t i = 0; i < trace_.lives.size(); ++i) {
    if (trace_.lives[i].died < event) continue;
    moved[i] = static_cast<std::uint32_t>(kept.size());
    kept.push_back(trace_.lives[i]);
  }
  trace_.lives = std::move(kept);
  for (auto& [address, life] : held_) life = moved[life];
  if (trace_.out_of_memory) {
    std::erase_if(trace_.out_of_memory->held,
                  [&](const HeldAt& held) { return moved[held.life] == kNoLife; });
    for (HeldAt& held : trace_.out_of_memory->held) held.life = moved[held.life];
  }
  trace_.first_event = event;
}

Trace Recorder::finish() {
  if (trace_.out_of_memory) {
    std::sort(trace_.out_of_memory->held.begin(), trace_.out_of_memory->held.end(),
              [](const HeldAt& a, const HeldAt& b) { return a.address < b.address; });
  }
  return std::move(trace_);
}

}  // namespace snug::doctor::snapshot
