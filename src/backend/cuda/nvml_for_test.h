// For tests only: a management library with cards of the test's choice, and its errors.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backend/cuda/nvml_functions.h"

namespace snug::cuda {

constexpr NvmlReturn kNotSupported = 3, kDriverNotLoaded = 9, kGpuIsLost = 15;
constexpr unsigned long long kGigabyte = 1ULL << 30;

// Entries as the library lays them out, written out here once more on purpose.
struct EntryV1 {
  unsigned pid;
  unsigned long long used;
};
struct EntryV2 {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};
struct EntryWide {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
  unsigned long long protected_bytes;
};

struct FakeCard {
  const char* name;
  unsigned long long total, reserved, free, used;
  std::vector<EntryV1> compute, graphics;
};

// What the fake library answers. Its functions are plain C, so that they can reach only a global.
struct FakeDriver {
  std::vector<FakeCard> cards;
  std::map<std::string, NvmlReturn> errors;  // by function
  std::set<std::string> calls;
  int open_sessions = 0;
  bool divided = false;
};
inline FakeDriver g_driver;

inline NvmlReturn called(const char* function) {
  g_driver.calls.insert(function);
  const auto error = g_driver.errors.find(function);
  return error == g_driver.errors.end() ? kNvmlSuccess : error->second;
}

inline const FakeCard& card_of(NvmlDevice device) { return *static_cast<const FakeCard*>(device); }

inline NvmlReturn fake_init() {
  const NvmlReturn code = called("nvmlInit_v2");
  if (code == kNvmlSuccess) ++g_driver.open_sessions;
  return code;
}
inline NvmlReturn fake_shutdown() {
  --g_driver.open_sessions;
  return called("nvmlShutdown");
}
inline NvmlReturn fake_count(unsigned* count) {
  *count = static_cast<unsigned>(g_driver.cards.size());
  return called("nvmlDeviceGetCount_v2");
}
inline NvmlReturn fake_device(unsigned index, NvmlDevice* device) {
  *device = &g_driver.cards.at(index);
  return called("nvmlDeviceGetHandleByIndex_v2");
}
inline NvmlReturn fake_name(NvmlDevice device, char* name, unsigned length) {
  std::strncpy(name, card_of(device).name, length);
  return called("nvmlDeviceGetName");
}
// Card 0 in 01:00, card 1 in 02:00.
inline NvmlReturn fake_pci(NvmlDevice device, NvmlPciInfo* pci) {
  *pci = {};
  pci->bus = 1 + static_cast<unsigned>(&card_of(device) - g_driver.cards.data());
  return called("nvmlDeviceGetPciInfo_v3");
}
inline NvmlReturn fake_memory(NvmlDevice device, NvmlMemory* memory) {
  const FakeCard& card = card_of(device);
  *memory = {card.total, card.free, card.used + card.reserved};
  return called("nvmlDeviceGetMemoryInfo");
}
inline NvmlReturn fake_memory_v2(NvmlDevice device, NvmlMemoryV2* memory) {
  EXPECT_EQ(memory->version, 0x2000028U);
  const FakeCard& card = card_of(device);
  *memory = {memory->version, card.total, card.reserved, card.free, card.used};
  return called("nvmlDeviceGetMemoryInfo_v2");
}
inline NvmlReturn fake_utilization(NvmlDevice, NvmlUtilization* load) {
  *load = {97, 40};
  return called("nvmlDeviceGetUtilizationRates");
}
inline NvmlReturn fake_temperature(NvmlDevice, unsigned sensor, unsigned* celsius) {
  EXPECT_EQ(sensor, 0U);
  *celsius = 64;
  return called("nvmlDeviceGetTemperature");
}
// An A100 is divided where the test says so; cards that cannot be refuse the question.
inline NvmlReturn fake_mig_mode(NvmlDevice device, unsigned* current, unsigned* pending) {
  const bool can_be = std::string(card_of(device).name).find("A100") != std::string::npos;
  *current = can_be && g_driver.divided ? 1 : 0;
  *pending = 1 - *current;
  called("nvmlDeviceGetMigMode");
  return can_be ? kNvmlSuccess : kNotSupported;
}
inline NvmlReturn fake_driver_version(char* version, unsigned length) {
  std::strncpy(version, "550.54.14", length);
  return called("nvmlSystemGetDriverVersion");
}
inline const char* fake_error_string(NvmlReturn code) {
  return code == kGpuIsLost ? "GPU is lost" : code == kDriverNotLoaded ? "Driver Not Loaded" : "";
}

template <typename Entry>
NvmlReturn list(const char* function, const std::vector<EntryV1>& processes, unsigned* count,
                void* entries) {
  if (const NvmlReturn code = called(function); code != kNvmlSuccess) return code;
  const unsigned room = *count;
  *count = static_cast<unsigned>(processes.size());
  if (processes.size() > room) return kNvmlInsufficientSize;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    Entry entry;
    std::memset(&entry, 0x7F, sizeof entry);  // where nobody should look
    entry.pid = processes[i].pid;
    entry.used = processes[i].used;
    std::memcpy(static_cast<char*>(entries) + i * sizeof entry, &entry, sizeof entry);
  }
  return kNvmlSuccess;
}
inline NvmlReturn fake_compute_v3(NvmlDevice device, unsigned* count, void* entries) {
  return list<EntryV2>("compute_v3", card_of(device).compute, count, entries);
}
inline NvmlReturn fake_compute_wide(NvmlDevice device, unsigned* count, void* entries) {
  return list<EntryWide>("compute_wide", card_of(device).compute, count, entries);
}
inline NvmlReturn fake_compute_v2(NvmlDevice device, unsigned* count, void* entries) {
  return list<EntryV2>("compute_v2", card_of(device).compute, count, entries);
}
inline NvmlReturn fake_compute_v1(NvmlDevice device, unsigned* count, void* entries) {
  return list<EntryV1>("compute_v1", card_of(device).compute, count, entries);
}
inline NvmlReturn fake_graphics_v3(NvmlDevice device, unsigned* count, void* entries) {
  return list<EntryV2>("graphics_v3", card_of(device).graphics, count, entries);
}

template <typename Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

// A library as of a new driver.
inline std::map<std::string, void*> fake_symbols() {
  return {
      {"nvmlInit_v2", address(fake_init)},
      {"nvmlShutdown", address(fake_shutdown)},
      {"nvmlDeviceGetCount_v2", address(fake_count)},
      {"nvmlDeviceGetHandleByIndex_v2", address(fake_device)},
      {"nvmlDeviceGetName", address(fake_name)},
      {"nvmlDeviceGetPciInfo_v3", address(fake_pci)},
      {"nvmlDeviceGetMemoryInfo", address(fake_memory)},
      {"nvmlDeviceGetMemoryInfo_v2", address(fake_memory_v2)},
      {"nvmlDeviceGetUtilizationRates", address(fake_utilization)},
      {"nvmlDeviceGetTemperature", address(fake_temperature)},
      {"nvmlDeviceGetMigMode", address(fake_mig_mode)},
      {"nvmlSystemGetDriverVersion", address(fake_driver_version)},
      {"nvmlErrorString", address(fake_error_string)},
      {"nvmlDeviceGetComputeRunningProcesses_v3", address(fake_compute_v3)},
      {"nvmlDeviceGetComputeRunningProcesses_v2", address(fake_compute_v2)},
      {"nvmlDeviceGetComputeRunningProcesses", address(fake_compute_v1)},
      {"nvmlDeviceGetGraphicsRunningProcesses_v3", address(fake_graphics_v3)},
  };
}

}  // namespace snug::cuda
