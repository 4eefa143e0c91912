#include "fit/cards.h"

#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <string>

#include "base/bytes.h"
#include "base/error.h"

namespace snug {
namespace {

std::string error_of(std::string_view text) {
  try {
    card_named(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

std::string key_of(std::string_view text) {
  const Card* card = find_card(text);
  return card == nullptr ? "nothing" : std::string(card->key);
}

const Card& card(std::string_view key) { return card_named(key); }

TEST(Cards, KeysAreUniqueAndNormalised) {
  std::set<std::string_view> keys, names;
  for (const Card& c : all_cards()) {
    EXPECT_TRUE(keys.insert(c.key).second) << c.key;
    EXPECT_TRUE(names.insert(c.name).second) << c.name;
    for (const char letter : c.key) {
      EXPECT_TRUE(std::islower(letter) || std::isdigit(letter) || letter == '-') << c.key;
    }
  }
  EXPECT_GE(keys.size(), 70u);
}

TEST(Cards, EveryKeyAndNameFindsItsCard) {
  for (const Card& c : all_cards()) {
    EXPECT_EQ(find_card(c.key), &c) << c.key;
    EXPECT_EQ(find_card(c.name), &c) << c.name;
    EXPECT_EQ(find_card("NVIDIA " + std::string(c.name)), &c) << c.name;
    EXPECT_EQ(&card_named(c.key), &c);
    const std::size_t dash = c.key.find('-');
    if (dash != std::string_view::npos && c.key.ends_with("gb")) {
      std::string in_one(c.key);
      EXPECT_EQ(find_card(in_one.erase(dash, 1)), &c) << c.key;
    }
  }
}

TEST(Cards, SpellingsOfPeople) {
  for (const char* text :
       {"rtx3060", "RTX 3060", "RTX-3060", "rtx_3060", "3060", "GeForce RTX 3060",
        "nvidia geforce rtx 3060", "GeForceRTX3060", "RTX 3060 12GB", "rtx3060-12gb", "3060 12 GB",
        "RTX 3060 (12 GiB)", " rtx 3060 12g "}) {
    EXPECT_EQ(key_of(text), "rtx3060") << text;
  }
  EXPECT_EQ(key_of("3060 8gb"), "rtx3060-8gb");
  EXPECT_EQ(key_of("3060 ti"), "rtx3060ti");
  EXPECT_EQ(key_of("1060"), "gtx1060");
  EXPECT_EQ(key_of("4060 Ti"), "rtx4060ti");
  EXPECT_EQ(key_of("4060 Ti 8GB"), "rtx4060ti");
  EXPECT_EQ(key_of("4060Ti_16GB"), "rtx4060ti-16gb");
  EXPECT_EQ(key_of("4070 ti super"), "rtx4070tisuper");
  EXPECT_EQ(key_of("3080 10GB"), "rtx3080");
  EXPECT_EQ(key_of("A6000"), "rtxa6000");
  EXPECT_EQ(key_of("6000 Ada"), "rtx6000ada");
}

TEST(Cards, NamesByTheDriver) {
  EXPECT_EQ(key_of("NVIDIA A100-SXM4-80GB"), "a100-80gb");
  EXPECT_EQ(key_of("NVIDIA A100 80GB PCIe"), "a100-80gb");
  EXPECT_EQ(key_of("A100-PCIE-40GB"), "a100-40gb");
  EXPECT_EQ(key_of("Tesla V100-SXM2-16GB"), "v100-16gb");
  EXPECT_EQ(key_of("Tesla P100-PCIE-16GB"), "p100");
  EXPECT_EQ(key_of("NVIDIA H100 80GB HBM3"), "h100-sxm");
  EXPECT_EQ(key_of("NVIDIA H100 PCIe"), "h100-pcie");
  EXPECT_EQ(key_of("NVIDIA RTX PRO 6000 Blackwell Workstation Edition"), "rtxpro6000");
}

TEST(Cards, OtherCardsAreNotTakenForThese) {
  for (const char* text :
       {"", " ", "rtx", "12gb", "rtx3061", "RTX 4090 Laptop GPU", "RTX 4090 D", "GTX 1060 3GB",
        "RTX 3060 16GB", "Quadro RTX 4000", "RTX 6000", "TITAN X", "V100S-PCIE-32GB", "H100 NVL",
        "RTX 4000 SFF Ada Generation", "RX 7900 XTX", "99999999999999999999gb", "\xff\xfe"}) {
    EXPECT_EQ(find_card(text), nullptr) << text;
  }
  EXPECT_EQ(find_card(std::string(100000, '3')), nullptr);
}

TEST(Cards, SeveralAreNone) {
  EXPECT_EQ(find_card("A100"), nullptr);
  EXPECT_EQ(error_of("A100"), "'A100' is more than one card\nwrite a100-40gb or a100-80gb");
  EXPECT_EQ(error_of("H100 80GB"),
            "'H100 80GB' is more than one card\nwrite h100-pcie or h100-sxm");
}

TEST(Cards, UnknownSuggestsTheNearest) {
  const std::string last = "`snug cards` lists all; --memory_budget=12GiB plans for any other";
  EXPECT_EQ(error_of("rtx3061"),
            "there is no card 'rtx3061' in the list\ndid you mean rtx3060?\n" + last);
  EXPECT_NE(error_of("RTX 3061 12GB").find("did you mean rtx3060?"), std::string::npos);
  EXPECT_NE(error_of("3061").find("did you mean rtx3060?"), std::string::npos);
  EXPECT_NE(error_of("1081").find("did you mean gtx1080?"), std::string::npos);
  EXPECT_NE(error_of("GTX 1060 3GB").find("did you mean gtx1060?"), std::string::npos);
  EXPECT_EQ(error_of("Radeon"), "there is no card 'Radeon' in the list\n" + last);
  EXPECT_EQ(error_of(""), "there is no card '' in the list\n" + last);
}

// What tensor cores do per fp32 operation of the ordinary ones, by how NVIDIA sells the card.
double tensor_ratio(const Card& c) {
  if (c.compute_capability < 70 || c.name.starts_with("GeForce GTX")) return 1;
  if (c.compute_capability == 90) return 14.8;  // its clock is lower on tensor cores
  if (c.compute_capability == 80) return 16;
  if (c.key == "titanv") return 7.38;  // likewise
  const bool half_rate = c.name.starts_with("GeForce") || c.key == "l40" || c.key == "a10g";
  return (c.compute_capability < 80 ? 8 : 4) / (half_rate ? 2.0 : 1.0);
}

TEST(Cards, FiguresAgreeWithEachOther) {
  for (const Card& c : all_cards()) {
    SCOPED_TRACE(c.key);
    EXPECT_EQ(c.bf16_tflops, c.compute_capability < 80 ? 0 : c.fp16_tflops);
    const double ratio = tensor_ratio(c);
    EXPECT_NEAR(c.fp16_tflops / c.fp32_tflops, ratio, 0.015 * ratio);
    EXPECT_LE(c.reported_mib, c.memory_mib);
    EXPECT_GE(c.reported_mib, c.memory_mib * 9 / 10);
    EXPECT_EQ(c.memory_mib % 1024, 0);
    // Bytes per fp32 operation: a slip of a digit leaves this range.
    EXPECT_GT(c.bandwidth_gbs / c.fp32_tflops, 8);
    EXPECT_LT(c.bandwidth_gbs / c.fp32_tflops, 110);
  }
}

TEST(Cards, FiguresOfSheetsAndMessages) {
  EXPECT_NEAR(card("rtx3060").bf16_tflops, 25.5, 0.05);
  EXPECT_NEAR(card("rtx3090").bf16_tflops, 71, 0.5);
  EXPECT_NEAR(card("rtx4070").bf16_tflops, 58.3, 0.05);
  EXPECT_NEAR(card("rtx4090").bf16_tflops, 165.2, 0.05);
  EXPECT_NEAR(card("rtx5090").bf16_tflops, 209.5, 0.05);
  EXPECT_NEAR(card("rtx2080ti").fp16_tflops, 56.9, 0.05);
  EXPECT_NEAR(card("rtxa6000").bf16_tflops, 154.8, 0.05);
  EXPECT_EQ(card("a100-80gb").bf16_tflops, 312);
  EXPECT_EQ(card("gtx1080ti").fp16_tflops, card("gtx1080ti").fp32_tflops);
  EXPECT_EQ(card("rtx3060").memory_mib, 12288);
  EXPECT_EQ(card("rtx4090").reported_mib, 25243287552 / kMiB);  // minimind #845
}

TEST(Cards, ContextHoldsWhatMessagesShow) {
  const struct {
    const char* key;
    double gib;
  } seen[] = {{"t4", 0.14},         {"rtx4060", 0.27},   {"rtx3090", 0.31}, {"rtx4090", 0.51},
              {"rtx6000ada", 0.42}, {"a100-40gb", 0.49}, {"rtx3070", 0.17}, {"rtx5090", 0.60}};
  for (const auto& [key, gib] : seen) {
    const ContextRange range = cuda_context(card(key));
    EXPECT_LE(static_cast<double>(range.low_bytes), (gib + 0.005) * kGiB) << key;
    EXPECT_GE(static_cast<double>(range.high_bytes), (gib - 0.005) * kGiB) << key;
  }
  for (const Card& c : all_cards()) {
    const ContextRange range = cuda_context(c);
    EXPECT_GE(range.low_bytes, 128 * kMiB) << c.key;
    EXPECT_LT(range.low_bytes, range.high_bytes) << c.key;
    EXPECT_LE(range.high_bytes, 700 * kMiB) << c.key;
  }
}

TEST(Cards, OnlyDesktopsShowADisplay) {
  EXPECT_EQ(display_bytes(card("rtx3060")), 512 * kMiB);
  EXPECT_EQ(display_bytes(card("rtxa6000")), 512 * kMiB);
  for (const char* key : {"k80", "p100", "v100-32gb", "t4", "a10g", "a40", "l40s", "h200"}) {
    EXPECT_EQ(display_bytes(card(key)), 0) << key;
  }
}

}  // namespace
}  // namespace snug
