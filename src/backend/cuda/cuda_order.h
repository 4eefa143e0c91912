// How CUDA numbers the machine's cards, which is what --device=cuda:N means: the fastest first
// unless CUDA_DEVICE_ORDER says otherwise, and only those that CUDA_VISIBLE_DEVICES leaves. The
// management library knows nothing of that. Asked of the driver's own library, loaded at run time:
// no toolkit, no runtime and no context are needed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backend/cuda/nvml.h"

namespace snug::cuda {

struct CudaOrder {
  std::vector<std::string> pci_addresses;  // of cuda:0, cuda:1, ... as CardReading writes them
  std::string problem;                     // why CUDA does not tell; "": it does
};

// By the driver's library, or the one that the environment variable SNUG_LIBCUDA names.
CudaOrder cuda_order();
// By functions of a library that is loaded already.
CudaOrder cuda_order(const SymbolLookup& lookup);

// Gives every card of the reading CUDA's number, matched by its place in the machine.
void number_cards(const CudaOrder& order, CardsReading& reading);

}  // namespace snug::cuda
