// A message must read the same however it was wrapped, framed, quoted, prefixed or encoded.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "doctor/log/for_test.h"
#include "doctor/log/message.h"

namespace snug::doctor::log {
namespace {

constexpr std::string_view kMessages[] = {
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 394.00 MiB (GPU 0; 15.78 "
    "GiB total capacity; "
    "5.17 GiB already allocated; 8.68 GiB free; 5.25 GiB reserved in total by PyTorch) If reserved "
    "memory is >> "
    "allocated memory try setting max_split_size_mb to avoid fragmentation.",
    "RuntimeError: CUDA out of memory. Tried to allocate 12.50 MiB (GPU 0; 10.92 GiB total "
    "capacity; 8.57 MiB already "
    "allocated; 9.28 GiB free; 4.68 MiB cached)",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 76.00 MiB. GPU 0 has a total "
    "capacity of 14.74 GiB of "
    "which 42.19 MiB is free. Process 21219 has 284.00 MiB memory in use. Including non-PyTorch "
    "memory, this process has "
    "10.77 GiB memory in use. Of the allocated memory 10.59 GiB is allocated by PyTorch, and 42.18 "
    "MiB is reserved by "
    "PyTorch but unallocated. If reserved but unallocated memory is large try setting "
    "max_split_size_mb",
    "RuntimeError: MPS backend out of memory (MPS allocated: 5.50 GB, other allocations: 14.76 GB, "
    "max allowed: 20.40 "
    "GB). Tried to allocate 147.24 MB on private pool.",
    "RuntimeError: [enforce fail at alloc_cpu.cpp:83] err == 0. DefaultCPUAllocator: can't "
    "allocate memory: you tried to "
    "allocate 30720000000 bytes. Error code 12 (Cannot allocate memory)",
};

std::vector<std::string> hard_wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size(); at += width)
    lines.emplace_back(text.substr(at, width));
  return lines;
}

std::vector<std::string> soft_wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines{""};
  while (!text.empty()) {
    const std::size_t length = std::min(text.find(' '), text.size());
    if (!lines.back().empty() && lines.back().size() + length + 1 > width) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return lines;
}

using Dressing = std::function<std::string(const std::vector<std::string>&)>;

Dressing each_line(const std::string& before, const std::string& after) {
  return [=](const std::vector<std::string>& lines) {
    std::string out;
    for (const std::string& line : lines) out += fmt::format("{}{}{}", before, line, after);
    return out;
  };
}

std::string with_line_numbers(const std::vector<std::string>& lines) {
  std::string out;
  int number = 41;
  for (const std::string& line : lines) out += fmt::format("{:6} {}\n", number++, line);
  return out;
}

std::string in_utf16(const std::vector<std::string>& lines) {
  std::string out("\xFF\xFE");
  for (const std::string& line : lines) {
    for (const char c : line) out += {c, '\0'};
    out += std::string("\r\0\n\0", 4);
  }
  return out;
}

const std::vector<std::pair<const char*, Dressing>>& dressings() {
  static const std::vector<std::pair<const char*, Dressing>> all{
      {"plain", each_line("", "\n")},
      {"crlf", each_line("", "\r\n")},
      {"blank lines between", each_line("", "\n\n")},
      {"rank", each_line("[rank3]: ", "\n")},
      {"srun", each_line("3: ", "\n")},
      {"worker", each_line("(Worker pid=548) ERROR 07-29 21:48:54 [multiproc.py:962] ", "\n")},
      {"timestamp", each_line("2024-05-01T12:00:00.123456Z ", "\n")},
      {"mail", each_line("> > ", "\n")},
      {"box", each_line("│ ", "      │\n")},
      {"ascii box", each_line("| ", "   |\n")},
      {"gutter with a bar", each_line("12 | ", "\n")},
      {"colours", each_line("\x1B[31m", "\x1B[0m\n")},
      {"indented", each_line("      ", "\n")},
      {"pytest", each_line("E   ", "\n")},
      {"line numbers", with_line_numbers},
      {"utf-16", in_utf16},
  };
  return all;
}

TEST(LogWrap, EveryWidthAndDressingReadsTheSame) {
  for (const std::string_view message : kMessages) {
    const std::string expected = events_in(message);
    ASSERT_NE(expected.find("request"), std::string::npos) << message;
    for (const auto& [name, dress] : dressings()) {
      for (std::size_t width = 24; width <= 130; width += 15) {
        EXPECT_EQ(events_in(dress(soft_wrapped(message, width))), expected)
            << name << " soft " << width;
        EXPECT_EQ(events_in(dress(hard_wrapped(message, width))), expected)
            << name << " hard " << width;
      }
    }
  }
}

TEST(LogWrap, TextComesOutInOneLine) {
  for (const std::string_view message : kMessages) {
    const std::string whole = read_text(message).events.at(0).text;
    EXPECT_TRUE(message.starts_with(whole)) << whole;
    for (std::size_t width = 30; width <= 130; width += 10) {
      std::string wrapped;
      for (const std::string& line : soft_wrapped(message, width))
        wrapped += fmt::format("{}\n", line);
      EXPECT_EQ(read_text(wrapped).events.at(0).text, whole) << width;
    }
  }
  EXPECT_EQ(unwrapped("CUDA out of mem\nory. Tried to alloc\nate 15\n.78 GiB in\ntotal"),
            "CUDA out of memory. Tried to allocate 15.78 GiB in total");
}

// Every prefix of a message gives the amounts that are in it, and none that are not.
TEST(LogWrap, CutAnywhereGivesWhatIsThere) {
  for (const std::string_view message : kMessages) {
    const LogEvent whole = read_text(message).events.at(0);
    for (std::size_t length = 0; length <= message.size(); length += 3) {
      const LogSummary summary = read_text(message.substr(0, length));
      ASSERT_LE(summary.events.size(), 1U);
      if (summary.events.empty()) continue;
      const LogEvent& cut = summary.events[0];
      const std::pair<const std::optional<LogAmount>*, const std::optional<LogAmount>*> fields[] = {
          {&cut.request, &whole.request},
          {&cut.capacity, &whole.capacity},
          {&cut.allocated, &whole.allocated},
          {&cut.free, &whole.free},
          {&cut.reserved, &whole.reserved},
          {&cut.unallocated, &whole.unallocated},
          {&cut.process_in_use, &whole.process_in_use},
          {&cut.limit, &whole.limit}};
      for (const auto& [part, full] : fields) {
        EXPECT_TRUE(!part->has_value() || *part == *full) << message.substr(0, length);
      }
    }
  }
}

TEST(LogWrap, RanksThatWriteAtOnceAreKeptApart) {
  const LogSummary summary = read_text(
      "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 76.00 MiB. GPU 0 has "
      "a total\n"
      "[rank1]: iter 7\n"
      "[rank0]: capacity of 14.74 GiB of which 42.19 MiB is free.\n"
      "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 98.00 MiB. GPU 1 has "
      "a total\n"
      "[rank1]: capacity of 15.75 GiB of which 1.00 MiB is free.\n");
  ASSERT_EQ(summary.events.size(), 2U);
  EXPECT_EQ(
      to_text(summary.events[0]),
      "cuda out of memory; request 76.00 MiB; capacity 14.74 GiB; free 42.19 MiB; device 0; cut");
  EXPECT_EQ(summary.events[0].rank, 0);
  EXPECT_EQ(
      to_text(summary.events[1]),
      "cuda out of memory; request 98.00 MiB; capacity 15.75 GiB; free 1.00 MiB; device 1; cut");
  EXPECT_EQ(summary.events[1].rank, 1);
  EXPECT_EQ(summary.facts.highest_rank, 1);
}

}  // namespace
}  // namespace snug::doctor::log
