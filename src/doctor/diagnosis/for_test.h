// What the tests of the diagnosis share: a diagnosis from texts.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "doctor/diagnosis/diagnosis.h"
#include "doctor/diagnosis/run.h"
#include "doctor/log/for_test.h"

namespace snug::doctor::diagnosis {

// "batch_size=32 compile=False" as the doctor's command line; empty: no config.
inline std::vector<std::string> arguments_of(std::string_view settings) {
  std::vector<std::string> arguments{"--device=cuda"};
  while (!settings.empty()) {
    const std::size_t end = std::min(settings.find(' '), settings.size());
    if (end > 0) arguments.push_back(fmt::format("--{}", settings.substr(0, end)));
    settings.remove_prefix(std::min(end + 1, settings.size()));
  }
  return arguments;
}

inline torch::TorchMemory memory_of(std::string_view settings,
                                    const log::LogSummary* log = nullptr) {
  const config::LoadedConfig config =
      config::load_config(config::Command::kPlan, arguments_of(settings));
  const std::int64_t vocabulary = config.values.vocab_size > 0 ? config.values.vocab_size : 50304;
  return torch::torch_memory(torch_run_of(config.values, vocabulary, log));
}

// The diagnosis, with the run that goes with the text.
inline LogDiagnosis match_text(std::string_view log_text, std::string_view settings) {
  const log::LogSummary log = log::read_text(log_text);
  if (settings.empty()) return diagnose(log, nullptr, nullptr);
  const torch::TorchMemory memory = memory_of(settings, &log);
  return diagnose(log, &memory, nullptr);
}

inline Diagnosis diagnose_text(std::string_view log_text, std::string_view settings = "") {
  return match_text(log_text, settings).diagnosis;
}

// The older wording: "394.00 MiB", "15.78 GiB", "5.17 GiB", "8.68 GiB", "5.25 GiB".
inline std::string old_message(std::string_view request, std::string_view total,
                               std::string_view allocated, std::string_view free,
                               std::string_view reserved,
                               std::string_view exception = "torch.cuda.OutOfMemoryError") {
  return fmt::format(
      "{}: CUDA out of memory. Tried to allocate {} (GPU 0; {} total capacity; {} already "
      "allocated; {} free; {} reserved in total by PyTorch)\n",
      exception, request, total, allocated, free, reserved);
}

inline std::string new_message(std::string_view request, std::string_view total,
                               std::string_view free, std::string_view in_use,
                               std::string_view allocated, std::string_view unallocated) {
  return fmt::format(
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {}. GPU 0 has a total "
      "capacity of {} of which {} is free. {} Of the allocated memory {} is allocated by PyTorch, "
      "and {} is reserved by PyTorch but unallocated.\n",
      request, total, free, in_use, allocated, unallocated);
}

inline std::string own_use(std::string_view amount) {
  return fmt::format("Including non-PyTorch memory, this process has {} memory in use.", amount);
}

// "0.97 logits (64, 1024, 50304) bfloat16 first evaluation", one a line.
inline std::string to_text(const Diagnosis& diagnosis) {
  std::string out =
      fmt::format("{} {:.2f}\n", name_of(diagnosis.cause), diagnosis.cause_confidence);
  for (const Candidate& c : diagnosis.candidates) {
    out += fmt::format("{:.2f} {} ({}) {} {} {}\n", c.confidence, c.tensor,
                       fmt::join(c.shape, ", "), c.dtype, c.phase ? torch::name_of(*c.phase) : "",
                       c.guess ? c.guess->model : "");
  }
  return out;
}

inline double confidence_of(const Diagnosis& diagnosis, const std::vector<std::int64_t>& shape,
                            std::string_view dtype) {
  double sum = 0;
  for (const Candidate& c : diagnosis.candidates) {
    if (c.shape == shape && c.dtype == dtype) sum += c.confidence;
  }
  return sum;
}

inline const Note* find_note(const Diagnosis& diagnosis, NoteId id) {
  const auto found = std::find_if(diagnosis.notes.begin(), diagnosis.notes.end(),
                                  [&](const Note& note) { return note.id == id; });
  return found == diagnosis.notes.end() ? nullptr : &*found;
}

inline double total_confidence(const Diagnosis& diagnosis) {
  double sum = 0;
  for (const Candidate& candidate : diagnosis.candidates) sum += candidate.confidence;
  return sum;
}

}  // namespace snug::doctor::diagnosis
