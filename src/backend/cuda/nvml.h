// The cards of this machine as their driver sees them now: memory, load, the processes on them.
// Read through NVIDIA's management library, which comes with the driver and is loaded at run time.
// No library, no driver and no card are readings like any other: nothing here throws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/cuda/nvml_functions.h"

namespace snug::cuda {

struct CardProcess {
  std::int64_t pid = 0;               // as the driver counts: a container may not know it
  std::optional<std::int64_t> bytes;  // on the card; the driver does not always tell
};

struct CardReading {
  int index = 0;  // the management library's
  // The N of --device=cuda:N, see cuda_order.h; nothing where CUDA does not see the card, or does
  // not tell.
  std::optional<int> cuda_index;
  bool numbered_by_cuda = false;
  std::string name = "?";  // the driver's
  std::string
      pci_address;  // "0000:01:00", by which CUDA's number of a card finds it; "": not known
  // Version 2 of the library leaves out of `used` what the driver keeps for itself; then used and
  // free are less than total.
  std::optional<std::int64_t> total_bytes, used_bytes, free_bytes;
  std::optional<int> busy_percent, celsius;
  bool is_divided = false;  // by MIG: programs get a part of it, and memory is that of the whole
  std::vector<CardProcess> processes;  // the largest first, those that are not told last
  std::string problem;                 // what of this could not be read, and why; "": nothing

  bool is_hidden() const { return numbered_by_cuda && !cuda_index; }
};

struct CardsReading {
  std::vector<CardReading> cards;
  std::string driver;        // "550.54.14"; "": not known
  std::string problem;       // "no card: ..." when there is none
  std::string cuda_problem;  // why CUDA does not number the cards; "": it does, or was not asked
};

// As CardReading and OpenCard write a card's place.
std::string pci_address(unsigned domain, unsigned bus, unsigned device);

class Nvml {
 public:
  // The driver's library, or the one that the environment variable SNUG_NVML names.
  Nvml();
  // A library that is loaded already.
  explicit Nvml(NvmlFunctions functions);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  CardsReading read() const;

 private:
  void start();
  std::string error_text(NvmlReturn code) const;
  CardReading read_card(unsigned index) const;
  void read_memory(NvmlDevice device, CardReading& card) const;
  void read_load(NvmlDevice device, CardReading& card) const;
  void read_processes(NvmlDevice device, CardReading& card) const;

  void* library_ = nullptr;
  NvmlFunctions functions_;
  bool started_ = false;
  std::string driver_, problem_;
};

}  // namespace snug::cuda
