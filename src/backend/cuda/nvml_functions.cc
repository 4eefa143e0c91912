#include "backend/cuda/nvml_functions.h"

#include <initializer_list>

namespace snug::cuda {
namespace {

// The first of these names that the library has.
template <typename Function>
void find_first(Function& function, const SymbolLookup& lookup,
                std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* address = lookup(name)) {
      function = reinterpret_cast<Function>(address);
      return;
    }
  }
}

// The first drivers of series 535 (up to 535.86) widened the entries of _v3 without a new name;
// 535.98 took that back. They have the first of these two functions and not yet the second.
// https://github.com/XuehaiPan/nvitop/pull/79, https://github.com/XuehaiPan/nvitop/issues/88
bool has_wide_processes(const SymbolLookup& lookup) {
  return lookup("nvmlDeviceGetConfComputeMemSizeInfo") != nullptr &&
         lookup("nvmlDeviceGetRunningProcessDetailList") == nullptr;
}

std::vector<NvmlProcessList> process_lists(const SymbolLookup& lookup, const std::string& name) {
  struct Version {
    const char* suffix;
    std::size_t entry_bytes;
  };
  const Version versions[] = {
      {"_v3", has_wide_processes(lookup) ? kNvmlProcessWideBytes : kNvmlProcessV2Bytes},
      {"_v2", kNvmlProcessV2Bytes},
      {"", kNvmlProcessV1Bytes}};
  std::vector<NvmlProcessList> lists;
  for (const Version& version : versions) {
    NvmlProcessList list{nullptr, version.entry_bytes};
    find_first(list.call, lookup, {(name + version.suffix).c_str()});
    if (list.call != nullptr) lists.push_back(list);
  }
  return lists;
}

}  // namespace

NvmlFunctions nvml_functions(const SymbolLookup& lookup) {
  NvmlFunctions found;
  find_first(found.init, lookup, {"nvmlInit_v2", "nvmlInit"});
  find_first(found.shutdown, lookup, {"nvmlShutdown"});
  find_first(found.count, lookup, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  find_first(found.device, lookup, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  find_first(found.name, lookup, {"nvmlDeviceGetName"});
  find_first(found.pci, lookup, {"nvmlDeviceGetPciInfo_v3"});
  find_first(found.memory, lookup, {"nvmlDeviceGetMemoryInfo"});
  find_first(found.memory_v2, lookup, {"nvmlDeviceGetMemoryInfo_v2"});
  find_first(found.utilization, lookup, {"nvmlDeviceGetUtilizationRates"});
  find_first(found.temperature, lookup, {"nvmlDeviceGetTemperature"});
  find_first(found.mig_mode, lookup, {"nvmlDeviceGetMigMode"});
  find_first(found.driver_version, lookup, {"nvmlSystemGetDriverVersion"});
  find_first(found.error_string, lookup, {"nvmlErrorString"});
  found.compute_processes = process_lists(lookup, "nvmlDeviceGetComputeRunningProcesses");
  found.graphics_processes = process_lists(lookup, "nvmlDeviceGetGraphicsRunningProcesses");
  return found;
}

std::string missing_nvml_function(const NvmlFunctions& functions) {
  if (functions.init == nullptr) return "nvmlInit_v2";
  if (functions.count == nullptr) return "nvmlDeviceGetCount_v2";
  if (functions.device == nullptr) return "nvmlDeviceGetHandleByIndex_v2";
  return "";
}

}  // namespace snug::cuda
