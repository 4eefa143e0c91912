// What a snapshot's pickle becomes: older formats, several devices, shared objects, damage.
#include "doctor/snapshot/reader.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "pickle/writer.h"

namespace snug::doctor::snapshot {
namespace {

// Values in the order of a text: "{" "}" "[" "]", numbers, and words.
std::string pickled(const std::vector<std::string>& words) {
  pickle::PickleWriter out;
  for (const std::string& word : words) {
    if (word == "{")
      out.begin_dict();
    else if (word == "}")
      out.end_dict();
    else if (word == "[")
      out.begin_list();
    else if (word == "]")
      out.end_list();
    else if (word.find_first_not_of("-0123456789") == std::string::npos)
      out.integer(std::stoll(word));
    else
      out.text(word);
  }
  return out.finish();
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

Snapshot read(const std::string& text) { return read_snapshot(pickled(words_of(text)), "test"); }

TEST(SnapshotReader, SegmentsBlocksAndEvents) {
  const Snapshot s = read(
      "{ segments [ { device 0 address 4096 total_size 2048 segment_type small blocks [ "
      "{ address 4096 size 512 requested_size 500 state active_allocated frames [ "
      "{ name forward filename model.py line 7 } ] } "
      "{ address 4608 size 1536 requested_size 0 state inactive frames [ ] } ] } ] "
      "device_traces [ [ { action alloc addr 4096 size 500 time_us 5 frames [ ] } "
      "{ action alloc addr 8192 size 9 time_us 6 frames [ ] } "
      "{ action free_completed addr 8192 size 9 time_us 7 frames [ ] } "
      "{ action free_completed addr 77 size 30 time_us 7 frames [ ] } "
      "{ action oom size 4000 device_free 100 time_us 8 frames [ ] } ] ] "
      "allocator_settings { expandable_segments 1 PYTORCH_CUDA_ALLOC_CONF conf } }");
  ASSERT_EQ(s.segments.size(), 1u);
  EXPECT_TRUE(s.segments[0].is_small);
  ASSERT_EQ(s.blocks.size(), 2u);
  EXPECT_EQ(s.blocks[0].requested_bytes, 500);
  EXPECT_EQ(s.frames[s.stack(s.blocks[0].stack)[0]].line, 7);
  EXPECT_EQ(s.blocks[0].life, 0u);
  EXPECT_EQ(s.blocks[1].state, BlockState::kFree);
  EXPECT_EQ(s.trace.event_count, 5u);
  ASSERT_EQ(s.trace.lives.size(), 3u);
  EXPECT_EQ(s.trace.lives[1].died, 2u);
  EXPECT_TRUE(s.trace.lives[2].is_older);
  ASSERT_TRUE(s.trace.out_of_memory);
  EXPECT_EQ(s.trace.out_of_memory->request_bytes, 4000);
  EXPECT_EQ(s.trace.out_of_memory->held.size(), 1u);
  EXPECT_TRUE(s.expandable_segments);
  EXPECT_EQ(s.allocator_settings, "conf");
}

TEST(SnapshotReader, TheDeviceThatHoldsMostAndNoHostMemory) {
  const Snapshot s = read(
      "{ segments [ { device 0 address 10 total_size 2048 blocks [ ] } "
      "{ device 1 address 20 total_size 4096 blocks [ { size 4096 state active_allocated } ] } ] "
      "device_traces [ [ { action alloc addr 1 size 1 } ] "
      "[ { action alloc addr 2 size 2 } { action alloc addr 3 size 3 } ] ] "
      "host_segments [ { device 0 address 30 total_size 99999 blocks [ ] } ] "
      "host_traces [ { action alloc addr 9 size 9 } ] }");
  EXPECT_EQ(s.device, 1);
  EXPECT_EQ(s.device_count, 2);
  ASSERT_EQ(s.segments.size(), 1u);
  EXPECT_EQ(s.segments[0].bytes, 4096);
  EXPECT_EQ(s.trace.lives.size(), 2u);
}

TEST(SnapshotReader, BlocksOfOlderVersionsHaveAHistory) {
  const Snapshot s = read(
      "{ segments [ { device 0 address 4096 total_size 2048 blocks [ "
      "{ size 512 state active_allocated history [ { addr 4096 real_size 400 frames [ "
      "{ name f filename a.py line 3 } ] } ] } { size 1536 state active_allocated } ] } ] }");
  ASSERT_EQ(s.blocks.size(), 2u);
  EXPECT_EQ(s.blocks[0].requested_bytes, 400);
  EXPECT_EQ(s.frames[s.stack(s.blocks[0].stack)[0]].line, 3);
  EXPECT_EQ(s.blocks[1].address, 4608);
  EXPECT_EQ(s.blocks[1].requested_bytes, 1536);
}

// A pickle by its opcodes: short texts and numbers, objects that are said again by their number.
class Opcodes {
 public:
  Opcodes& op(std::string_view bytes) { return bytes_ += bytes, *this; }
  Opcodes& text(std::string_view text) {
    bytes_ += '\x8C';
    bytes_ += static_cast<char>(text.size());
    bytes_ += text;
    return *this;
  }
  Opcodes& number(int value) { return op(std::string{'K', static_cast<char>(value)}); }
  std::string finish() const { return "\x80\x04" + bytes_ + "."; }

 private:
  std::string bytes_;
};

// PyTorch makes one dict of a frame; a function that calls itself (Module._apply) has it several
// times in one stack.
TEST(SnapshotReader, AFrameThatStandsTwiceInAStack) {
  Opcodes file;
  file.op("}(").text("segments").op("](}(").text("total_size").number(100).text("blocks").op("](");
  const auto block = [&](int address, auto frames) {
    file.op("}(").text("address").number(address).text("size").number(8);
    file.text("state").text("active_allocated").text("frames").op("](");
    frames();
    file.op("eu");  // APPENDS, SETITEMS
  };
  block(8, [&] {
    file.op("}\x94(").text("name").text("_apply").text("filename").text("module.py");
    file.text("line").number(9).op("u");
    file.op(std::string_view("h\0h\0", 4));  // BINGET 0, twice
  });
  for (const int address : {16, 24, 32, 40}) {
    block(address, [&] { file.op(std::string_view("h\0", 2)); });
  }
  const Snapshot s = read_snapshot(file.op("eueu").finish(), "test");
  ASSERT_EQ(s.blocks.size(), 5u);
  EXPECT_EQ(s.stack(s.blocks[0].stack).size(), 3u);
  for (std::size_t i = 0; i < s.blocks.size(); ++i) {
    EXPECT_EQ(s.blocks[i].address, 8 * static_cast<std::int64_t>(i + 1));
    const auto stack = s.stack(s.blocks[i].stack);
    ASSERT_FALSE(stack.empty());
    for (const std::uint32_t frame : stack) EXPECT_EQ(s.frames[frame].line, 9);
  }
}

TEST(SnapshotReader, WhatIsNoSnapshotIsRefused) {
  EXPECT_THROW(read("{ model [ ] }"), DataError);
  EXPECT_THROW(read("[ ]"), DataError);
  EXPECT_THROW(read("{ segments [ { total_size -5 } ] }"), DataError);
  EXPECT_THROW(read("{ segments [ { total_size 9000000000000000 } ] }"), DataError);
  EXPECT_THROW(read_snapshot("", "empty"), DataError);
  EXPECT_THROW(read_snapshot("PK\x03\x04", "zip"), DataError);
}

}  // namespace
}  // namespace snug::doctor::snapshot
