#include "cli/devices_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

#include "base/bytes.h"

namespace snug::cli {
namespace {

using Json = nlohmann::ordered_json;

template <typename Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json card_json(const cuda::CardReading& card) {
  const fit::Card* known = known_card(card);
  const std::optional<std::int64_t> usable = usable_bytes(card);
  Json processes = Json::array();
  for (const cuda::CardProcess& process : card.processes) {
    processes.push_back(
        {{"pid", process.pid},
         {"name", machine::shares_process_numbers() ? machine::process_name(process.pid) : "?"},
         {"bytes", or_null(process.bytes)}});
  }
  // What --device=cuda:N takes; the management library's number where CUDA does not tell.
  const Json index = card.is_hidden() ? Json(nullptr) : Json(card.cuda_index.value_or(card.index));
  return {{"index", index},
          {"nvml_index", card.index},
          {"hidden_from_cuda", card.numbered_by_cuda ? Json(card.is_hidden()) : Json(nullptr)},
          {"pci_address", text_or_null(card.pci_address)},
          {"divided", card.is_divided},
          {"name", card.name},
          {"known_as", known == nullptr ? Json(nullptr) : Json(known->key)},
          {"total_bytes", or_null(card.total_bytes)},
          {"used_bytes", or_null(card.used_bytes)},
          {"free_bytes", or_null(card.free_bytes)},
          {"usable_bytes", or_null(usable)},
          {"busy_percent", or_null(card.busy_percent)},
          {"celsius", or_null(card.celsius)},
          {"processes", processes},
          {"problem", text_or_null(card.problem)}};
}

Json processor_json(const cpu::ProcessorFacts& processor) {
  return {{"model", processor.model},
          {"online_cores", processor.online_cores},
          {"allowed_cores", processor.allowed_cores},
          {"threads", processor.threads},
          {"present", processor.present},
          {"products", processor.products_on_amx ? "amx" : "onednn"},
          {"bf16_products",
           processor.bf16_products.empty() ? "widened" : processor.bf16_products.c_str()},
          {"onednn_isa", processor.onednn_isa},
          {"kernels_isa", processor.kernels_isa}};
}

Json memory_json(const MemoryFacts& memory, const std::vector<machine::HostProcess>& largest) {
  Json processes = Json::array();
  for (const machine::HostProcess& process : largest) {
    processes.push_back(
        {{"pid", process.pid}, {"name", process.name}, {"bytes", process.resident_bytes}});
  }
  return {{"total_bytes", memory.now.total_bytes},
          {"used_bytes", memory.used_bytes()},
          {"available_bytes", memory.now.available_bytes},
          {"limited_by", memory.now.limited_by},
          {"machine_bytes", memory.machine_bytes},
          {"cgroup_limit_bytes", or_null(memory.cgroup_limit_bytes)},
          {"ulimit_bytes", or_null(memory.ulimit_bytes)},
          {"processes", processes}};
}

std::string number_or_unknown(std::optional<int> number, const char* unit) {
  return number ? fmt::format("{}{}", *number, unit) : "unknown";
}

// What a reader would get wrong without being told.
std::string caution_text(const cuda::CardReading& card) {
  std::string text;
  if (card.is_hidden()) {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    text += fmt::format("hidden      no run can use it: CUDA does not see it{}\n",
                        visible == nullptr ? ""
                                           : fmt::format(" (CUDA_VISIBLE_DEVICES={})",
                                                         machine::terminal_text(visible)));
  }
  if (card.is_divided) {
    text +=
        "divided     by MIG: a run gets one part of it, the figures are those of the whole card\n";
  }
  return text;
}

std::string processes_text(const cuda::CardReading& card) {
  // A card holds some hundred MiB of its own, and for a display.
  constexpr std::int64_t kOwnBytes = 512 * kMiB;
  if (card.processes.empty()) {
    if (card.used_bytes.value_or(0) <= kOwnBytes || !card.problem.empty()) return "";
    return "processes   none is told: those that hold it run outside this container, or the "
           "driver hides them (WSL2)\n";
  }
  std::string text = "processes   pid          on card  name\n";
  for (const cuda::CardProcess& process : card.processes) {
    text += process_row(process.pid, process.bytes, machine::name_of_drivers_process(process.pid)) +
            "\n";
  }
  return text;
}

std::string card_text(const cuda::CardReading& card) {
  std::string text =
      fmt::format("card {}      {}\n", card_number(card), machine::terminal_text(card.name));
  text += caution_text(card);
  if (const fit::Card* known = known_card(card)) {
    text +=
        fmt::format("known as    {}: `snug plan --card={}` plans for it\n", known->key, known->key);
  }
  text += fmt::format("memory      {}; {} used, {} free\n", bytes_or_unknown(card.total_bytes),
                      bytes_or_unknown(card.used_bytes), bytes_or_unknown(card.free_bytes));
  if (const auto usable = usable_bytes(card)) {
    text += fmt::format("a run       may take about {}: what is free, less CUDA's own\n",
                        format_bytes(*usable));
  }
  text += fmt::format("load        {} busy, {}\n", number_or_unknown(card.busy_percent, "%"),
                      card.celsius ? fmt::format("{} C", *card.celsius) : "temperature unknown");
  if (!card.problem.empty())
    text += fmt::format("problem     {}\n", machine::terminal_text(card.problem));
  return text + processes_text(card);
}

// Where CUDA does not tell its numbers, the driver's are shown.
std::string numbers_text(const cuda::CardsReading& gpu) {
  if (gpu.cards.empty() || gpu.cards.front().numbered_by_cuda) return "";
  std::string text = "numbers     the driver's";
  if (!gpu.cuda_problem.empty()) text += ": " + machine::terminal_text(gpu.cuda_problem);
  if (gpu.cards.size() > 1) {
    text +=
        "\n            --device=cuda:N may mean another card, unless "
        "CUDA_DEVICE_ORDER=PCI_BUS_ID";
  }
  return text + "\n\n";
}

std::string processor_text(const cpu::ProcessorFacts& processor) {
  std::string text = fmt::format("processor   {}\n", machine::terminal_text(processor.model));
  text += fmt::format("cores       {} online, {} allowed; training takes {} thread{}\n",
                      processor.online_cores, processor.allowed_cores, processor.threads,
                      processor.threads == 1 ? "" : "s");
  text += fmt::format("vectors     {} present\n",
                      processor.present.empty()
                          ? "neither AVX2 nor AVX-512"
                          : fmt::format("{}", fmt::join(processor.present, ", ")));
  text += fmt::format("in use      {}{} by oneDNN, {} by Snug's kernels\n",
                      processor.products_on_amx ? "AMX for products, " : "", processor.onednn_isa,
                      processor.kernels_isa);
  return text + fmt::format("bfloat16    {}\n",
                            processor.bf16_products.empty()
                                ? "widened to float32 for products: halves activations, no faster"
                                : "multiplied by " + processor.bf16_products);
}

std::string memory_text(const MemoryFacts& memory,
                        const std::vector<machine::HostProcess>& largest) {
  std::string text =
      fmt::format("RAM         {}; {} used, {} available\n", format_bytes(memory.now.total_bytes),
                  format_bytes(memory.used_bytes()), format_bytes(memory.now.available_bytes));
  const auto limit = [](std::optional<std::int64_t> bytes) {
    return bytes ? format_bytes(*bytes) : std::string("none");
  };
  text += fmt::format("limited by  the {}: machine {}, cgroup {}, ulimit -v {}\n",
                      memory.now.limited_by, format_bytes(memory.machine_bytes),
                      limit(memory.cgroup_limit_bytes), limit(memory.ulimit_bytes));
  text += "largest     pid         resident  name\n";
  for (const machine::HostProcess& process : largest) {
    text += process_row(process.pid, process.resident_bytes, process.name) + "\n";
  }
  return text;
}

}  // namespace

std::string bytes_or_unknown(std::optional<std::int64_t> bytes) {
  return bytes ? format_bytes(*bytes) : "unknown";
}

std::string process_row(std::int64_t pid, std::optional<std::int64_t> bytes,
                        const std::string& name) {
  return fmt::format("            {:<8} {:>11}  {}", pid, bytes_or_unknown(bytes),
                     machine::terminal_text(name));
}

std::string devices_text(const DeviceSnapshot& snapshot, const cpu::ProcessorFacts& processor) {
  std::string text;
  if (!snapshot.gpu.driver.empty()) {
    text += fmt::format("driver      {}\n\n", machine::terminal_text(snapshot.gpu.driver));
  }
  if (!snapshot.gpu.problem.empty()) text += machine::terminal_text(snapshot.gpu.problem) + "\n\n";
  for (const cuda::CardReading& card : snapshot.gpu.cards) text += card_text(card) + "\n";
  text += numbers_text(snapshot.gpu);
  return text + processor_text(processor) + "\n" + memory_text(snapshot.memory, snapshot.processes);
}

nlohmann::ordered_json devices_json(const DeviceSnapshot& snapshot,
                                    const cpu::ProcessorFacts& processor) {
  Json cards = Json::array();
  for (const cuda::CardReading& card : snapshot.gpu.cards) cards.push_back(card_json(card));
  return {{"cards", cards},
          {"driver", text_or_null(snapshot.gpu.driver)},
          {"problem", text_or_null(snapshot.gpu.problem)},
          {"cuda_problem", text_or_null(snapshot.gpu.cuda_problem)},
          {"cpu", processor_json(processor)},
          {"memory", memory_json(snapshot.memory, snapshot.processes)}};
}

}  // namespace snug::cli
