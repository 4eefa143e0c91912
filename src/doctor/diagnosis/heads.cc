// Heads that do not divide the width: nanoGPT's own assertion, before any memory is needed.
#include <algorithm>
#include <variant>

#include "config/fields.h"
#include "config/head_sizes.h"
#include "config/python/reader.h"
#include "doctor/diagnosis/diagnosis.h"
#include "doctor/diagnosis/note_makers.h"

namespace snug {
namespace {

// Within the limits of a key that holds a whole number.
bool is_possible(std::string_view key, std::int64_t value) {
  return find_field(key)->limit.allows(static_cast<double>(value));
}

}  // namespace

std::optional<Note> heads_note(std::int64_t n_embd, std::int64_t n_head) {
  if (!is_possible("n_embd", n_embd) || !is_possible("n_head", n_head)) return std::nullopt;
  if (n_embd % n_head == 0) return std::nullopt;
  return Note{NoteId::kHeadsDoNotDivide,
              {std::to_string(n_embd), std::to_string(n_head),
               std::to_string(nearest_divisor(n_embd, n_head)),
               std::to_string(nearest_width(n_embd, n_head))}};
}

std::optional<Note> heads_note_of(const LogSummary& log, const LogEvent& event) {
  const bool asserts =
      std::any_of(event.frames.begin(), event.frames.end(), [](const LogFrame& frame) {
        return frame.source.find("n_embd % config.n_head") != std::string::npos;
      });
  if (!asserts) return std::nullopt;
  const Config defaults;
  std::int64_t width = defaults.n_embd, heads = defaults.n_head;
  for (const LogSetting& setting : log.facts.settings) {
    if (setting.key != "n_embd" && setting.key != "n_head") continue;
    const std::optional<Value> literal = read_literal(setting.value);
    const std::int64_t* const value = literal ? std::get_if<std::int64_t>(&*literal) : nullptr;
    if (value == nullptr || !is_possible(setting.key, *value)) continue;
    (setting.key == "n_embd" ? width : heads) = *value;
  }
  return heads_note(width, heads);
}

}  // namespace snug
