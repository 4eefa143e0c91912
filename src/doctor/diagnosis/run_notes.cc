#include "doctor/diagnosis/run_notes.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace snug::doctor::diagnosis {
namespace {

std::string_view truth(bool value) { return value ? "True" : "False"; }

struct SizeKey {
  std::string_view key;
  std::int64_t torch::TorchRun::*size;
};
constexpr SizeKey kSizeKeys[] = {
    {"n_layer", &torch::TorchRun::n_layer},       {"n_head", &torch::TorchRun::n_head},
    {"n_embd", &torch::TorchRun::n_embd},         {"block_size", &torch::TorchRun::block_size},
    {"vocab_size", &torch::TorchRun::vocab_size}, {"batch_size", &torch::TorchRun::batch_size},
};

}  // namespace

Note matched_note(const torch::TorchRun& run, const torch::TorchRun& given) {
  std::vector<std::string> settings;
  if (run.compiled != given.compiled) {
    settings.push_back(fmt::format("compile = {}", truth(run.compiled)));
  }
  for (const SizeKey& row : kSizeKeys) {
    if (run.*row.size == given.*row.size) continue;
    settings.push_back(fmt::format("{} = {}", row.key, run.*row.size));
  }
  if (run.flash != given.flash) settings.push_back(fmt::format("flash = {}", truth(run.flash)));
  if (run.version != given.version) {
    const bool is_older = run.version == torch::TorchVersion::kOlder;
    settings.push_back(fmt::format("--torch={}", is_older ? "older" : "current"));
  }
  return {NoteId::kMatchedRun, {fmt::format("{}", fmt::join(settings, ", "))}};
}

Note assumed_note(const torch::TorchRun& run) {
  std::vector<std::string> settings;
  for (const SizeKey& row : kSizeKeys) {
    settings.push_back(fmt::format("{} = {}", row.key, run.*row.size));
  }
  if (run.dropout > 0) settings.push_back(fmt::format("dropout = {}", run.dropout));
  if (run.compute == DType::kF32) settings.emplace_back("dtype = 'float32'");
  settings.push_back(fmt::format("compile = {}", truth(run.compiled)));
  return {NoteId::kAssumedRun, {fmt::format("{}", fmt::join(settings, ", "))}};
}

Note effective_batch_note(const torch::TorchRun& run) {
  const std::int64_t steps = run.accumulation_steps * run.world_size;
  if (steps == 1) return {NoteId::kEffectiveBatch, {std::to_string(run.batch_size), "", ""}};
  return {NoteId::kEffectiveBatch,
          {std::to_string(run.batch_size), std::to_string(steps),
           std::to_string(run.batch_size * steps)}};
}

}  // namespace snug::doctor::diagnosis
