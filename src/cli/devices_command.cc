// `snug devices`: the cards, the processor and the memory of this machine, now.
#include <fmt/format.h>

#include "base/error.h"
#include "cli/devices.h"
#include "cli/devices_report.h"

namespace snug::cli {

std::string devices_help() {
  return "snug devices [--json]\n\n"
         "Shows what this machine has and what is in use: its NVIDIA cards with their\n"
         "memory and the processes on them, the processor with the vector instructions\n"
         "that training takes, and the memory with the limits on it and its largest users.\n"
         "A card's number is the N of --device=cuda:N.\n\n"
         "  --json          one JSON object\n\n"
         "`snug watch` keeps looking; `snug cards` lists what can be planned for.\n";
}

int devices_command(Arguments arguments) {
  std::vector<std::string> rest(arguments.begin(), arguments.end());
  const bool json = take_flag(rest, "--json");
  if (!rest.empty()) {
    throw ConfigError(
        fmt::format("`snug devices` takes no argument '{}'\nit takes --json", rest.front()));
  }
  const cuda::Nvml nvml;
  const DeviceSnapshot snapshot = take_snapshot(nvml, cuda::cuda_order());
  const cpu::ProcessorFacts processor = cpu::processor_facts();
  if (json) {
    // The names of processes and cards may be any bytes.
    constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
    fmt::print("{}\n", devices_json(snapshot, processor).dump(2, ' ', false, kReplace));
  } else {
    fmt::print("{}", devices_text(snapshot, processor));
  }
  return 0;
}

}  // namespace snug::cli
