// `snug bench --emulated`: what the kernels for cards move and multiply, counted without a card.
#include "cli/bench_emulated.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "device/kernel_counts.h"

namespace snug::cli {
namespace {

constexpr const char* kCards[] = {"rtx3060", "rtx4070"};  // sm_86 and sm_89

const char* limit_of(const device::KernelCounts& row) {
  if (row.seconds() == row.tensor_seconds) return "tensor cores";
  return row.seconds() == row.memory_seconds ? "memory" : "shared memory";
}

void print_card(const device::CountedCard& card) {
  fmt::print("{} (sm_{}): counted, not measured\n\n", card.name, card.capability);
  fmt::print("{:<30} {:<24} {:>7} {:>8} {:>9} {:>9} {:>6} {:>9} {:>8}  {}\n", "call", "kernel",
             "traffic", "sectors", "requests", "conflicts", "warps", "products", "us", "limit");
  for (const device::KernelCounts& row : card.kernels) {
    const std::string products =
        row.multiply_adds == 0 ? "" : fmt::format("{:.0f}%", 100 * row.tensor_share());
    fmt::print(
        "{:<30} {:<24} {:>6.2f}x {:>7.1f}% {:>8.1f}% {:>8.1f}% {:>5.0f}% {:>9} {:>8.2f}  {}\n",
        row.call, row.kernel, row.memory_ratio(), 100 * row.sectors_used, 100 * row.requests_used,
        100 * row.bank_conflicts, 100 * row.warps_share, products, row.seconds() * 1e6,
        limit_of(row));
  }
  fmt::print("\n");
}

void print_legend() {
  fmt::print(
      "Shapes are GPT-2's in bfloat16, a few rows of each: ratios are those of a batch.\n"
      "traffic: bytes to and from the card's memory, against the least that the operands need; "
      "its\n"
      "  cache is a model (least recently used first; blocks that run at once take turns)\n"
      "sectors: of the 32-byte sectors that a block touches, the share that it asks for\n"
      "requests: the same of a warp's requests one by one; a lane that reads 32 bytes by two of\n"
      "  them finds the other half in the first cache\n"
      "conflicts: passes over the banks of shared memory beyond those that are needed\n"
      "warps: resident, by threads and shared memory; registers are not known here\n"
      "products: of the tensor cores' peak, by the limit that binds; the least is two products "
      "for\n"
      "  attention forward and five for backward\n"
      "us, limit: what memory, tensor cores or shared memory need at their peak, the largest of\n"
      "  them. No card has been timed.\n");
}

nlohmann::ordered_json json_of(const device::CountedCard& card) {
  nlohmann::ordered_json json = {{"card", card.key},
                                 {"name", card.name},
                                 {"capability", card.capability},
                                 {"counted", true},
                                 {"kernels", nlohmann::ordered_json::array()}};
  for (const device::KernelCounts& row : card.kernels) {
    json["kernels"].push_back({{"call", row.call},
                               {"kernel", row.kernel},
                               {"streams", row.streams},
                               {"launches", row.launches},
                               {"min_bytes", row.min_bytes},
                               {"memory_bytes", row.memory_bytes},
                               {"traffic", row.memory_ratio()},
                               {"sectors_used", row.sectors_used},
                               {"requests_used", row.requests_used},
                               {"bank_conflicts", row.bank_conflicts},
                               {"multiply_adds", row.multiply_adds},
                               {"min_multiply_adds", row.min_multiply_adds},
                               {"tensor_share", row.tensor_share()},
                               {"warps_share", row.warps_share},
                               {"derived_us", row.seconds() * 1e6},
                               {"limit", limit_of(row)}});
  }
  return json;
}

}  // namespace

int bench_emulated(bool json) {
  auto cards = nlohmann::ordered_json::array();
  for (const char* key : kCards) {
    const device::CountedCard card = device::count_kernels(key);
    json ? cards.push_back(json_of(card)) : print_card(card);
  }
  if (json) {
    fmt::print("{}\n", cards.dump(2));
  } else {
    print_legend();
  }
  return 0;
}

}  // namespace snug::cli
