#include "backend/cpu/split/division.h"

#include <gtest/gtest.h>

namespace snug::cpu {
namespace {

SplitProduct gradient(std::int64_t row_panels, std::int64_t column_panels, std::int64_t terms,
                      std::int64_t sequence) {
  SplitProduct p = split_product({.m = row_panels * kPanelWidth,
                                  .n = column_panels * kPanelWidth,
                                  .k = terms,
                                  .transpose_a = true,
                                  .accumulate = true});
  p.sequence = sequence;
  return p;
}

TEST(Division, BlocksCoverTheContractionAndEndWithSequences) {
  for (const std::int64_t sequence : {32, 64, 65, 100}) {
    for (const std::int64_t offset : {0, 32}) {
      SplitProduct p = gradient(1, 1, 5 * sequence - offset, sequence);
      p.offset = offset;
      const Blocks blocks(p);
      std::int64_t next = 0;
      for (std::int64_t i = 0; i < blocks.count(); ++i) {
        const auto [k, depth] = blocks.at(i);
        EXPECT_EQ(k, next);
        EXPECT_GE(depth, 1);
        const std::int64_t position = (k + offset) % sequence;
        EXPECT_EQ(depth, std::min(kBlockDepth, sequence - position));
        next = k + depth;
      }
      EXPECT_EQ(next, p.k);
    }
  }
}

// A batch may be run in parts, and the loss head cuts sequences: scratch is booked once, for all.
TEST(Division, WhatIsBookedIsEnoughForEveryPart) {
  for (const int threads : {1, 2, 3, 4, 7, 16}) {
    for (const std::int64_t rows : {1, 4, 5, 16, 17, 40}) {
      for (const std::int64_t columns : {1, 2, 4, 8, 16, 24}) {
        for (const std::int64_t sequence : {64, 1552}) {
          std::int64_t booked_for_less = 0;
          for (const std::int64_t terms : {96, 192, 512, 1536, 1552, 3104, 6208}) {
            const std::int64_t booked =
                blocks_to_book(gradient(rows, columns, terms, sequence), threads);
            EXPECT_GE(booked, booked_for_less);  // which the fit relies on
            booked_for_less = booked;
            for (std::int64_t part = 32; part <= terms; part += 32) {
              for (const std::int64_t offset : {0, 32}) {
                SplitProduct p = gradient(rows, columns, part, sequence);
                p.offset = offset;
                ASSERT_LE(divide(p, threads).packed_blocks(), booked)
                    << threads << " threads, " << rows << " x " << columns << " panels, " << part
                    << " of " << terms << " terms from " << offset << ", sequences of " << sequence;
              }
            }
          }
        }
      }
    }
  }
}

TEST(Division, WhatIsBookedIsEnoughForFewerRows) {
  for (const int threads : {1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64}) {
    for (const std::int64_t n : {20, 65, 128, 512, 3072}) {
      for (const std::int64_t k : {65, 128, 512, 3072}) {
        const GemmShape shape{.m = 2048, .n = n, .k = k, .transpose_b = true};
        const std::int64_t booked = blocks_to_book(split_product(shape), threads);
        for (std::int64_t m = 1; m <= shape.m; m += kPanelWidth) {
          GemmShape part = shape;
          part.m = m;
          ASSERT_LE(divide(split_product(part), threads).packed_blocks(), booked);
        }
      }
    }
  }
}

}  // namespace
}  // namespace snug::cpu
