#include "doctor/log/facts.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "doctor/log/amount.h"
#include "doctor/log/text.h"

namespace snug::doctor::log {
namespace {

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

constexpr std::size_t kMaxCards = 64, kMaxName = 64;

std::vector<std::string_view> words_of(std::string_view text) {
  // The longest row of the table has 12 words; more only happen in other text.
  constexpr std::size_t kMaxWords = 24;
  std::vector<std::string_view> words;
  while (words.size() < kMaxWords) {
    text = trimmed(text);
    if (text.empty()) break;
    const std::size_t length = std::min(text.find_first_of(" \t"), text.size());
    words.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return words;
}

bool is_card_index(std::string_view word) {
  return word.size() <= 4 && std::all_of(word.begin(), word.end(), is_digit);
}

// "00000000:01:00.0" in the second cell marks the row that names a card.
bool is_bus_id(std::string_view word) {
  return word.size() >= 12 && std::count(word.begin(), word.end(), ':') == 2 &&
         word.ends_with(".0");
}

bool is_mode(std::string_view word) {
  return word == "On" || word == "Off" || word == "WDDM" || word == "TCC" || word == "MCDM";
}

// Words that go on a card's name though they have no digit.
bool goes_on(std::string_view word) {
  constexpr std::array<std::string_view, 14> kWords{"RTX", "GTX", "Ti",     "SUPER", "Super",
                                                    "Xp",  "Pro", "PRO",    "XT",    "XTX",
                                                    "Ada", "GPU", "Laptop", "Tesla"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end() || word == "GeForce" ||
         word == "Generation" || word == "RX" || word == "V";
}

std::size_t name_word_length(std::string_view text) {
  return run_length(text, [](char c) { return is_digit(c) || is_letter(c) || c == '-'; });
}

// The name that starts `text`: a first word, and what goes on it. Empty when no word has a digit.
std::string_view card_name_at(std::string_view text) {
  std::size_t end = name_word_length(text);
  const auto has_digit = [](std::string_view word) {
    return std::any_of(word.begin(), word.end(), is_digit);
  };
  int digit_words = has_digit(text.substr(0, end)) ? 1 : 0;
  while (end + 1 < text.size() && text[end] == ' ') {
    const std::size_t length = name_word_length(text.substr(end + 1));
    const std::string_view word = text.substr(end + 1, length);
    const bool is_model = has_digit(word) && digit_words == 0;
    if (length == 0 || (!goes_on(word) && !is_model)) break;
    digit_words += is_model ? 1 : 0;
    end += 1 + length;
  }
  return digit_words == 0 ? std::string_view{} : text.substr(0, end);
}

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

void CardReader::read_row(const LogLine& line) {
  const std::size_t bar = line.text.find('|');
  if (bar == std::string_view::npos || facts_.cards.size() >= kMaxCards) return;
  std::vector<std::string_view> words = words_of(line.text.substr(0, bar));
  const std::string_view rest = line.text.substr(bar + 1);
  const std::vector<std::string_view> second = words_of(rest.substr(0, rest.find('|')));
  if (!words.empty() && is_mode(words.back())) words.pop_back();
  if (words.size() < 2 || !is_card_index(words.front())) return;
  if (second.empty() || !is_bus_id(second.front())) return;
  const char* const begin = words[1].data();
  const auto length = static_cast<std::size_t>(words.back().data() + words.back().size() - begin);
  facts_.cards.push_back({std::string(begin, std::min(length, kMaxName))});
}

void CardReader::read_mention(const LogLine& line, std::size_t end) {
  if (line.has_border) return;
  const std::string_view text = line.text;
  std::size_t begin = std::min(end, text.size());
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  // "8xH100".
  const std::size_t times = text.substr(begin, 4).find('x');
  const bool has_count =
      times != std::string_view::npos && times > 0 && begin + times + 1 < end &&
      std::all_of(text.begin() + static_cast<std::ptrdiff_t>(begin),
                  text.begin() + static_cast<std::ptrdiff_t>(begin + times), is_digit);
  if (has_count) begin += times + 1;
  for (const std::string_view maker : {"NVIDIA GeForce ", "NVIDIA RTX ", "NVIDIA ", "GeForce "}) {
    const std::size_t length = maker.find(' ') + 1;
    if (begin >= length && text.substr(begin - length, length) == maker.substr(0, length)) {
      begin -= length;
    }
  }
  const char before = begin == 0 ? ' ' : text[begin - 1];
  const bool stands_alone = has_count || !(is_word(before) || before == '/' || before == '-');
  if (stands_alone) add_name(card_name_at(text.substr(begin)));
}

void CardReader::add_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxName || facts_.cards.size() >= kMaxCards) return;
  const bool is_known =
      std::any_of(facts_.cards.begin(), facts_.cards.end(),
                  [&](const LogCard& c) { return c.name.find(name) != std::string::npos; });
  if (is_known) return;
  facts_.cards.push_back({std::string(name)});
}

}  // namespace snug::doctor::log
