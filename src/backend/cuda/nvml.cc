#include "backend/cuda/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

namespace snug::cuda {
namespace {

constexpr const char* kLibrary = "libnvidia-ml.so.1";
constexpr const char* kLibraryOfWsl = "/usr/lib/wsl/lib/libnvidia-ml.so.1";
constexpr unsigned kMaxCards = 256;       // a count beyond it is not believed
constexpr unsigned kFirstProcesses = 64;  // room for the first try
constexpr unsigned kMaxProcesses = 1 << 16;

std::optional<std::int64_t> known_bytes(unsigned long long bytes) {
  if (bytes > static_cast<unsigned long long>(std::numeric_limits<std::int64_t>::max())) {
    return std::nullopt;  // kNvmlNotAvailable among them
  }
  return static_cast<std::int64_t>(bytes);
}

std::string loading_problem(const std::string& name, const std::string& error) {
  const bool absent =
      error.starts_with(name + ":") && error.find("No such file") != std::string::npos;
  if (!absent) return fmt::format("no card: {} cannot be loaded: {}", name, error);
  return fmt::format("no card: {} is not there ({})", name,
                     name == kLibrary ? "no NVIDIA driver" : "SNUG_NVML names it");
}

// The processes of one kind, or the code of the error.
NvmlReturn list_processes(const NvmlProcessList& list, NvmlDevice device,
                          std::vector<NvmlProcess>& found) {
  unsigned room = kFirstProcesses;
  for (;;) {
    // Room for the widest entries, whatever the driver writes.
    std::vector<std::byte> entries(room * kNvmlProcessWideBytes);
    unsigned count = room;
    const NvmlReturn code = list.call(device, &count, entries.data());
    if (code == kNvmlInsufficientSize && room < kMaxProcesses) {
      room = std::min(std::max(count, room) * 2, kMaxProcesses);  // more may start meanwhile
      continue;
    }
    if (code != kNvmlSuccess) return code;
    found.resize(std::min(count, room));
    for (std::size_t i = 0; i < found.size(); ++i) {
      std::memcpy(&found[i], entries.data() + i * list.entry_bytes, sizeof(NvmlProcess));
    }
    return code;
  }
}

// By the newest function that works.
NvmlReturn list_processes(const std::vector<NvmlProcessList>& lists, NvmlDevice device,
                          std::vector<NvmlProcess>& found) {
  NvmlReturn first_error = kNvmlSuccess;
  for (const NvmlProcessList& list : lists) {
    const NvmlReturn code = list_processes(list, device, found);
    if (code == kNvmlSuccess) return code;
    if (first_error == kNvmlSuccess) first_error = code;
  }
  return first_error;
}

using BytesByPid = std::map<std::int64_t, std::optional<std::int64_t>>;

// A process has one entry for each part of a divided card (MIG) that it is on.
BytesByPid sum_by_pid(const std::vector<NvmlProcess>& entries) {
  BytesByPid sums;
  for (const NvmlProcess& entry : entries) {
    const auto bytes = known_bytes(entry.used_bytes);
    const auto [at, is_new] = sums.try_emplace(entry.pid, bytes);
    if (is_new) continue;
    std::int64_t sum = 0;
    const bool known = bytes && at->second && !__builtin_add_overflow(*bytes, *at->second, &sum);
    at->second = known ? std::optional(sum) : std::nullopt;
  }
  return sums;
}

// A process that computes and draws is in both lists, with all of its memory in each.
std::vector<CardProcess> merged(const BytesByPid& compute, const BytesByPid& graphics) {
  BytesByPid all = compute;
  for (const auto& [pid, bytes] : graphics) {
    auto& kept = all.try_emplace(pid, bytes).first->second;
    kept = std::max(kept, bytes);  // nothing is less than any number
  }
  std::vector<CardProcess> processes;
  for (const auto& [pid, bytes] : all) processes.push_back({pid, bytes});
  std::stable_sort(processes.begin(), processes.end(),
                   [](const CardProcess& a, const CardProcess& b) { return a.bytes > b.bytes; });
  return processes;
}

void add_problem(CardReading& card, const std::string& text) {
  if (!card.problem.empty()) card.problem += "; ";
  card.problem += text;
}

}  // namespace

std::string pci_address(unsigned domain, unsigned bus, unsigned device) {
  return fmt::format("{:04x}:{:02x}:{:02x}", domain, bus, device);
}

Nvml::Nvml() {
  const char* wanted = std::getenv("SNUG_NVML");
  const bool named = wanted != nullptr && *wanted != '\0';
  const std::string name = named ? wanted : kLibrary;
  library_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    const char* error = dlerror();
    problem_ = loading_problem(name, error == nullptr ? "" : error);
    if (!named) library_ = dlopen(kLibraryOfWsl, RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) return;
    problem_.clear();
  }
  functions_ = nvml_functions([this](const char* symbol) { return dlsym(library_, symbol); });
  start();
}

Nvml::Nvml(NvmlFunctions functions) : functions_(std::move(functions)) { start(); }

Nvml::~Nvml() {
  if (started_ && functions_.shutdown != nullptr) functions_.shutdown();
  if (library_ != nullptr) dlclose(library_);
}

void Nvml::start() {
  if (const std::string missing = missing_nvml_function(functions_); !missing.empty()) {
    problem_ = fmt::format("no card: libnvidia-ml has no function {}", missing);
    return;
  }
  if (const NvmlReturn code = functions_.init(); code != kNvmlSuccess) {
    problem_ = fmt::format("no card: the NVIDIA driver does not answer: {}", error_text(code));
    return;
  }
  started_ = true;
  char version[kNvmlVersionBytes] = {};
  if (functions_.driver_version != nullptr &&
      functions_.driver_version(version, sizeof version) == kNvmlSuccess) {
    version[sizeof version - 1] = '\0';
    driver_ = version;
  }
}

std::string Nvml::error_text(NvmlReturn code) const {
  const char* text = functions_.error_string == nullptr ? nullptr : functions_.error_string(code);
  return text == nullptr || *text == '\0' ? fmt::format("error {}", code) : text;
}

CardsReading Nvml::read() const {
  CardsReading reading;
  reading.driver = driver_;
  reading.problem = problem_;
  if (!started_) return reading;
  unsigned count = 0;
  if (const NvmlReturn code = functions_.count(&count); code != kNvmlSuccess) {
    reading.problem =
        fmt::format("no card: the NVIDIA driver does not count its cards: {}", error_text(code));
    return reading;
  }
  if (count == 0) reading.problem = "no card: the NVIDIA driver sees none";
  for (unsigned index = 0; index < std::min(count, kMaxCards); ++index) {
    reading.cards.push_back(read_card(index));
  }
  return reading;
}

CardReading Nvml::read_card(unsigned index) const {
  CardReading card;
  card.index = static_cast<int>(index);
  NvmlDevice device = nullptr;
  if (const NvmlReturn code = functions_.device(index, &device); code != kNvmlSuccess) {
    card.problem = fmt::format("cannot be opened: {}", error_text(code));
    return card;
  }
  char name[kNvmlNameBytes] = {};
  if (functions_.name != nullptr && functions_.name(device, name, sizeof name) == kNvmlSuccess) {
    name[sizeof name - 1] = '\0';
    card.name = name;
  }
  NvmlPciInfo pci{};
  if (functions_.pci != nullptr && functions_.pci(device, &pci) == kNvmlSuccess) {
    card.pci_address = pci_address(pci.domain, pci.bus, pci.device);
  }
  unsigned divided = 0, after_reset = 0;
  card.is_divided = functions_.mig_mode != nullptr &&
                    functions_.mig_mode(device, &divided, &after_reset) == kNvmlSuccess &&
                    divided == kNvmlMigEnabled;
  read_memory(device, card);
  read_load(device, card);
  read_processes(device, card);
  return card;
}

void Nvml::read_memory(NvmlDevice device, CardReading& card) const {
  NvmlMemoryV2 wide{};
  wide.version = kNvmlMemoryVersion2;
  NvmlMemory memory{};
  if (functions_.memory_v2 != nullptr && functions_.memory_v2(device, &wide) == kNvmlSuccess) {
    memory = {wide.total, wide.free, wide.used};
  } else if (functions_.memory == nullptr) {
    return add_problem(card, "memory not known: libnvidia-ml cannot tell it");
  } else if (const NvmlReturn code = functions_.memory(device, &memory); code != kNvmlSuccess) {
    return add_problem(card, fmt::format("memory not known: {}", error_text(code)));
  }
  card.total_bytes = known_bytes(memory.total);
  card.used_bytes = known_bytes(memory.used);
  card.free_bytes = known_bytes(memory.free);
}

// Cards that cannot tell these are common: not a problem.
void Nvml::read_load(NvmlDevice device, CardReading& card) const {
  NvmlUtilization load{};
  if (functions_.utilization != nullptr && functions_.utilization(device, &load) == kNvmlSuccess) {
    card.busy_percent = static_cast<int>(std::min(load.gpu, 100U));
  }
  unsigned celsius = 0;
  if (functions_.temperature != nullptr &&
      functions_.temperature(device, kNvmlTemperatureOfGpu, &celsius) == kNvmlSuccess &&
      celsius < 1000) {
    card.celsius = static_cast<int>(celsius);
  }
}

void Nvml::read_processes(NvmlDevice device, CardReading& card) const {
  if (functions_.compute_processes.empty()) {
    return add_problem(card, "processes not known: libnvidia-ml cannot tell them");
  }
  std::vector<NvmlProcess> compute, graphics;
  const NvmlReturn code = list_processes(functions_.compute_processes, device, compute);
  if (code != kNvmlSuccess) {
    add_problem(card, fmt::format("processes not known: {}", error_text(code)));
  }
  // Cards without graphics refuse this one.
  if (list_processes(functions_.graphics_processes, device, graphics) != kNvmlSuccess) {
    graphics.clear();
  }
  card.processes = merged(sum_by_pid(compute), sum_by_pid(graphics));
}

}  // namespace snug::cuda
