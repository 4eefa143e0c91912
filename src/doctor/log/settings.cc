#include "doctor/log/settings.h"

#include <algorithm>
#include <array>
#include <utility>

#include "config/diagnostic.h"
#include "doctor/log/amount.h"
#include "doctor/log/fold.h"
#include "doctor/log/text.h"

namespace snug::doctor::log {
namespace {

constexpr std::size_t kMaxSettings = 512, kMaxConfigTextBytes = 64 << 10, kMaxConfigFiles = 16;
constexpr std::size_t kMaxKey = 64, kMaxValue = 160;
// nanoGPT's longest config file has 30 lines; a person's may have ten times that.
constexpr int kMaxEchoLines = 400;

// A Python value up to its comment; a '#' in quotes is none.
std::string_view without_comment(std::string_view text) {
  char quote = '\0';
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (quote != '\0') {
      if (text[at] == quote) quote = '\0';
    } else if (text[at] == '\'' || text[at] == '"') {
      quote = text[at];
    } else if (text[at] == '#') {
      return trimmed(text.substr(0, at));
    }
  }
  return trimmed(text);
}

// A number, True, False, None, or something in quotes at the start; empty for anything else.
std::string_view literal_at(std::string_view text) {
  if (text.empty()) return {};
  if (text.front() == '\'' || text.front() == '"') {
    const std::size_t close = text.find(text.front(), 1);
    return close == std::string_view::npos ? std::string_view{} : text.substr(0, close + 1);
  }
  for (const std::string_view word : {"True", "False", "None"}) {
    if (text.starts_with(word) && run_length(text, is_word) == word.size()) return word;
  }
  for (const std::string_view dtype : {"bfloat16", "float16", "float32"}) {
    if (text.starts_with(dtype)) return dtype;
  }
  std::size_t end = text.front() == '-' ? 1 : 0;
  while (end < text.size() && (is_word(text[end]) || text[end] == '.')) ++end;
  while (end > 0 && text[end - 1] == '.') --end;
  const bool is_number = std::all_of(
      text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end),
      [](char c) { return std::string_view("0123456789.-_e").find(c) != std::string_view::npos; });
  const bool has_digit = end > 0 && is_digit(text[end - 1]);
  return is_number && has_digit ? text.substr(0, end) : std::string_view{};
}

// False when it is there already.
bool add_name(std::vector<std::string>& names, std::string_view name) {
  if (names.size() >= kMaxConfigFiles || name.size() > kMaxValue) return false;
  if (std::find(names.begin(), names.end(), name) != names.end()) return false;
  names.emplace_back(name);
  return true;
}

// What nanoGPT prints after the echo of a file.
bool ends_echo(std::string_view text) {
  constexpr std::array<std::string_view, 9> kHeads{"tokens per iteration",
                                                   "found vocab_size",
                                                   "Initializing",
                                                   "Traceback",
                                                   "number of parameters",
                                                   "using ",
                                                   "num decayed",
                                                   "Resuming",
                                                   "WARNING"};
  return std::any_of(kHeads.begin(), kHeads.end(),
                     [&](std::string_view head) { return text.starts_with(head); });
}

}  // namespace

void SettingsReader::add(LogSetting setting) {
  auto& settings = facts_.settings;
  if (setting.key.empty() || setting.key.size() > kMaxKey || setting.value.size() > kMaxValue)
    return;
  if (!config::is_utf8(setting.key) || !config::is_utf8(setting.value)) return;
  // Every rank prints the same, and a person repeats herself.
  const auto last = std::find_if(settings.rbegin(), settings.rend(), [&](const LogSetting& s) {
    return s.source == setting.source && s.key == setting.key;
  });
  if (last != settings.rend() && last->value == setting.value) return;
  if (settings.size() < kMaxSettings) settings.push_back(std::move(setting));
}

void SettingsReader::add_config_file(std::string_view name) { add_name(facts_.config_files, name); }

void SettingsReader::read_override(std::string_view rest, std::int64_t line) {
  constexpr std::string_view kWith = " config with ";
  if (rest.starts_with(kWith)) {
    std::string_view name = trimmed(rest.substr(kWith.size()));
    if (name.ends_with(':')) name.remove_suffix(1);
    add_config_file(name);
    // Every rank prints the file; one copy of its text is enough.
    keeps_echo_ = add_name(echoed_files_, name);
    echo_lines_ = kMaxEchoLines;
  } else if (rest.starts_with(": ")) {
    echo_lines_ = 0;
    const std::string_view body = rest.substr(2);
    const std::size_t equals = body.find('=');
    if (equals == std::string_view::npos) return;
    add({std::string(trimmed(body.substr(0, equals))),
         std::string(trimmed(body.substr(equals + 1))), LogSettingSource::kOverride, line});
  }
}

void SettingsReader::read_echo(const LogLine& line) {
  if (ends_echo(line.text)) {
    echo_lines_ = 0;
    return;
  }
  --echo_lines_;
  if (keeps_echo_ && facts_.config_text.size() + line.text.size() < kMaxConfigTextBytes) {
    facts_.config_text += line.text;
    facts_.config_text += '\n';
  }
  const std::size_t key = run_length(line.text, is_word);
  const std::string_view rest = trimmed(line.text.substr(key));
  if (key == 0 || !rest.starts_with('=') || rest.starts_with("==")) return;
  add({std::string(line.text.substr(0, key)), std::string(without_comment(rest.substr(1))),
       LogSettingSource::kConfigEcho, line.number});
}

void SettingsReader::read_line(const LogLine& line) {
  constexpr std::string_view kOverriding = "Overriding";
  if (line.text.starts_with(kOverriding)) {
    read_override(line.text.substr(kOverriding.size()), line.number);
  } else if (echo_lines_ > 0) {
    read_echo(line);
  }
  if (is_command_) read_command(line);
}

void SettingsReader::read_mention(const LogLine& line, std::size_t end) {
  const std::string_view text = line.text;
  const auto is_key = [](char c) { return is_word(c) || c == '-' || c == '.'; };
  std::size_t begin = std::min(end, text.size());
  if (begin > 0 && text[begin - 1] == '=') --begin;
  std::size_t key_end = begin;
  while (begin > 0 && is_key(text[begin - 1])) --begin;
  while (key_end < text.size() && is_key(text[key_end])) ++key_end;
  std::string_view key = text.substr(begin, key_end - begin);
  std::string_view rest = text.substr(key_end);
  // Those are read as commands and overrides.
  if (key.starts_with("--") || text.starts_with("Overriding")) return;
  if (rest.starts_with('\'') || rest.starts_with('"')) rest.remove_prefix(1);
  rest = trimmed(rest);
  if (!rest.starts_with('=') && !rest.starts_with(':')) return;
  const std::string_view value = literal_at(trimmed(rest.substr(1)));
  if (!value.empty())
    add({std::string(key), std::string(value), LogSettingSource::kMention, line.number});
}

void SettingsReader::add_option(std::string_view key, std::string_view value, std::int64_t line) {
  if (value.size() >= 2 && (value.front() == '\'' || value.front() == '"')) {
    value = value.substr(1, value.size() - 2);
  }
  std::size_t at = 0;
  // More ranks than 2^16 are a misprint.
  const std::int64_t number = std::min<std::int64_t>(parse_count(value, at).value_or(0), 1 << 16);
  if (key.starts_with("nproc") && number > 0) process_count_ = number;
  if (key == "nnodes" && number > 0) node_count_ = number;
  if (process_count_ > 0)
    facts_.world_size =
        static_cast<int>(std::min<std::int64_t>(process_count_ * node_count_, 1 << 20));
  add({std::string(key), std::string(value), LogSettingSource::kCommandLine, line});
}

void SettingsReader::read_word(std::string_view word, std::string_view& open_key,
                               std::int64_t line) {
  const std::string_view key = std::exchange(open_key, {});
  const bool is_script = word.ends_with("train.py") || word.ends_with("sample.py");
  if (word.starts_with("--")) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) {
      open_key = word.substr(2);
    } else {
      add_option(word.substr(2, equals - 2), word.substr(equals + 1), line);
    }
  } else if (word.ends_with(".py")) {
    if (!is_script) add_config_file(word);
  } else if (!key.empty()) {
    add_option(key, word, line);
  }
}

void SettingsReader::read_command(const LogLine& line) {
  std::string_view text = line.text;
  const bool has_options = text.find("--") != std::string_view::npos;
  const bool is_run = text.find("python") != std::string_view::npos || is_command_;
  const bool names_place = text.find("File \"") != std::string_view::npos ||
                           text.find("site-packages") != std::string_view::npos;
  is_command_ = false;
  if ((!has_options && !is_run) || names_place || line.is_source) return;
  is_command_ = trimmed(text).ends_with('\\');
  std::string_view open_key;  // "--key" whose value is the next word
  while (!text.empty()) {
    const std::size_t begin = text.find_first_not_of(" \t\"`\\");
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const std::size_t length = std::min(text.find_first_of(" \t`\\"), text.size());
    read_word(text.substr(0, length), open_key, line.number);
    text.remove_prefix(length);
  }
}

void SettingsReader::read_alloc_conf(const LogLine& line, std::size_t end,
                                     std::string_view before) {
  const std::string_view text = line.text;
  if (text.substr(0, end).find("try setting") != std::string_view::npos) return;
  std::size_t begin = std::min(end, text.size());
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  // "... try setting" may be wrapped anywhere.
  std::string wrapped = fold_text(before);
  append_folded(wrapped, text.substr(0, begin));
  if (wrapped.ends_with("trysetting")) return;
  const std::string_view key = text.substr(begin, end - begin);
  std::string_view rest = text.substr(std::min(end, text.size()));
  rest.remove_prefix(std::min(rest.find_first_not_of(" \"']"), rest.size()));
  if (!key.starts_with("PYTORCH") || !rest.starts_with('=')) return;
  rest.remove_prefix(1);
  rest.remove_prefix(std::min(rest.find_first_not_of(" \"'"), rest.size()));
  const std::string_view value = rest.substr(0, rest.find_first_of(" \"'\t`"));
  if (value.empty()) return;
  add({std::string(key), std::string(value), LogSettingSource::kEnvironment, line.number});
}

}  // namespace snug::doctor::log
