#include "doctor/diagnosis/run.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "doctor/diagnosis/card_trial.h"
#include "doctor/diagnosis/evidence.h"

namespace snug::doctor::diagnosis {
namespace {

struct TorchRelease {
  int major = 0, minor = 0;
};

// "2.3.1+cu121" -> 2, 3.
std::optional<TorchRelease> parse_release(std::string_view text) {
  TorchRelease release;
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, release.major);
  if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') return std::nullopt;
  const auto minor = std::from_chars(major.ptr + 1, end, release.minor);
  if (minor.ec != std::errc{}) return std::nullopt;
  return release;
}

// Flash attention and torch.compile came with 2.0; the loss of 2.14 and later was measured, that of
// 2.1 to 2.13 may be either.
void read_release(const TorchRelease& release, TorchTraits& traits) {
  if (release.major < 2) {
    traits = {torch::TorchVersion::kOlder, false, false};
    return;
  }
  traits.flash = true;
  if (release.major == 2 && release.minor == 0) traits.version = torch::TorchVersion::kOlder;
  if (release.major > 2 || release.minor >= 14) traits.version = torch::TorchVersion::kCurrent;
}

// The exception had no class of its own before 1.13.
void read_wording(const log::LogEvent& event, TorchTraits& traits) {
  switch (event.wording) {
    case log::LogWording::kCached:
      traits = {torch::TorchVersion::kOlder, false, false};
      return;
    case log::LogWording::kReserved:
    case log::LogWording::kParenthesised:
      traits.version = torch::TorchVersion::kOlder;
      if (event.exception == "RuntimeError") traits = {torch::TorchVersion::kOlder, false, false};
      return;
    case log::LogWording::kUnallocated:
      traits.flash = true;
      return;
    default:
      return;
  }
}

bool is_compiled_frame(const log::LogFrame& frame) {
  for (const std::string_view part : {"torchinductor", "_inductor", "_dynamo", "_functorch"}) {
    if (frame.file.find(part) != std::string::npos) return true;
  }
  return false;
}

void read_frames(const log::LogEvent& event, TorchTraits& traits) {
  const auto& frames = event.frames;
  if (event.shape || std::any_of(frames.begin(), frames.end(), is_compiled_frame)) {
    if (event.kind != log::LogEventKind::kTensorFlow) traits.compiled = true;
    return;
  }
  const bool runs_model = std::any_of(frames.begin(), frames.end(), [](const log::LogFrame& frame) {
    return frame.file.ends_with("model.py") && frame.function.ends_with("forward");
  });
  if (runs_model) traits.compiled = false;
}

// What the run was told: on its command line, or in the file that it echoed.
void read_settings(const log::LogFacts& facts, TorchTraits& traits) {
  for (const log::LogSetting& setting : facts.settings) {
    const bool is_told = setting.source == log::LogSettingSource::kOverride ||
                         setting.source == log::LogSettingSource::kCommandLine ||
                         setting.source == log::LogSettingSource::kConfigEcho;
    if (!is_told || setting.key != "compile") continue;
    if (setting.value == "True" || setting.value == "False")
      traits.compiled = setting.value == "True";
  }
}

}  // namespace

TorchTraits torch_traits_of(const log::LogSummary& log) {
  TorchTraits traits;
  const log::LogEvent* const event = decisive_event(log);
  if (event != nullptr) read_wording(*event, traits);
  if (log.count_of(log::LogEventKind::kAllocatorWarning) > 0)
    traits.version = torch::TorchVersion::kCurrent;
  if (const auto release = parse_release(log.facts.torch_version)) read_release(*release, traits);
  read_settings(log.facts, traits);
  if (event != nullptr) read_frames(*event, traits);
  if (log.facts.is_compiled) traits.compiled = true;
  if (log.facts.uses_slow_attention) traits.flash = false;
  return traits;
}

bool shows_ddp(const log::LogFacts& facts) {
  return facts.world_size.value_or(1) > 1 || facts.highest_rank.value_or(0) > 0;
}

torch::TorchRun torch_run_of(const config::Config& config, std::int64_t vocab_size,
                             const log::LogSummary* log) {
  torch::TorchRun run = torch::torch_run(config, vocab_size);
  if (log == nullptr) return run;
  const log::LogFacts& facts = log->facts;
  const TorchTraits traits = torch_traits_of(*log);
  run.version = traits.version.value_or(run.version);
  run.flash = traits.flash.value_or(run.flash);
  run.compiled = traits.compiled.value_or(run.compiled);
  run.fused_adam = facts.fused_adamw.value_or(run.fused_adam);
  run.resumed = run.resumed || facts.is_resumed;
  const log::LogEvent* const event = decisive_event(*log);
  run.expandable_segments =
      allocator_settings_of(*log, event ? *event : log::LogEvent()).expandable_segments;
  if (shows_ddp(facts)) {
    run.ddp = true;
    run.world_size = facts.world_size ? *facts.world_size : std::int64_t{*facts.highest_rank} + 1;
    // nanoGPT asserts that this divides.
    run.accumulation_steps = std::max<std::int64_t>(1, run.accumulation_steps / run.world_size);
  }
  torch::check_torch_run(run);
  return run;
}

}  // namespace snug::doctor::diagnosis
