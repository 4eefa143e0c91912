// SnapshotBuilder: what the dicts say, and the whole in the end.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "doctor/snapshot/builder.h"

namespace snug::doctor::snapshot {
namespace {

// No allocation of a card is larger, and sums of a million stay within 63 bits.
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 39;

}  // namespace

std::int64_t SnapshotBuilder::bytes_in(const Record& record, Key key) const {
  const std::int64_t bytes = record.get(key);
  if (bytes < 0 || bytes > kMaxBytes) {
    fail(fmt::format("{} = {} is no size of memory", kKeyTexts[static_cast<std::size_t>(key)],
                     bytes));
  }
  return bytes;
}

std::uint32_t SnapshotBuilder::take_frame(const Record& record) {
  Frame frame;
  frame.file = static_cast<std::uint32_t>(record.get(Key::kFilename));
  frame.function = static_cast<std::uint32_t>(record.get(Key::kName));
  frame.line = record.get(Key::kLine);
  const std::size_t count = out_.texts.size();
  if (frame.file >= count || frame.function >= count) fail("a frame's names are no texts");
  return tables_.frame(frame);
}

Event SnapshotBuilder::event_of(const Record& record) const {
  Event event;
  const std::int64_t action = record.get(Key::kAction);
  if (action == alloc_) event.action = Action::kAlloc;
  if (action == free_) event.action = Action::kFree;
  if (action == oom_) event.action = Action::kOutOfMemory;
  if (action == segment_alloc_ || action == segment_map_) event.action = Action::kSegmentAlloc;
  if (action == segment_free_ || action == segment_unmap_) event.action = Action::kSegmentFree;
  event.address = record.get(Key::kAddr);
  event.bytes = bytes_in(record, Key::kSize);
  event.time_us = record.get(Key::kTime);
  event.device_free_bytes = bytes_in(record, Key::kDeviceFree);
  event.stack = static_cast<std::uint32_t>(record.get(Key::kFrames));
  if (event.stack >= out_.stacks.size()) fail("an event's frames are no list of frames");
  return event;
}

Block SnapshotBuilder::block_of(const Record& record) const {
  constexpr std::int64_t kHistoryBytes = (std::int64_t{1} << 40) - 1;
  Block block;
  block.address = record.get(Key::kAddress);
  block.bytes = bytes_in(record, Key::kSize);
  const std::int64_t state = record.get(Key::kState);
  block.state = state == inactive_  ? BlockState::kFree
                : state == pending_ ? BlockState::kPendingFree
                                    : BlockState::kAllocated;
  const std::int64_t history = record.get(Key::kHistory);
  block.stack = static_cast<std::uint32_t>(record.get(Key::kFrames, history >> 40));
  block.requested_bytes = history & kHistoryBytes;
  if (record.has(Key::kRequestedSize))
    block.requested_bytes = bytes_in(record, Key::kRequestedSize);
  if (block.requested_bytes == 0 || block.requested_bytes > block.bytes)
    block.requested_bytes = block.bytes;
  if (block.stack >= out_.stacks.size()) fail("a block's frames are no list of frames");
  return block;
}

Segment SnapshotBuilder::segment_of(const Record& record) const {
  Segment segment;
  segment.address = record.get(Key::kAddress);
  segment.bytes = bytes_in(record, Key::kTotalSize);
  segment.stream = record.get(Key::kStream);
  segment.device = record.get(Key::kDevice);
  segment.is_small = record.get(Key::kSegmentType) == small_;
  segment.is_expandable = record.get(Key::kIsExpandable) != 0;
  segment.is_private = record.get(Key::kSegmentPoolId) != 0;
  const auto blocks = static_cast<std::uint64_t>(record.get(Key::kBlocks));
  segment.first_block = static_cast<std::uint32_t>(blocks >> 32);
  segment.block_count = static_cast<std::uint32_t>(blocks);
  if (std::uint64_t{segment.first_block} + segment.block_count > out_.blocks.size())
    fail("a segment's blocks are no list of blocks");
  return segment;
}

Recorder& SnapshotBuilder::recorder_of(List& list) {
  if (list.trace < 0) {
    std::size_t taken = 0;
    for (const Recorder& recorder : recorders_) taken += recorder.life_count();
    if (recorders_.size() >= 64) fail("it has events of more devices than a machine has");
    list.trace = static_cast<std::int32_t>(recorders_.size());
    recorders_.emplace_back(Recorder::kLives - std::min(taken, Recorder::kLives));
  }
  return recorders_[static_cast<std::size_t>(list.trace)];
}

// Before PyTorch 2.1 blocks said no address: they follow each other.
void SnapshotBuilder::place_blocks() {
  for (const Segment& segment : out_.segments) {
    std::int64_t address = segment.address;
    for (std::uint32_t i = 0; i < segment.block_count; ++i) {
      Block& block = out_.blocks[segment.first_block + i];
      if (block.address == 0) block.address = address;
      address = block.address <= INT64_MAX - block.bytes ? block.address + block.bytes : 0;
    }
  }
}

// The device that holds most, and its trace; the others are let go.
void SnapshotBuilder::choose_device(const Record& root) {
  std::map<std::int64_t, std::int64_t> bytes;
  for (const Segment& segment : out_.segments) bytes[segment.device] += segment.bytes;
  out_.device_count = static_cast<std::int64_t>(bytes.size());
  const auto largest = std::max_element(
      bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (largest != bytes.end()) out_.device = largest->first;
  std::erase_if(out_.segments, [&](const Segment& s) { return s.device != out_.device; });
  Item traces;
  traces.kind = pickle::stream::ItemKind::kList;
  traces.value = root.get(Key::kDeviceTraces);
  const List* list = root.has(Key::kDeviceTraces) ? list_at(traces) : nullptr;
  if (list == nullptr || out_.device < 0) return;
  if (bytes.empty()) {  // nothing is held: the one that did most
    for (std::size_t i = 0; i < list->traces.size(); ++i) {
      if (list->traces[i] >= 0 && list->traces[static_cast<std::size_t>(out_.device)] < 0)
        out_.device = static_cast<std::int64_t>(i);
    }
  }
  if (static_cast<std::size_t>(out_.device) >= list->traces.size()) return;
  const std::int32_t trace = list->traces[static_cast<std::size_t>(out_.device)];
  if (trace < 0) return;
  Recorder& recorder = recorders_[static_cast<std::size_t>(trace)];
  for (const Segment& segment : out_.segments) {
    for (std::uint32_t i = 0; i < segment.block_count; ++i) {
      Block& block = out_.blocks[segment.first_block + i];
      if (block.state == BlockState::kFree) continue;
      const auto found = recorder.held().find(block.address);
      if (found != recorder.held().end()) block.life = found->second;
    }
  }
  out_.trace = recorder.finish();
}

void SnapshotBuilder::finish(const Item& root) {
  const Record* record = record_at(root);
  if (record == nullptr || !record->has(Key::kSegments)) fail("it has no 'segments'");
  // Those of host_segments, which are no card's, go.
  const auto range = static_cast<std::uint64_t>(record->get(Key::kSegments));
  const auto first = static_cast<std::ptrdiff_t>(range >> 32);
  const auto count = static_cast<std::ptrdiff_t>(static_cast<std::uint32_t>(range));
  auto& segments = out_.segments;
  if (first + count > static_cast<std::ptrdiff_t>(segments.size())) fail("its 'segments' are odd");
  segments.erase(segments.begin() + first + count, segments.end());
  segments.erase(segments.begin(), segments.begin() + first);
  place_blocks();
  choose_device(*record);
}

}  // namespace snug::doctor::snapshot
