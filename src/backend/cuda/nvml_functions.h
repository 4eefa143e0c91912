// What is called of NVIDIA's management library (libnvidia-ml), by its documented binary interface:
// its header is not needed to build. Found by name, because drivers differ in what they have.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace snug::cuda {

using NvmlReturn = int;  // nvmlReturn_t, an enum
using NvmlDevice = void*;

constexpr NvmlReturn kNvmlSuccess = 0;
constexpr NvmlReturn kNvmlInsufficientSize = 7;
constexpr unsigned kNvmlTemperatureOfGpu = 0;                // nvmlTemperatureSensors_t
constexpr unsigned kNvmlMigEnabled = 1;                      // NVML_DEVICE_MIG_ENABLE
constexpr unsigned long long kNvmlNotAvailable = ~0ULL;      // NVML_VALUE_NOT_AVAILABLE
constexpr unsigned kNvmlMemoryVersion2 = 40U | (2U << 24U);  // NVML_STRUCT_VERSION(Memory, 2)

struct NvmlMemory {
  unsigned long long total, free, used;
};
struct NvmlMemoryV2 {
  unsigned version;  // kNvmlMemoryVersion2
  unsigned long long total, reserved, free, used;
};
struct NvmlUtilization {
  unsigned gpu, memory;  // percent of the time
};
struct NvmlPciInfo {
  char legacy_id[16];
  unsigned domain, bus, device, pci_device, pci_subsystem;
  char id[32];
};
// What every layout of a process begins with.
struct NvmlProcess {
  unsigned pid;
  unsigned long long used_bytes;
};
static_assert(sizeof(NvmlMemory) == 24 && sizeof(NvmlMemoryV2) == 40);
static_assert(sizeof(NvmlUtilization) == 8 && sizeof(NvmlProcess) == 16);
static_assert(sizeof(NvmlPciInfo) == 68);

struct NvmlProcessList {
  // `count` is the room in entries, then the number of processes; kNvmlInsufficientSize if those
  // are more than there is room for.
  NvmlReturn (*call)(NvmlDevice, unsigned* count, void* entries);
  std::size_t entry_bytes;
};

constexpr std::size_t kNvmlProcessV1Bytes = 16;
constexpr std::size_t kNvmlProcessV2Bytes = 24;    // two numbers of a MIG instance follow
constexpr std::size_t kNvmlProcessWideBytes = 32;  // and protected memory
constexpr std::size_t kNvmlNameBytes = 96;
constexpr std::size_t kNvmlVersionBytes = 80;

// Null, or an empty list, is what the library does not have.
struct NvmlFunctions {
  NvmlReturn (*init)() = nullptr;
  NvmlReturn (*shutdown)() = nullptr;
  NvmlReturn (*count)(unsigned* count) = nullptr;
  NvmlReturn (*device)(unsigned index, NvmlDevice* device) = nullptr;
  NvmlReturn (*name)(NvmlDevice, char* name, unsigned length) = nullptr;
  NvmlReturn (*pci)(NvmlDevice, NvmlPciInfo*) = nullptr;
  NvmlReturn (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
  NvmlReturn (*memory_v2)(NvmlDevice, NvmlMemoryV2*) = nullptr;
  NvmlReturn (*utilization)(NvmlDevice, NvmlUtilization*) = nullptr;
  NvmlReturn (*temperature)(NvmlDevice, unsigned sensor, unsigned* celsius) = nullptr;
  NvmlReturn (*mig_mode)(NvmlDevice, unsigned* current, unsigned* pending) = nullptr;
  NvmlReturn (*driver_version)(char* version, unsigned length) = nullptr;
  const char* (*error_string)(NvmlReturn) = nullptr;
  std::vector<NvmlProcessList> compute_processes, graphics_processes;  // the newest first
};

// The address of an exported function, or null.
using SymbolLookup = std::function<void*(const char* name)>;

NvmlFunctions nvml_functions(const SymbolLookup& lookup);

// The name of the first function that nothing can be read without and that is missing, or "".
std::string missing_nvml_function(const NvmlFunctions& functions);

}  // namespace snug::cuda
