#include "doctor/diagnosis/guess_clues.h"

#include <bit>
#include <charconv>

namespace snug {
namespace {

std::int64_t whole_number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

GuessClues guess_clues(const LogSummary& log, const LogEvent& event) {
  GuessClues result;
  for (const LogSetting& setting : log.facts.settings) {
    const std::string_view key = setting.key;
    const std::int64_t value = whole_number(setting.value);
    if (key.ends_with("batch_size") || key.ends_with("batch-size")) result.batch = value;
    if (key == "block_size" || key == "n_ctx" || key.starts_with("max_seq") || key == "seq_len") {
      result.length = value;
    }
    if (key == "vocab_size") result.vocabulary = value;
    if (key == "n_head" || key == "num_attention_heads") result.heads = value;
    if (key == "dtype") result.dtype = setting.value;
  }
  if (log.facts.vocab_size) result.vocabulary = *log.facts.vocab_size;
  result.moment = moment_of(log, event);
  // PyTorch had no class for this exception yet.
  result.is_old = event.wording == LogWording::kCached ||
                  (event.wording == LogWording::kReserved && event.exception == "RuntimeError");
  if (event.allocated) result.allocated_bytes = event.allocated->high_bytes;
  return result;
}

double agreement(std::int64_t mentioned, std::int64_t size) {
  if (mentioned <= 0) return 1;
  return mentioned == size ? 8 : 0.2;
}

double prior_of_batch(std::int64_t batch) {
  if (std::has_single_bit(static_cast<std::uint64_t>(batch))) return batch <= 64 ? 1 : 0.3;
  if (batch == 12) return 0.6;  // nanoGPT's
  if (batch % 2 == 0 && batch <= 64) return 0.3;
  return batch <= 10 ? 0.25 : 0.05;
}

std::string_view half_dtype(const GuessClues& evidence) {
  if (evidence.dtype.find("bf") != std::string::npos) return "bfloat16";
  if (evidence.dtype.find("16") != std::string::npos) return "float16";
  return evidence.is_old ? "float16" : "bfloat16";
}

}  // namespace snug
