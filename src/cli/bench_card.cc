#include "cli/bench_card.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "profile/step_profile.h"
#include "train/card_lines.h"

namespace snug::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kCardSeconds = 5;
constexpr const char* kTimesMeanNothing =
    "the card is emulated on the processor: its times mean nothing, the arithmetic and the bytes "
    "are those of a card";

// What the maker says of the card; 0: not known.
struct Limits {
  double flop_rate = 0, byte_rate = 0;
};

Limits limits_of(const fit::Card* card, const config::Config& config) {
  if (card == nullptr) return {};
  const double tera = config.dtype == "bfloat16"  ? card->bf16_tflops
                      : config.dtype == "float16" ? card->fp16_tflops
                                                  : card->fp32_tflops;
  return {tera * 1e12, card->bandwidth_gbs * 1e9};
}

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

// Of the time that an op took, the part that the card's limits ask for.
double share_of_limit(const profile::OpTimes& row, const Limits& limits) {
  return share(row.limit_seconds(limits.flop_rate, limits.byte_rate), row.median_seconds);
}

double tokens_of(const config::Config& config) {
  return static_cast<double>(config::effective_batch_of(config) * config.block_size);
}

void print_json(const config::Config& config, const device::CardFacts& card, const Limits& limits,
                const profile::StepProfile& profile) {
  Json json = {{"card", card.name},
               {"emulated", card.is_emulated},
               {"dtype", config.dtype},
               {"iterations", profile.iterations},
               {"median_ms", profile.median_seconds * 1e3},
               {"predicted_ms", profile.predicted_seconds * 1e3},
               {"product_tflops", profile.flop_rate * 1e-12},
               {"copy_gbs", profile.byte_rate * 1e-9},
               {"limit_tflops", limits.flop_rate * 1e-12},
               {"limit_gbs", limits.byte_rate * 1e-9},
               {"ops", Json::array()}};
  for (const profile::OpTimes& row : profile.ops) {
    json["ops"].push_back({{"phase", row.phase},
                           {"op", row.op},
                           {"calls", row.calls},
                           {"median_ms", row.median_seconds * 1e3},
                           {"predicted_ms", row.predicted_seconds * 1e3},
                           {"tflops", share(row.flops, row.median_seconds) * 1e-12},
                           {"gbs", share(row.bytes, row.median_seconds) * 1e-9},
                           {"share_of_limit", share_of_limit(row, limits)}});
  }
  fmt::print("{}\n", json.dump(2));
}

void print_table(const config::Config& config, const Limits& limits,
                 const profile::StepProfile& profile) {
  fmt::print("{:<28} {:>5} {:>9} {:>9} {:>6} {:>8} {:>7} {:>6}\n", "", "calls", "ms", "predicted",
             "share", "TFLOP/s", "GB/s", "limit");
  for (const profile::OpTimes& row : profile.ops) {
    fmt::print("{:<28} {:>5} {:>9.3f} {:>9.3f} {:>5.1f}% {:>8.2f} {:>7.1f} {:>5.0f}%\n",
               row.phase + " " + row.op, row.calls, row.median_seconds * 1e3,
               row.predicted_seconds * 1e3, 100 * share(row.median_seconds, profile.median_seconds),
               share(row.flops, row.median_seconds) * 1e-12,
               share(row.bytes, row.median_seconds) * 1e-9, 100 * share_of_limit(row, limits));
  }
  fmt::print("{:<28} {:>5} {:>9.3f} {:>9.3f}   {:.0f} tok/s, {} iterations in {}\n", "iteration",
             "", profile.median_seconds * 1e3, profile.predicted_seconds * 1e3,
             share(tokens_of(config), profile.median_seconds), profile.iterations, config.dtype);
  fmt::print("\nlarge products   {:.2f} TFLOP/s, {:.0f}% of the maker's {:.2f}\n",
             profile.flop_rate * 1e-12, 100 * share(profile.flop_rate, limits.flop_rate),
             limits.flop_rate * 1e-12);
  fmt::print("large copies     {:.1f} GB/s, {:.0f}% of the maker's {:.1f}\n",
             profile.byte_rate * 1e-9, 100 * share(profile.byte_rate, limits.byte_rate),
             limits.byte_rate * 1e-9);
  fmt::print(
      "limit: share of what the maker's figures would allow; predicted: what `snug plan` and --fit "
      "reckon with.\n");
}

}  // namespace

int bench_card(const config::Config& config, std::unique_ptr<device::Device> device, bool json,
               const std::string& trace) {
  const device::CardFacts card = device->card_facts().value();
  const Limits limits = limits_of(device->card(), config);
  for (const std::string& line : train::card_lines(card)) fmt::print(stderr, "{}\n", line);
  const profile::StepProfile profile =
      profile::profile_steps(config, std::move(device), card.is_emulated ? 0 : kCardSeconds);
  if (!trace.empty()) profile::write_trace(trace, profile.events);
  if (json) {
    print_json(config, card, limits, profile);
    return 0;
  }
  print_table(config, limits, profile);
  if (card.is_emulated) fmt::print("\n{}\n", kTimesMeanNothing);
  return 0;
}

}  // namespace snug::cli
