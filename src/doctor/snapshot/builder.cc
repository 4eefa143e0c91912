#include "doctor/snapshot/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace snug::doctor::snapshot {
namespace {

using pickle::stream::ItemKind;

// A handle's upper bits: what a dict or a list has become.
enum Became : std::uint32_t {
  kOpen = 0,   // a place in records_ or lists_
  kFrame = 1,  // a dict
  kEvent = 2,
  kStack = 1,  // a list
  kDone = 3,
};
constexpr unsigned kBecameShift = 25;
constexpr std::uint32_t kPlaces = 1u << kBecameShift;

constexpr std::uint32_t handle_of(Became what, std::uint32_t place) {
  return what << kBecameShift | place;
}
constexpr std::uint32_t kNothingLeft = handle_of(kDone, 0);
Became became(std::int64_t handle) { return static_cast<Became>(handle >> kBecameShift); }
std::uint32_t place_of(std::int64_t handle) {
  return static_cast<std::uint32_t>(handle) & (kPlaces - 1);
}

constexpr std::size_t kOpenDicts = 1 << 16, kOpenLists = 1 << 16;
constexpr std::size_t kKeptEvents = 1 << 18;
constexpr std::size_t kDevices = 64, kBlocks = 1 << 20, kSegments = 1 << 18;

template <typename T>
std::uint32_t free_place(std::deque<T>& all, std::vector<std::uint32_t>& free) {
  if (free.empty()) {
    all.emplace_back();
    return static_cast<std::uint32_t>(all.size() - 1);
  }
  const std::uint32_t place = free.back();
  free.pop_back();
  return place;
}

}  // namespace

void SnapshotBuilder::ListRange::add(std::uint32_t index) {
  if (count == 0) first = index;
  ++count;
}

SnapshotBuilder::SnapshotBuilder(Snapshot& out, const std::string& name)
    : out_(out), name_(name), tables_((out.stacks.resize(1), out)) {
  for (const std::string_view key : kKeyTexts) tables_.text(key);
  alloc_ = text("alloc");
  free_ = text("free_completed");
  oom_ = text("oom");
  segment_alloc_ = text("segment_alloc");
  segment_map_ = text("segment_map");
  segment_free_ = text("segment_free");
  segment_unmap_ = text("segment_unmap");
  inactive_ = text("inactive");
  pending_ = text("active_pending_free");
  small_ = text("small");
}

void SnapshotBuilder::fail(std::string_view what) const {
  throw DataError(
      fmt::format("{} is no snapshot of PyTorch's memory: {}\nmake one with "
                  "torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")",
                  name_, what));
}

std::uint32_t SnapshotBuilder::container(ItemKind kind) {
  if (kind == ItemKind::kDict) {
    const std::uint32_t place = free_place(records_, free_records_);
    if (place >= kOpenDicts) fail("too many dicts are open at once");
    records_[place].clear();
    return handle_of(kOpen, place);
  }
  if (kind == ItemKind::kList) {
    const std::uint32_t place = free_place(lists_, free_lists_);
    if (place >= kOpenLists) fail("too many lists are open at once");
    return handle_of(kOpen, place);
  }
  return handle_of(kDone, 0);
}

SnapshotBuilder::List* SnapshotBuilder::list_at(const Item& item) {
  const std::uint32_t place = place_of(item.value);
  const bool is_open = item.kind == ItemKind::kList && became(item.value) == kOpen;
  return is_open && place < lists_.size() ? &lists_[place] : nullptr;
}

Record* SnapshotBuilder::record_at(const Item& item) {
  const std::uint32_t place = place_of(item.value);
  const bool is_open = item.kind == ItemKind::kDict && became(item.value) == kOpen;
  return is_open && place < records_.size() ? &records_[place] : nullptr;
}

// The place is free again; whoever refers to it finds `handle` instead.
void SnapshotBuilder::release(Item& item, std::uint32_t handle) {
  const std::uint32_t place = place_of(item.value);
  const auto note = [&](std::vector<Released>& released) {
    if (released.size() <= place) released.resize(place + 1);
    released[place] = {call_, handle};
  };
  if (List* list = list_at(item)) {
    list->frames.clear();
    *list = List{std::move(list->frames), {}, {}, {}, -1, -1, kNoStack};
    free_lists_.push_back(place);
    note(released_lists_);
  } else if (record_at(item) != nullptr) {
    records_[place].clear();
    free_records_.push_back(place);
    note(released_records_);
  }
  item.value = handle;
}

// An item that stood twice among those of this call, and was released at its first place: a
// function that calls itself has one dict for all its frames.
void SnapshotBuilder::catch_up(Item& item) const {
  if (became(item.value) != kOpen) return;
  const auto& released = item.kind == ItemKind::kDict ? released_records_ : released_lists_;
  const std::uint32_t place = place_of(item.value);
  if (place < released.size() && released[place].call == call_) item.value = released[place].handle;
}

void SnapshotBuilder::extend(Item& container, std::span<Item> items) {
  ++call_;
  if (container.kind == ItemKind::kTuple) {  // a pool's: whether it is another than (0, 0)
    const bool is_other = std::any_of(items.begin(), items.end(), [](const Item& item) {
      return item.kind == ItemKind::kInt && item.value != 0;
    });
    container.value = handle_of(kDone, is_other ? 1 : 0);
  } else if (List* list = list_at(container)) {
    for (Item& item : items) {
      if (&item != &container) add_to_list(*list, item);
    }
  } else if (Record* record = record_at(container)) {
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      add_to_dict(*record, items[i], items[i + 1]);
    }
  }
}

void SnapshotBuilder::add_to_list(List& list, Item& item) {
  if (item.kind != ItemKind::kDict && item.kind != ItemKind::kList) return;
  catch_up(item);
  if (item.kind == ItemKind::kDict) return take_dict(list, item);
  List* inner = list_at(item);
  if (inner == nullptr || inner == &list) return;
  list.traces.push_back(inner->trace);
  if (list.traces.size() > kDevices) fail("it has lists for more devices than a machine has");
  release(item, kNothingLeft);
}

void SnapshotBuilder::add_to_dict(Record& dict, const Item& key, Item& value) {
  const bool is_known = key.kind == ItemKind::kText && key.value > 0 &&
                        key.value < static_cast<std::int64_t>(kKeyCount);
  const Key known = is_known ? static_cast<Key>(key.value) : Key::kNone;
  if (value.kind == ItemKind::kList || value.kind == ItemKind::kDict) catch_up(value);
  if (value.kind == ItemKind::kList) {
    const std::int64_t settled = settle_list(known, value);
    if (is_known) dict.set(known, settled);
  } else if (value.kind == ItemKind::kDict) {
    Record* inner = record_at(value);
    if (inner == nullptr || inner == &dict) return;
    if (known == Key::kAllocatorSettings) {
      out_.expandable_segments = inner->get(Key::kExpandableSegments) != 0;
      const auto conf = static_cast<std::size_t>(inner->get(Key::kConf));
      if (conf < out_.texts.size()) out_.allocator_settings = out_.texts[conf];
    }
    release(value, kNothingLeft);
  } else if (is_known && value.kind != ItemKind::kNone && value.kind != ItemKind::kFloat) {
    dict.set(known, value.kind == ItemKind::kTuple ? place_of(value.value) : value.value);
  }
}

// What a list means as the value of a key, as one number.
std::int64_t SnapshotBuilder::settle_list(Key key, Item& item) {
  if (became(item.value) == kStack) return place_of(item.value);
  List* list = list_at(item);
  if (list == nullptr) return 0;
  std::int64_t meaning = 0;
  if (key == Key::kFrames) {
    const std::uint32_t stack = tables_.stack(list->frames);
    release(item, handle_of(kStack, stack));
    return stack;
  }
  if (key == Key::kBlocks || key == Key::kSegments) {
    const ListRange& range = key == Key::kBlocks ? list->blocks : list->segments;
    meaning = static_cast<std::int64_t>(std::uint64_t{range.first} << 32 | range.count);
  } else if (key == Key::kDeviceTraces) {
    return item.value;  // stays open until finish()
  } else if (key == Key::kHistory && list->history_bytes >= 0) {
    meaning = static_cast<std::int64_t>(std::uint64_t{list->history_stack} << 40 |
                                        static_cast<std::uint64_t>(list->history_bytes));
  }
  release(item, kNothingLeft);
  return meaning;
}

void SnapshotBuilder::take_dict(List& list, Item& item) {
  if (became(item.value) == kFrame) {
    if (list.frames.size() < Tables::kStackDepth) list.frames.push_back(place_of(item.value));
    return;
  }
  if (became(item.value) == kEvent) {
    return recorder_of(list).add(
        events_[std::min<std::size_t>(place_of(item.value), events_.size() - 1)]);
  }
  const Record* record = record_at(item);
  if (record == nullptr) return;
  if (record->has(Key::kAction)) {
    const Event event = event_of(*record);
    recorder_of(list).add(event);
    const bool is_kept = events_.size() < kKeptEvents;
    release(item,
            is_kept ? handle_of(kEvent, static_cast<std::uint32_t>(events_.size())) : kNothingLeft);
    if (is_kept) events_.push_back(event);
  } else if (record->has(Key::kState)) {
    if (out_.blocks.size() >= kBlocks) fail("it has more blocks than a card can hold");
    list.blocks.add(static_cast<std::uint32_t>(out_.blocks.size()));
    out_.blocks.push_back(block_of(*record));
    release(item, kNothingLeft);
  } else if (record->has(Key::kTotalSize)) {
    if (out_.segments.size() >= kSegments) fail("it has more segments than a card can hold");
    list.segments.add(static_cast<std::uint32_t>(out_.segments.size()));
    out_.segments.push_back(segment_of(*record));
    release(item, kNothingLeft);
  } else if (record->has(Key::kRealSize)) {
    if (list.history_bytes < 0) {
      list.history_bytes = bytes_in(*record, Key::kRealSize);
      list.history_stack = static_cast<std::uint32_t>(record->get(Key::kFrames));
    }
    release(item, kNothingLeft);
  } else if (record->has(Key::kLine)) {
    const std::uint32_t frame = take_frame(*record);
    if (list.frames.size() < Tables::kStackDepth) list.frames.push_back(frame);
    release(item, handle_of(kFrame, frame));
  } else {
    release(item, kNothingLeft);
  }
}

}  // namespace snug::doctor::snapshot
