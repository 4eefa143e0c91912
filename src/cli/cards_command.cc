// `snug cards`: the cards that a run can be planned for.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/error.h"
#include "cli/cli.h"
#include "fit/cards.h"

namespace snug::cli {
namespace {

std::vector<std::string> features_of(const fit::Card& card) {
  std::vector<std::string> features;
  if (fit::has_fast_16bit(card)) features.push_back("tensor-cores");
  if (card.bf16_tflops > 0) features.push_back("bf16");
  if (card.compute_capability >= 80) features.push_back("flash");
  if (card.compute_capability >= 89) features.push_back("fp8");
  return features;
}

// As the table has room for: whether there is bfloat16 is in a column of its own.
std::vector<std::string> short_features_of(const fit::Card& card) {
  std::vector<std::string> features = features_of(card);
  std::erase(features, "bf16");
  std::ranges::replace(features, "tensor-cores", "tensor");
  return features;
}

void print_json() {
  auto json = nlohmann::ordered_json::array();
  for (const fit::Card& card : fit::all_cards()) {
    const fit::ContextRange context = fit::cuda_context(card);
    json.push_back({{"key", card.key},
                    {"name", card.name},
                    {"memory_bytes", card.memory_mib * kMiB},
                    {"reported_bytes", card.reported_mib * kMiB},
                    {"display_bytes", fit::display_bytes(card)},
                    {"context_bytes", {{"low", context.low_bytes}, {"high", context.high_bytes}}},
                    {"bf16_tflops", card.bf16_tflops},
                    {"fp16_tflops", card.fp16_tflops},
                    {"fp32_tflops", card.fp32_tflops},
                    {"bandwidth_gbs", card.bandwidth_gbs},
                    {"compute_capability", card.compute_capability},
                    {"features", features_of(card)}});
  }
  fmt::print("{}\n", json.dump(2));
}

}  // namespace

int cards_command(Arguments arguments) {
  std::vector<std::string> rest(arguments.begin(), arguments.end());
  const bool json = take_flag(rest, "--json");
  if (!rest.empty()) {
    throw ConfigError(
        fmt::format("`snug cards` takes no argument '{}'\n`snug plan --card=NAME` "
                    "plans for a card",
                    rest.front()));
  }
  if (json) {
    print_json();
    return 0;
  }
  std::string text = fmt::format("{:<19} {:>4} {:>6} {:>6} {:>6} {:>6} {:>5}  features\n", "card",
                                 "GiB", "bf16", "fp16", "fp32", "GB/s", "cc");
  for (const fit::Card& card : fit::all_cards()) {
    text += fmt::format("{:<19} {:>4.0f} {:>6} {:>6.1f} {:>6.1f} {:>6.0f} {:>5.1f}", card.key,
                        static_cast<double>(card.memory_mib) / 1024,
                        card.bf16_tflops > 0 ? fmt::format("{:.1f}", card.bf16_tflops) : "no",
                        card.fp16_tflops, card.fp32_tflops, card.bandwidth_gbs,
                        card.compute_capability / 10.0);
    const std::vector<std::string> features = short_features_of(card);
    text += features.empty() ? "\n" : fmt::format("  {}\n", fmt::join(features, " "));
  }
  text +=
      "\nTFLOP/s, dense, sums in float32; bandwidth of the memory; cc: compute capability;\n"
      "tensor: tensor cores; flash: PyTorch's flash attention runs on it.\n"
      "--json has the names, too. --card=12GiB plans for any other of that size.\n"
      "snug plan config.py --card=rtx3060   plans for one\n";
  print_report(text);
  return 0;
}

}  // namespace snug::cli
