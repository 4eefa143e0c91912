// `snug bench`: how fast this processor trains a config, op by op, and how near that is to what its
// arithmetic and its memory could do.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/bench_card.h"
#include "cli/bench_emulated.h"
#include "cli/cli.h"
#include "config/config.h"
#include "device/choose.h"
#include "profile/step_profile.h"

namespace snug::cli {
namespace {

constexpr double kSeconds = 2;

double share(const profile::OpTimes& row, const profile::StepProfile& profile) {
  return row.limit_seconds(profile.flop_rate, profile.byte_rate) / row.median_seconds;
}

// Of what the iteration's arithmetic would take at the products' rate.
double share_of_products(const profile::StepProfile& profile) {
  double flops = 0;
  for (const profile::OpTimes& row : profile.ops) flops += row.flops;
  return flops / profile.flop_rate / profile.median_seconds;
}

void print_json(const config::Config& config, const profile::StepProfile& profile) {
  nlohmann::ordered_json json = {{"dtype", config.dtype},
                                 {"iterations", profile.iterations},
                                 {"median_ms", profile.median_seconds * 1e3},
                                 {"quiet_ms", profile.quiet_seconds * 1e3},
                                 {"predicted_ms", profile.predicted_seconds * 1e3},
                                 {"product_gflops", profile.flop_rate * 1e-9},
                                 {"memory_gbs", profile.byte_rate * 1e-9},
                                 {"share_of_product_limit", share_of_products(profile)},
                                 {"ops", nlohmann::ordered_json::array()}};
  for (const profile::OpTimes& row : profile.ops) {
    json["ops"].push_back({{"phase", row.phase},
                           {"op", row.op},
                           {"calls", row.calls},
                           {"median_ms", row.median_seconds * 1e3},
                           {"quiet_ms", row.quiet_seconds * 1e3},
                           {"gflops", row.flops / row.median_seconds * 1e-9},
                           {"gbs", row.bytes / row.median_seconds * 1e-9},
                           {"share_of_limit", share(row, profile)}});
  }
  fmt::print("{}\n", json.dump(2));
}

void print_table(const config::Config& config, const profile::StepProfile& profile) {
  fmt::print("{:<30} {:>6} {:>9} {:>9} {:>6} {:>8} {:>6} {:>6}\n", "", "calls", "median ms",
             "quiet ms", "share", "GFLOP/s", "GB/s", "limit");
  for (const profile::OpTimes& row : profile.ops) {
    fmt::print("{:<30} {:>6} {:>9.3f} {:>9.3f} {:>5.1f}% {:>8.1f} {:>6.1f} {:>5.0f}%\n",
               row.phase + " " + row.op, row.calls, row.median_seconds * 1e3,
               row.quiet_seconds * 1e3, 100 * row.median_seconds / profile.median_seconds,
               row.flops / row.median_seconds * 1e-9, row.bytes / row.median_seconds * 1e-9,
               100 * share(row, profile));
  }
  const double tokens = static_cast<double>(config.batch_size * config.block_size *
                                            config.gradient_accumulation_steps);
  fmt::print("{:<30} {:>6} {:>9.3f} {:>9.3f}   {:.0f} tok/s, {} iterations in {}\n", "iteration",
             "", profile.median_seconds * 1e3, profile.quiet_seconds * 1e3,
             tokens / profile.median_seconds, profile.iterations, config.dtype);
  fmt::print(
      "{:<30} {:>6} {:>8.0f}%   of the product limit: {:.0f} GFLOP/s, measured in this run\n", "",
      "", 100 * share_of_products(profile), profile.flop_rate * 1e-9);
  fmt::print(
      "\nlimit: share of what products alone ({:.0f} GFLOP/s) or memory ({:.1f} GB/s) would allow, "
      "both measured now;\nabove 100% the bytes came from a cache. quiet: the 10th percentile.\n"
      "`snug plan` and --fit reckon with {:.1f} ms an iteration.\n",
      profile.flop_rate * 1e-9, profile.byte_rate * 1e-9, profile.predicted_seconds * 1e3);
}

}  // namespace

int bench_command(Arguments arguments) {
  std::vector<std::string> rest(arguments.begin(), arguments.end());
  const bool json = take_flag(rest, "--json");
  if (take_flag(rest, "--emulated")) {
    if (!rest.empty()) throw ConfigError("--emulated takes no config: its shapes are GPT-2's");
    return bench_emulated(json);
  }
  const std::string trace = take_profile(rest);
  config::LoadedConfig config = config::load_config(config::Command::kTrain, rest);
  if (config.values.vocab_size == 0) config.values.vocab_size = config::kPaddedGpt2Vocabulary;
  std::unique_ptr<device::Device> device = device::device_to_run(config.values);
  device::settle_dtype(config, *device);
  for (const std::string& notice : config.notices) fmt::print(stderr, "{}\n", notice);
  if (!trace.empty()) profile::require_writable(trace);
  if (device->card_facts()) return bench_card(config.values, std::move(device), json, trace);
  const profile::StepProfile profile =
      profile::profile_steps(config.values, std::move(device), kSeconds);
  if (!trace.empty()) profile::write_trace(trace, profile.events);
  json ? print_json(config.values, profile) : print_table(config.values, profile);
  return 0;
}

}  // namespace snug::cli
