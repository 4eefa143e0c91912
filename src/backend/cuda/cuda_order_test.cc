#include "backend/cuda/cuda_order.h"

#include <gtest/gtest.h>

#include <map>

namespace snug::cuda {
namespace {

// A driver's library with cards in these buses, in CUDA's order.
std::vector<int> g_buses;
int g_init_code = 0, g_attribute_code = 0;

int fake_cu_init(unsigned) { return g_init_code; }
int fake_cu_count(int* count) {
  *count = static_cast<int>(g_buses.size());
  return 0;
}
int fake_cu_device(int* device, int index) {
  *device = 100 + index;  // no index: who takes it for one is found out
  return 0;
}
int fake_cu_attribute(int* value, int attribute, int device) {
  *value = attribute == 33 ? g_buses.at(static_cast<std::size_t>(device - 100)) : 0;
  return attribute == 33 || attribute == 34 || attribute == 50 ? g_attribute_code : 1;
}

CudaOrder order_of(std::vector<int> buses, const char* without = "") {
  g_buses = std::move(buses);
  const std::map<std::string, void*> symbols = {
      {"cuInit", reinterpret_cast<void*>(fake_cu_init)},
      {"cuDeviceGetCount", reinterpret_cast<void*>(fake_cu_count)},
      {"cuDeviceGet", reinterpret_cast<void*>(fake_cu_device)},
      {"cuDeviceGetAttribute", reinterpret_cast<void*>(fake_cu_attribute)}};
  return cuda_order([&](const char* name) -> void* {
    return std::string(name) == without ? nullptr : symbols.at(name);
  });
}

// The management library's order: 01:00, 02:00, 03:00.
CardsReading three_cards() {
  CardsReading reading;
  for (const int index : {0, 1, 2}) {
    CardReading card;
    card.index = index;
    card.pci_address = pci_address(0, static_cast<unsigned>(index) + 1, 0);
    reading.cards.push_back(card);
  }
  return reading;
}

TEST(CudaOrder, NumbersCardsByTheirPlace) {
  CardsReading reading = three_cards();
  number_cards(order_of({3, 1, 2}), reading);
  EXPECT_EQ(reading.cards[0].cuda_index, 1);
  EXPECT_EQ(reading.cards[1].cuda_index, 2);
  EXPECT_EQ(reading.cards[2].cuda_index, 0);
}

// As CUDA_VISIBLE_DEVICES=2 makes it.
TEST(CudaOrder, CardsThatCudaDoesNotSeeHaveNoNumber) {
  CardsReading reading = three_cards();
  number_cards(order_of({3}), reading);
  EXPECT_TRUE(reading.cards[0].is_hidden() && reading.cards[1].is_hidden());
  EXPECT_EQ(reading.cards[2].cuda_index, 0);
  g_init_code = 100;  // CUDA_ERROR_NO_DEVICE: CUDA_VISIBLE_DEVICES is empty
  number_cards(order_of({3}), reading);
  g_init_code = 0;
  EXPECT_TRUE(reading.cards[2].is_hidden());
}

TEST(CudaOrder, WhereCudaDoesNotTellNothingIsHidden) {
  CardsReading reading = three_cards();
  const auto expect_untold = [&](const CudaOrder& order) {
    EXPECT_NE(order.problem, "");
    number_cards(order, reading);
    for (const CardReading& card : reading.cards) {
      EXPECT_FALSE(card.is_hidden() || card.cuda_index.has_value());
    }
  };
  expect_untold(order_of({1, 2, 3}, "cuDeviceGet"));
  g_init_code = 999;
  expect_untold(order_of({1, 2, 3}));
  g_init_code = 0;
  g_attribute_code = 1;
  expect_untold(order_of({1, 2, 3}));
  g_attribute_code = 0;
}

TEST(CudaOrder, ACardWithoutAPlaceLeavesAllUnnumbered) {
  CardsReading reading = three_cards();
  reading.cards[1].pci_address = "";
  number_cards(order_of({3, 1}), reading);
  for (const CardReading& card : reading.cards) EXPECT_FALSE(card.is_hidden());
}

}  // namespace
}  // namespace snug::cuda
