// `snug selftest`: the first thing to run on a card. Every kernel and a short training against the
// processor, in a table.
#include <fmt/format.h>

#include "base/bytes.h"
#include "base/error.h"
#include "cli/selftest.h"
#include "config/config.h"
#include "device/choose.h"
#include "device/selftest.h"

namespace snug::cli {
namespace {

void print_card(const cuda::OpenCard& card) {
  fmt::print("card        {}, compute capability {}.{}{}\n", card.name, card.capability / 10,
             card.capability % 10, cuda::card_device() == "emulated" ? " (emulated)" : "");
  fmt::print("memory      {} free of {}\n", format_bytes(card.free_bytes),
             format_bytes(card.total_bytes));
  fmt::print("CUDA        driver {}.{}, runtime {}.{}\n\n", card.driver / 1000,
             card.driver % 1000 / 10, card.runtime / 1000, card.runtime % 1000 / 10);
}

const char* verdict(bool passed) { return passed ? "ok" : "FAILED"; }

void print_rows(const device::Selftest& result) {
  fmt::print("{:<20} {:<9} {:>8} {:>10} {:>10}\n", "op", "precision", "tensors", "worst", "bound");
  for (const device::SelftestRow& row : result.rows) {
    fmt::print("{:<20} {:<9} {:>8} {:>10.2e} {:>10.1e}  {}{}\n", row.op, name_of(row.precision),
               row.compared, row.worst, row.bound, verdict(row.passed()),
               row.passed() ? "" : " (" + row.worst_at + ")");
  }
  fmt::print("\n");
  for (const device::SelftestTraining& training : result.trainings) {
    fmt::print("training in {:<8}  heads of {:<3}  loss {:.6f} on the card, {:.6f} here  {}\n",
               name_of(training.precision), training.head_width, training.card_loss,
               training.cpu_loss, verdict(training.passed()));
  }
  fmt::print("memory beside the plan: {} loaded by CUDA and cuBLASLt, {} reckoned with  {}\n",
             format_bytes(result.loaded_bytes), format_bytes(cuda::kLoadedLaterBytes),
             result.loaded_as_reckoned() ? "ok" : "more: set --headroom to the rest until we know");
}

void print_what_is_new() {
  fmt::print(
      "\nNone of these kernels had run on hardware when this version was made: they were\n"
      "verified by emulation. Never seen before a card ran them: tensor cores' rounding,\n"
      "cuBLASLt's own products, the order of memory beyond barriers, all times.\n"
      "If this is a real card, please send us this table, `snug devices --json` and\n"
      "`snug bench --device=cuda --json`, whether it passed or not.\n");
}

}  // namespace

std::string selftest_help() {
  return "snug selftest [--device=cuda:N | --device=emulated --card=NAME]\n\n"
         "The first thing to run on a card: trains a tiny model on it and on the\n"
         "processor, compares what every op wrote, and prints the largest differences\n"
         "beside the bounds that they have to keep to. Exit code 0: all within, 5: not.\n";
}

int selftest_command(Arguments arguments) {
  const config::LoadedConfig loaded = config::load_config(config::Command::kTrain, arguments);
  config::Config config = loaded.values;
  if (config.device == "auto" || config.device == "cpu") config.device = cuda::card_device();
  if (config.device.empty()) config.device = "cuda";
  device::require_runnable(config);
  const device::CudaDevice card(config);
  print_card(card.open_card());
  const auto say = [](std::string_view what) { fmt::print(stderr, "comparing in {} ...\n", what); };
  const device::Selftest result = device::run_selftest(card, config, say);
  print_rows(result);
  print_what_is_new();
  return result.passed() ? 0 : static_cast<int>(ExitCode::kDevice);
}

}  // namespace snug::cli
