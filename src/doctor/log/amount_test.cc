#include "doctor/log/amount.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "doctor/log/fold.h"
#include "doctor/log/for_test.h"

namespace snug::doctor::log {
namespace {

std::optional<LogAmount> amount_in(std::string_view text, UnitRule rule = UnitRule::kRequired) {
  const auto parsed = parse_amount(fold_text(text), 0, rule);
  return parsed ? parsed->amount : std::nullopt;
}

TEST(LogAmount, CoversExactlyWhatPrintsAlike) {
  const std::optional<LogAmount> amount = amount_in("6.14 GiB");
  ASSERT_TRUE(amount);
  // 6.135 and 6.145 GiB, rounded inwards to whole bytes.
  EXPECT_EQ(amount->low_bytes, 6587406091);
  EXPECT_EQ(amount->high_bytes, 6598143508);
  EXPECT_TRUE(amount->covers(std::int64_t{4} * 32 * 1024 * 50304));
  EXPECT_FALSE(amount->is_exact());
}

TEST(LogAmount, IsExactInBytesAndTheKernelsKilobytes) {
  EXPECT_EQ(amount_in("1000341504 bytes"), (LogAmount{1000341504, 1000341504}));
  EXPECT_EQ(amount_in("0 bytes"), (LogAmount{0, 0}));
  EXPECT_EQ(amount_in("7981200kB"), (LogAmount{7981200 * kKiB, 7981200 * kKiB}));
  EXPECT_EQ(amount_in("180224", UnitRule::kBytesIfAbsent), (LogAmount{180224, 180224}));
  EXPECT_EQ(amount_in("180224"), std::nullopt);
}

TEST(LogAmount, ReadsHoweverItIsWritten) {
  for (const char* text :
       {"6.14GiB", "6.14 GiB", "6,14 GiB", "6.14 GB", "6.14gb", "6.14G (", "6.14Gi"}) {
    EXPECT_EQ(to_text(amount_in(text)), "6.14 GiB") << text;
  }
  EXPECT_EQ(amount_in("1,024.00 MiB"), amount_in("1024.00 MiB"));
  EXPECT_EQ(amount_in("147,456 bytes"), (LogAmount{147456, 147456}));
  EXPECT_EQ(to_text(amount_in("607.00 KiB")), "607.00 KiB");
}

TEST(LogAmount, WhatNoMemoryHasIsUnknown) {
  // NVML's "not available" under WDDM, 2^64 bytes.
  const auto parsed = parse_amount("17179869184.00gib", 0, UnitRule::kRequired);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->amount, std::nullopt);
  EXPECT_EQ(parsed->end, 17U);
  EXPECT_EQ(amount_in("99999999999999999999999 bytes"), std::nullopt);
  EXPECT_EQ(amount_in("147456.1125 bytes"), std::nullopt);
}

TEST(LogAmount, CountsAreWholeOrShort) {
  std::size_t at = 0;
  EXPECT_EQ(parse_count("491,520 tokens", at), 491520);
  EXPECT_EQ(at, 7U);
  at = 0;
  EXPECT_EQ(parse_count("x", at), std::nullopt);
  const std::optional<LogCount> count = parse_short_count("123.59M");
  ASSERT_TRUE(count);
  EXPECT_EQ(count->low, 123585000);
  EXPECT_EQ(count->high, 123595000);
  EXPECT_EQ(parse_short_count("4,992")->low, 4992);
}

LogEvent asking(std::string_view amount, LogWording wording) {
  LogEvent event;
  event.kind = LogEventKind::kCudaOutOfMemory;
  event.wording = wording;
  event.request = amount_in(amount);
  return event;
}

TEST(LogAmount, RequestIsSoughtBehindPyTorchsRounding) {
  const auto range = [](std::string_view amount, LogWording wording) {
    return request_range(asking(amount, wording)).value();
  };
  EXPECT_EQ(range("2.00 MiB", LogWording::kReserved), (LogAmount{1, kMiB}));
  EXPECT_EQ(range("20.00 MiB", LogWording::kReserved), (LogAmount{kMiB + 1, 20 * kMiB}));
  EXPECT_EQ(range("394.00 MiB", LogWording::kReserved), (LogAmount{392 * kMiB + 1, 394 * kMiB}));
  // 2 * 1024 * 50304 floats are 393 MiB and print as 394.
  EXPECT_TRUE(
      range("394.00 MiB", LogWording::kReserved).covers(std::int64_t{4} * 2 * 1024 * 50304));
  // The old allocator's 128 KiB.
  EXPECT_EQ(range("12.50 MiB", LogWording::kCached),
            (LogAmount{12 * kMiB + 384 * kKiB + 1, 12 * kMiB + 512 * kKiB}));
  // In GiB some multiples of 2 MiB print alike.
  const LogAmount wide = range("6.14 GiB", LogWording::kUnallocated);
  EXPECT_EQ(wide.high_bytes % (2 * kMiB), 0);
  EXPECT_TRUE(wide.covers(std::int64_t{4} * 32 * 1024 * 50304));
  // Nothing rounds up to nothing.
  EXPECT_EQ(range("0.00 MiB", LogWording::kReserved), amount_in("0.00 MiB"));
  // Those that do not round.
  EXPECT_EQ(range("147.24 MB", LogWording::kMallocAsync), amount_in("147.24 MiB"));
}

TEST(LogAmount, UnallocatedComesFromWhatTheWordingHas) {
  LogEvent event;
  EXPECT_EQ(unallocated_range(event), std::nullopt);
  event.reserved = LogAmount{1000, 1010};
  event.allocated = LogAmount{900, 1005};
  EXPECT_EQ(unallocated_range(event), (LogAmount{0, 110}));
  event.unallocated = LogAmount{50, 60};
  EXPECT_EQ(unallocated_range(event), (LogAmount{50, 60}));
}

}  // namespace
}  // namespace snug::doctor::log
