#include "doctor/log/progress.h"

#include <algorithm>
#include <array>

#include "doctor/log/amount.h"
#include "doctor/log/text.h"

namespace snug {
namespace {

using namespace log_text;

std::string_view first_word(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text.substr(0, text.find_first_of(" \t,)("));
}

std::optional<std::int64_t> count_at(std::string_view text) {
  std::size_t at = std::min(text.find_first_not_of(' '), text.size());
  return parse_count(text, at);
}

void read_iteration(std::string_view rest, LogFacts& facts) {
  std::size_t at = 0;
  const std::optional<std::int64_t> number = parse_count(rest, at);
  if (!number || !rest.substr(at).starts_with(':')) return;
  facts.last_iteration = std::max(facts.last_iteration.value_or(0), *number);
}

void read_evaluation(std::string_view rest, LogFacts& facts) {
  std::size_t at = 0;
  const std::optional<std::int64_t> number = parse_count(rest, at);
  if (!number || !rest.substr(at).starts_with(": train loss")) return;
  ++facts.evaluation_count;
}

// "50, with 124,354,560 parameters".
void read_decayed(std::string_view rest, LogFacts& facts) {
  constexpr std::string_view kWith = "with ";
  const std::size_t with = rest.find(kWith);
  if (with == std::string_view::npos) return;
  facts.decayed_parameter_count = count_at(rest.substr(with + kWith.size()));
}

// "Defaulting to vocab_size of GPT-2 to 50304", "vocab_size = 65", "forcing vocab_size=50257".
void read_vocabulary(std::string_view rest, LogFacts& facts) {
  const std::size_t digit = rest.find_first_of("0123456789");
  if (digit != std::string_view::npos) facts.vocab_size = count_at(rest.substr(digit));
}

struct Head {
  std::string_view text;
  void (*read)(std::string_view rest, LogFacts& facts);
};

constexpr std::array<Head, 15> kHeads{{
    {"iter ", read_iteration},
    {"step ", read_evaluation},
    {"number of parameters:",
     [](std::string_view rest, LogFacts& f) {
       if (const auto count = parse_short_count(first_word(rest))) f.parameter_count = count;
     }},
    {"num decayed parameter tensors:", read_decayed},
    {"tokens per iteration will be:",
     [](std::string_view rest, LogFacts& f) { f.tokens_per_iteration = count_at(rest); }},
    {"using fused AdamW:",
     [](std::string_view rest, LogFacts& f) { f.fused_adamw = first_word(rest) == "True"; }},
    {"compiling the model", [](std::string_view, LogFacts& f) { f.is_compiled = true; }},
    {"Resuming training from", [](std::string_view, LogFacts& f) { f.is_resumed = true; }},
    {"Initializing from OpenAI GPT-2 weights:",
     [](std::string_view rest, LogFacts& f) { f.pretrained = first_word(rest); }},
    {"loading weights from pretrained gpt:",
     [](std::string_view rest, LogFacts& f) { f.pretrained = first_word(rest); }},
    {"found vocab_size =", read_vocabulary},
    {"forcing vocab_size=", read_vocabulary},
    {"defaulting to vocab_size of GPT-2 to ", read_vocabulary},
    {"WARNING: using slow attention",
     [](std::string_view, LogFacts& f) { f.uses_slow_attention = true; }},
    {"using slow attention", [](std::string_view, LogFacts& f) { f.uses_slow_attention = true; }},
}};

bool is_version(char c) { return is_word(c) || c == '.' || c == '+' || c == '-'; }

}  // namespace

void read_progress(std::string_view line, LogFacts& facts) {
  if (line.empty()) return;
  for (const Head& head : kHeads) {
    if (line.front() != head.text.front() || !line.starts_with(head.text)) continue;
    head.read(line.substr(head.text.size()), facts);
    return;
  }
}

void read_torch_version(std::string_view line, std::size_t end, LogFacts& facts) {
  std::string_view rest = line.substr(std::min(end, line.size()));
  const std::size_t before = rest.size();
  const auto take_separator = [&rest] {
    return take(rest, "version") || take(rest, "Version") || take(rest, "(GPU?)") ||
           (!rest.empty() && std::string_view(" :=_\"'|*").find(rest.front()) != rest.npos &&
            take(rest, rest.substr(0, 1)));
  };
  while (take_separator()) continue;
  if (rest.size() == before) return;
  if (rest.size() > 1 && is_digit(rest[1])) take(rest, "v");
  const std::size_t length = run_length(rest, is_version);
  std::string_view version = rest.substr(0, std::min<std::size_t>(length, 40));
  while (version.ends_with('.')) version.remove_suffix(1);
  // "1.13" at least: one digit or two, a point, a digit.
  const std::size_t point = version.find('.');
  const bool is_number = point != std::string_view::npos && point > 0 && point <= 2 &&
                         is_digit(version.front()) && point + 1 < version.size() &&
                         is_digit(version[point + 1]);
  if (is_number && version.starts_with(facts.torch_version)) facts.torch_version = version;
}

}  // namespace snug
