#include "fit/cards.h"

#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <string>

#include "base/bytes.h"
#include "base/error.h"

namespace snug::fit {
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
  EXPECT_GE(keys.size(), 130u);
}

TEST(Cards, EveryKeyAndNameFindsItsCard) {
  for (const Card& c : all_cards()) {
    EXPECT_EQ(find_card(c.key), &c) << c.key;
    EXPECT_EQ(find_card(c.name), &c) << c.name;
    EXPECT_EQ(find_card("NVIDIA " + std::string(c.name)), &c) << c.name;
    EXPECT_EQ(&card_named(c.key), &c);
    const std::size_t dash = c.key.find('-');
    if (dash != std::string_view::npos && c.key.ends_with("gb") &&
        c.key.find("laptop") == std::string_view::npos) {
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
  for (const char* text : {"", " ", "rtx", "0gb", "1025GiB", "12.5GiB", "rtx3061",
                           "RTX 3090 Laptop GPU", "RTX 3060 16GB", "TITAN X", "V100S-PCIE-32GB",
                           "H100", "RX 7900 XTX", "99999999999999999999gb", "\xff\xfe"}) {
    EXPECT_EQ(find_card(text), nullptr) << text;
  }
  EXPECT_EQ(find_card(std::string(100000, '3')), nullptr);
}

TEST(Cards, SeveralAreNone) {
  EXPECT_EQ(find_card("A100"), nullptr);
  EXPECT_EQ(error_of("A100"), "'A100' is more than one card\nwrite a100-40gb or a100-80gb");
  EXPECT_EQ(error_of("H100 80GB"),
            "'H100 80GB' is more than one card\nwrite h100-pcie or h100-sxm");
  EXPECT_EQ(error_of("H100"),
            "'H100' is more than one card\nwrite h100-pcie or h100-sxm or h100-nvl");
}

TEST(Cards, ALaptopsCardIsAnother) {
  EXPECT_EQ(key_of("NVIDIA GeForce RTX 3060 Laptop GPU"), "rtx3060-laptop");
  EXPECT_EQ(key_of("rtx3060 mobile"), "rtx3060-laptop");
  EXPECT_EQ(key_of("RTX 3080 Laptop"), "rtx3080-laptop");
  EXPECT_EQ(key_of("RTX 3080 Laptop GPU 16GB"), "rtx3080-16gb-laptop");
  EXPECT_EQ(key_of("RTX 4070 Laptop GPU"), "rtx4070-laptop");
  EXPECT_LT(card("rtx4070-laptop").memory_mib, card("rtx4070").memory_mib);
  EXPECT_LT(card("rtx4090-laptop").bf16_tflops, 0.6 * card("rtx4090").bf16_tflops);
}

TEST(Cards, AnAmountIsAnyCardOfThatSize) {
  const Card& twelve = card("12GiB");
  EXPECT_TRUE(is_card_of_size(twelve));
  EXPECT_EQ(&card("12 GB"), &twelve);
  EXPECT_EQ(twelve.memory_mib, 12 * 1024);
  EXPECT_EQ(twelve.reported_mib, card("rtx3060").reported_mib);
  EXPECT_EQ(twelve.bf16_tflops, card("rtx3060").bf16_tflops);
  EXPECT_EQ(card("24g").memory_mib, 24 * 1024);
  EXPECT_LT(card("24g").reported_mib, card("24g").memory_mib);
  EXPECT_FALSE(is_card_of_size(card("rtx3060")));
}

TEST(Cards, UnknownSuggestsTheNearest) {
  const std::string last =
      "`snug cards` lists all; --card=12GiB plans for any other with that much memory";
  EXPECT_EQ(error_of("rtx3061"),
            "there is no card 'rtx3061' in the list\ndid you mean rtx3060?\n" + last);
  EXPECT_NE(error_of("RTX 3061 12GB").find("did you mean rtx3060?"), std::string::npos);
  EXPECT_NE(error_of("3061").find("did you mean rtx3060?"), std::string::npos);
  EXPECT_NE(error_of("1081").find("did you mean gtx1080?"), std::string::npos);
  EXPECT_NE(error_of("GTX 1060 5GB").find("did you mean gtx1060?"), std::string::npos);
  EXPECT_EQ(error_of("Radeon"), "there is no card 'Radeon' in the list\n" + last);
  EXPECT_EQ(error_of(""), "there is no card '' in the list\n" + last);
}

TEST(Cards, FiguresAgreeWithEachOther) {
  for (const Card& c : all_cards()) {
    SCOPED_TRACE(c.key);
    EXPECT_EQ(c.bf16_tflops, c.compute_capability < 80 ? 0 : c.fp16_tflops);
    const bool has_tensor_cores = c.compute_capability >= 70 && !c.name.starts_with("GeForce GTX");
    EXPECT_EQ(has_fast_16bit(c), has_tensor_cores);
    EXPECT_LE(c.reported_mib, c.memory_mib);
    EXPECT_GE(c.reported_mib, c.memory_mib * 9 / 10);
    EXPECT_EQ(c.memory_mib % 1024, 0);
    // Bytes per fp32 operation: a slip of a digit leaves this range.
    EXPECT_GT(c.bandwidth_gbs / c.fp32_tflops, 8);
    EXPECT_LT(c.bandwidth_gbs / c.fp32_tflops, 110);
  }
}

// Rates are derived from multiprocessors, clocks and operations per clock; these are the makers'
// published ones, dense and with fp32 sums (half of GeForce's advertised, which sum in fp16).
TEST(Cards, DerivedRatesAreThoseOfTheSheets) {
  const struct {
    const char* key;
    double fp32, tensor;
  } sheets[] = {{"gtx1080ti", 11.3, 11.3}, {"rtx2080ti", 14.2, 56.9}, {"titanrtx", 16.3, 130.5},
                {"rtx3050", 9.1, 18.2},    {"rtx3060", 12.7, 25.5},   {"rtx3070", 20.3, 40.6},
                {"rtx3080", 29.8, 59.5},   {"rtx3090", 35.6, 71.2},   {"rtx4060", 15.1, 30.2},
                {"rtx4070", 29.1, 58.3},   {"rtx4080", 48.7, 97.5},   {"rtx4090", 82.6, 165.2},
                {"rtx5070", 30.9, 61.7},   {"rtx5080", 56.3, 112.6},  {"rtx5090", 104.8, 209.5},
                {"rtxa4000", 19.2, 76.7},  {"rtxa6000", 38.7, 154.8}, {"rtx6000ada", 91.1, 364.2},
                {"v100-32gb", 15.7, 125},  {"a30", 10.3, 165},        {"a40", 37.4, 149.7},
                {"a100-80gb", 19.5, 312},  {"l40s", 91.6, 366},       {"l40", 90.5, 181},
                {"h100-pcie", 51.2, 756},  {"h100-sxm", 66.9, 989.4}, {"a10g", 35.0, 70.0},
                {"k80", 4.37, 4.37},       {"p100", 9.3, 9.3},        {"rtxpro6000", 126, 503.8}};
  for (const auto& [key, fp32, tensor] : sheets) {
    EXPECT_NEAR(card(key).fp32_tflops, fp32, 0.01 * fp32) << key;
    EXPECT_NEAR(card(key).fp16_tflops, tensor, 0.01 * tensor) << key;
  }
  EXPECT_EQ(card("rtx3060").memory_mib, 12288);
  EXPECT_EQ(card("rtx4090").reported_mib, 25243287552 / kMiB);  // minimind #845
}

// A board of 70 W does not hold the clock of its sheet: 65 TFLOP/s of a T4 are for an instant.
TEST(Cards, RatesEndWhereThePowerDoes) {
  EXPECT_NEAR(card("t4").fp16_tflops, 42, 1);
  EXPECT_LT(card("t4").fp16_tflops, 1.8 * card("rtx3060").fp16_tflops);
  EXPECT_LT(card("l4").fp16_tflops, 121);
  EXPECT_LT(card("a10").fp16_tflops, 125);
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
}  // namespace snug::fit
