// Cards by name: what cudaGetDeviceProperties tells of them, from NVIDIA's data sheets.
#include "emulator/card.h"

namespace emulator {
namespace {

struct Row {
  const char* key;
  const char* name;
  int major, minor, multiprocessors, gibibytes, clock_mhz, memory_mhz, bus_bits, l2_kib;
};

// memory_mhz is half the transfers per pin, as the driver tells it.
constexpr Row kRows[] = {
    {"rtx2060", "NVIDIA GeForce RTX 2060", 7, 5, 30, 6, 1680, 7001, 192, 3072},
    {"rtx2080ti", "NVIDIA GeForce RTX 2080 Ti", 7, 5, 68, 11, 1545, 7000, 352, 5632},
    {"rtx3060", "NVIDIA GeForce RTX 3060", 8, 6, 28, 12, 1777, 7501, 192, 2304},
    {"rtx3070", "NVIDIA GeForce RTX 3070", 8, 6, 46, 8, 1725, 7001, 256, 4096},
    {"rtx3080", "NVIDIA GeForce RTX 3080", 8, 6, 68, 10, 1710, 9501, 320, 5120},
    {"rtx3090", "NVIDIA GeForce RTX 3090", 8, 6, 82, 24, 1695, 9751, 384, 6144},
    {"a100", "NVIDIA A100-SXM4-40GB", 8, 0, 108, 40, 1410, 1215, 5120, 40960},
    {"rtx4060", "NVIDIA GeForce RTX 4060", 8, 9, 24, 8, 2460, 8501, 128, 24576},
    {"rtx4070", "NVIDIA GeForce RTX 4070", 8, 9, 46, 12, 2475, 10501, 192, 36864},
    {"rtx4090", "NVIDIA GeForce RTX 4090", 8, 9, 128, 24, 2520, 10501, 384, 73728},
    {"h100", "NVIDIA H100 80GB HBM3", 9, 0, 132, 80, 1980, 2619, 5120, 51200},
    {"rtx5070", "NVIDIA GeForce RTX 5070", 12, 0, 48, 12, 2512, 14001, 192, 49152},
};

}  // namespace

std::optional<CardSettings> card_by_name(const std::string& name) {
  for (const Row& row : kRows) {
    if (name != row.key) continue;
    CardSettings card;
    card.name = row.name;
    card.compute_major = row.major;
    card.compute_minor = row.minor;
    card.multiprocessors = row.multiprocessors;
    card.capacity_bytes = static_cast<std::size_t>(row.gibibytes) << 30;
    card.clock_khz = row.clock_mhz * 1000;
    card.memory_clock_khz = row.memory_mhz * 1000;
    card.bus_width_bits = row.bus_bits;
    card.l2_bytes = static_cast<std::size_t>(row.l2_kib) << 10;
    return card;
  }
  return std::nullopt;
}

std::vector<std::string> card_names() {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.key);
  return names;
}

}  // namespace emulator
