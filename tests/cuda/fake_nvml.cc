// NVIDIA's management library as far as Snug calls it, with one card in 01:00, where the emulated
// card is, and on it process 1. Loaded by the tests through SNUG_NVML.
#include <cstring>

namespace {

constexpr int kSuccess = 0, kInsufficientSize = 7;
int g_card;

struct PciInfo {
  char legacy_id[16];
  unsigned domain, bus, device, pci_device, pci_subsystem;
  char id[32];
};
struct Memory {
  unsigned long long total, free, used;
};
struct Process {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};

}  // namespace

extern "C" {

int nvmlInit_v2() { return kSuccess; }
int nvmlShutdown() { return kSuccess; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned, void** device) {
  *device = &g_card;
  return kSuccess;
}
int nvmlDeviceGetName(void*, char* name, unsigned length) {
  std::strncpy(name, "NVIDIA GeForce RTX 3060", length);
  return kSuccess;
}
int nvmlDeviceGetPciInfo_v3(void*, PciInfo* pci) {
  *pci = {};
  pci->bus = 1;
  return kSuccess;
}
int nvmlDeviceGetMemoryInfo(void*, Memory* memory) {
  *memory = {12ULL << 30, 4ULL << 30, 8ULL << 30};
  return kSuccess;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, Process* processes) {
  const unsigned room = *count;
  *count = 1;
  if (room < 1) return kInsufficientSize;
  processes[0] = {1, 7ULL << 30, 0, 0};
  return kSuccess;
}
}
