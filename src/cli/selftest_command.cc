// `snug selftest`: the first thing to run on a card. Every kernel and a short training against the
// processor, in a table.
#include <fmt/format.h>

#include <algorithm>

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

// Where it went wrong, under its row.
void print_detail(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    fmt::print("    {}\n", text.substr(at, end - at));
    at = end + 1;
  }
}

void print_shapes(const device::Selftest& result, bool reduced) {
  fmt::print("shapes      {}\n", reduced ? "reduced, for an emulated card: --full has the real ones"
                                         : "those of real runs");
  for (const std::string& shape : result.shapes) fmt::print("            {}\n", shape);
  fmt::print("\n");
}

void print_rows(const device::Selftest& result) {
  fmt::print("{:<20} {:<9} {:>8} {:>10} {:>8} {:>10} {:>8}\n", "op", "precision", "tensors",
             "worst", "bound", "one-sided", "bound");
  for (const device::SelftestRow& row : result.rows) {
    fmt::print("{:<20} {:<9} {:>8} {:>10.2e} {:>8.1e} {:>10.2e} {:>8.1e}  {}\n", row.op,
               row.precision.name(), row.compared, row.apart.found, row.apart.bound,
               row.drift.found, row.drift.bound, verdict(row.passed()));
    if (!row.failure.empty()) print_detail(row.failure);
    if (!row.apart.is_within()) print_detail(row.apart.at);
    if (!row.drift.is_within()) print_detail("not rounded to the nearest? " + row.drift.at);
  }
  fmt::print("\n");
}

void print_trainings(const device::Selftest& result) {
  for (const device::SelftestTraining& training : result.trainings) {
    fmt::print("training in {:<8}  heads of {:<3}  loss {:.6f} on the card, {:.6f} here  {}\n",
               training.precision.name(), training.head_width, training.card_loss,
               training.cpu_loss, verdict(training.passed()));
    if (!training.failure.empty()) print_detail(training.failure);
  }
  if (!result.lost.empty()) {
    fmt::print("\nTHE CARD IS LOST to this process, in:\n");
    print_detail(result.lost);
    for (const std::string& name : result.not_run) fmt::print("not run: {}\n", name);
    return;
  }
  fmt::print("memory beside the plan: {} loaded by CUDA and cuBLASLt, {} reckoned with  {}\n",
             format_bytes(result.loaded_bytes), format_bytes(cuda::kLoadedLaterBytes),
             result.loaded_as_reckoned() ? "ok" : "more: set --headroom to the rest until we know");
}

void print_what_is_new(bool passed, bool emulated) {
  fmt::print("\n{}\n", passed ? "All within their bounds." : "Not all within their bounds.");
  if (emulated) {
    fmt::print("An emulated card shows that this program is right, nothing of any hardware.\n");
    return;
  }
  fmt::print(
      "None of these kernels had run on hardware when this version was made: they were\n"
      "verified by emulation. Never seen before a card ran them: tensor cores' rounding,\n"
      "cuBLASLt's own products, the order of memory beyond barriers, all times.\n"
      "Whether it passed or not, please send us this table and the output of\n"
      "  snug devices --json\n"
      "  snug bench --device=cuda --json\n");
}

}  // namespace

std::string selftest_help() {
  return "snug selftest [--device=cuda:N | --device=emulated --card=NAME [--full]]\n\n"
         "The first thing to run on a card: runs every op of training, evaluation and\n"
         "sampling on it and on the processor from the same numbers, at the shapes of real\n"
         "runs, and prints the largest differences, and those that all go to one side (what\n"
         "cuts off instead of rounding), beside the bounds that follow from the precision;\n"
         "then trains small models on both. An op that fails is named, and the\n"
         "rest goes on. Exit code 0: all within their bounds, 5: not.\n\n"
         "  --full          the real shapes on an emulated card too: takes minutes\n";
}

int selftest_command(Arguments arguments) {
  std::vector<std::string> rest(arguments.begin(), arguments.end());
  const bool full = take_flag(rest, "--full");
  const config::LoadedConfig loaded = config::load_config(config::Command::kTrain, rest);
  config::Config config = loaded.values;
  if (config.device == "auto" || config.device == "cpu") config.device = cuda::card_device();
  if (config.device.empty()) config.device = "cuda";
  device::require_runnable(config);
  const device::CudaDevice card(config);
  print_card(card.open_card());
  const bool emulated = cuda::card_device() == "emulated", reduced = emulated && !full;
  const auto say = [](std::string_view what) { fmt::print(stderr, "{} ...\n", what); };
  const device::Selftest result = device::run_selftest(
      card, config, reduced ? device::SelftestShapes::kReduced : device::SelftestShapes::kReal,
      say);
  print_shapes(result, reduced);
  print_rows(result);
  print_trainings(result);
  print_what_is_new(result.passed(), emulated);
  return result.passed() ? 0 : static_cast<int>(ExitCode::kDevice);
}

}  // namespace snug::cli
