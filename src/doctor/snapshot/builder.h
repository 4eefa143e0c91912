// From the values of a pickle to a Snapshot, while it is read. What a dict is shows in its keys: a
// frame, an event, a block, a segment. It is taken over when it goes into a list, and its place is
// used again; so the pickle never exists whole.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/snapshot/fields.h"
#include "doctor/snapshot/recorder.h"
#include "doctor/snapshot/snapshot.h"
#include "doctor/snapshot/tables.h"
#include "pickle/stream/item.h"

namespace snug::doctor::snapshot {

class SnapshotBuilder : public pickle::stream::Builder {
 public:
  // `name` is for messages. Both outlive this.
  SnapshotBuilder(Snapshot& out, const std::string& name);

  std::uint32_t text(std::string_view text) override { return tables_.text(text); }
  std::uint32_t container(pickle::stream::ItemKind kind) override;
  void extend(pickle::stream::Item& container, std::span<pickle::stream::Item> items) override;

  // After the last byte: `root` is the value of the pickle. Throws DataError when it is no
  // snapshot.
  void finish(const pickle::stream::Item& root);

 private:
  using Item = pickle::stream::Item;

  struct ListRange {
    std::uint32_t first = 0, count = 0;
    void add(std::uint32_t index);
  };
  struct List {
    std::vector<std::uint32_t> frames;
    ListRange blocks, segments;
    std::vector<std::int32_t> traces;  // of a list of lists of events; -1: an empty one
    std::int32_t trace = -1;           // of a list of events
    std::int64_t history_bytes = -1;   // of a list of a block's history: its first entry
    std::uint32_t history_stack = kNoStack;
  };

  void add_to_list(List& list, Item& item);
  void add_to_dict(Record& dict, const Item& key, Item& value);
  void take_dict(List& list, Item& item);
  std::int64_t settle_list(Key key, Item& item);

  std::uint32_t take_frame(const Record& record);
  Event event_of(const Record& record) const;
  Block block_of(const Record& record) const;
  Segment segment_of(const Record& record) const;
  std::int64_t bytes_in(const Record& record, Key key) const;
  Recorder& recorder_of(List& list);

  List* list_at(const Item& item);
  Record* record_at(const Item& item);
  void release(Item& item, std::uint32_t handle);
  void catch_up(Item& item) const;
  void place_blocks();
  void choose_device(const Record& root);
  [[noreturn]] void fail(std::string_view what) const;

  Snapshot& out_;
  const std::string& name_;
  Tables tables_;
  std::deque<Record> records_;
  std::deque<List> lists_;
  std::vector<std::uint32_t> free_records_, free_lists_;
  // What a place was given up for, and in which call of extend(): the items of one call may say the
  // same object twice.
  struct Released {
    std::uint64_t call = 0;
    std::uint32_t handle = 0;
  };
  std::vector<Released> released_records_, released_lists_;  // by place
  std::uint64_t call_ = 0;                                   // of extend()
  std::deque<Recorder> recorders_;
  std::deque<Event> events_;  // the first ones, for a pickle that says the same dict twice
  std::uint32_t alloc_, free_, oom_, segment_alloc_, segment_map_, segment_free_, segment_unmap_;
  std::uint32_t inactive_, pending_, small_;
};

}  // namespace snug::doctor::snapshot
