#include "backend/cuda/cuda_order.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace snug::cuda {
namespace {

constexpr const char* kDriverLibraries[] = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"};
constexpr int kMaxOrdered = 256;  // a count beyond it is not believed

// The driver's documented binary interface: CUresult is an enum, CUdevice an int.
constexpr int kCuSuccess = 0, kCuNoDevice = 100;
constexpr int kPciBus = 33, kPciDevice = 34, kPciDomain = 50;  // CU_DEVICE_ATTRIBUTE_PCI_..._ID

struct DriverFunctions {
  int (*init)(unsigned flags) = nullptr;
  int (*count)(int* count) = nullptr;
  int (*device)(int* device, int index) = nullptr;
  int (*attribute)(int* value, int attribute, int device) = nullptr;

  explicit DriverFunctions(const SymbolLookup& lookup) {
    init = reinterpret_cast<decltype(init)>(lookup("cuInit"));
    count = reinterpret_cast<decltype(count)>(lookup("cuDeviceGetCount"));
    device = reinterpret_cast<decltype(device)>(lookup("cuDeviceGet"));
    attribute = reinterpret_cast<decltype(attribute)>(lookup("cuDeviceGetAttribute"));
  }
  bool are_whole() const { return init && count && device && attribute; }
};

std::string address_of(const DriverFunctions& driver, int index) {
  int device = 0, domain = 0, bus = 0, slot = 0;
  const bool told = driver.device(&device, index) == kCuSuccess &&
                    driver.attribute(&domain, kPciDomain, device) == kCuSuccess &&
                    driver.attribute(&bus, kPciBus, device) == kCuSuccess &&
                    driver.attribute(&slot, kPciDevice, device) == kCuSuccess;
  if (!told) return "";
  return pci_address(static_cast<unsigned>(domain), static_cast<unsigned>(bus),
                     static_cast<unsigned>(slot));
}

void* driver_library() {
  if (const char* wanted = std::getenv("SNUG_LIBCUDA"); wanted != nullptr && *wanted != '\0') {
    return ::dlopen(wanted, RTLD_NOW | RTLD_LOCAL);
  }
  for (const char* name : kDriverLibraries) {
    if (void* loaded = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return loaded;
  }
  return nullptr;
}

}  // namespace

CudaOrder cuda_order(const SymbolLookup& lookup) {
  CudaOrder order;
  const DriverFunctions driver(lookup);
  if (!driver.are_whole()) {
    order.problem = "libcuda lacks a function";
    return order;
  }
  int code = driver.init(0), count = 0;
  if (code == kCuNoDevice) return order;  // all are hidden
  if (code == kCuSuccess) code = driver.count(&count);
  if (code != kCuSuccess) {
    order.problem = fmt::format("CUDA does not start: error {}", code);
    return order;
  }
  for (int index = 0; index < std::min(count, kMaxOrdered); ++index) {
    order.pci_addresses.push_back(address_of(driver, index));
    if (order.pci_addresses.back().empty())
      order.problem = "CUDA does not tell where its cards are";
  }
  return order;
}

CudaOrder cuda_order() {
  void* const library = driver_library();
  if (library == nullptr) return {{}, "libcuda is not there"};
  // Stays loaded: the driver's library does not like to be unloaded once it has started.
  return cuda_order([library](const char* name) { return ::dlsym(library, name); });
}

void number_cards(const CudaOrder& order, CardsReading& reading) {
  const bool told =
      order.problem.empty() && std::ranges::none_of(reading.cards, [](const CardReading& card) {
        return card.pci_address.empty();
      });
  reading.cuda_problem = order.problem;
  for (CardReading& card : reading.cards) {
    card.numbered_by_cuda = told;
    card.cuda_index.reset();
    if (!told) continue;
    const auto found = std::ranges::find(order.pci_addresses, card.pci_address);
    if (found == order.pci_addresses.end()) continue;
    card.cuda_index = static_cast<int>(found - order.pci_addresses.begin());
  }
}

}  // namespace snug::cuda
