#include "train/card_lines.h"

#include <gtest/gtest.h>

#include "base/bytes.h"

namespace snug::train {
namespace {

device::CardFacts some_card() {
  device::CardFacts card;
  card.name = "NVIDIA GeForce RTX 3060";
  card.total_bytes = 12 * kGiB;
  card.free_bytes = 8 * kGiB;
  return card;
}

TEST(CardLines, SayWhatIsFree) {
  EXPECT_TRUE(card_lines(std::nullopt).empty());
  EXPECT_EQ(card_lines(some_card()),
            std::vector<std::string>{
                "card: NVIDIA GeForce RTX 3060, 8.00 GiB of 12.00 GiB free for the run"});
}

TEST(CardLines, NameWhoHoldsTheRest) {
  device::CardFacts card = some_card();
  EXPECT_EQ(holders_line(card), "");
  card.holders = {{42, "firefox", 512 * kMiB}, {7, "Xorg", std::nullopt}};
  EXPECT_EQ(holders_line(card),
            "others are on the card: firefox (pid 42) 512.00 MiB, Xorg (pid 7)");
  EXPECT_EQ(card_lines(card).back(), holders_line(card));
  card.holders.resize(6);
  EXPECT_TRUE(holders_line(card).ends_with(" and 2 more"));
}

TEST(CardLines, WarnOfSilentSpilling) {
  device::CardFacts card = some_card();
  card.may_spill_to_host = true;
  EXPECT_TRUE(card_lines(card).back().starts_with("WSL2: "));
}

TEST(CardLines, SayThatAnEmulatedCardTellsNoTimes) {
  device::CardFacts card = some_card();
  card.is_emulated = true;
  EXPECT_TRUE(card_lines(card).front().ends_with("its times mean nothing"));
}

}  // namespace
}  // namespace snug::train
