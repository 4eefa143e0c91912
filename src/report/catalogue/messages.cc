#include "report/catalogue/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>

#include "base/error.h"
#include "report/catalogue/error_texts.h"
#include "report/catalogue/snapshot_texts.h"
#include "report/catalogue/tables.h"
#include "report/numbers.h"

namespace snug::report {
namespace {

constexpr std::string_view kCodes[kLanguageCount] = {"en", "zh", "ja", "de"};

std::optional<Language> language_with_code(std::string_view code) {
  const auto at = std::find(std::begin(kCodes), std::end(kCodes), code);
  if (at == std::end(kCodes)) return std::nullopt;
  return static_cast<Language>(at - std::begin(kCodes));
}

// Its readers get English rather than the other script. `locale` in lower case.
bool is_traditional_chinese(std::string_view locale) {
  if (!locale.starts_with("zh")) return false;
  for (const std::string_view mark : {"tw", "hk", "mo", "hant"}) {
    if (locale.find(mark, 2) != std::string_view::npos) return true;
  }
  return false;
}

template <typename Table>
const auto& row_of(const Table& table, auto id) {
  return table[static_cast<std::size_t>(id)];
}

// Of the English text: all languages have the same placeholders.
bool has_all(const Texts& texts, std::span<const std::string> arguments) {
  const std::string_view text = texts[0];
  for (std::size_t open = text.find('{'); open != std::string_view::npos;
       open = text.find('{', open + 1)) {
    const auto index = static_cast<std::size_t>(text[open + 1] - '0');
    if (index >= arguments.size() || arguments[index].empty()) return false;
  }
  return true;
}

}  // namespace

std::string_view code_of(Language language) noexcept {
  return kCodes[static_cast<std::size_t>(language)];
}

std::string_view html_lang_of(Language language) noexcept {
  return language == Language::kChinese ? "zh-Hans" : code_of(language);
}

Language language_of(const std::string& lang_option, const char* env_lang) {
  std::string locale;
  for (const char* c = env_lang == nullptr ? "" : env_lang; *c != '\0'; ++c) {
    locale += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
  }
  const std::string code = locale.substr(0, locale.find_first_of("_-.@"));
  const Language by_locale = is_traditional_chinese(locale)
                                 ? Language::kEnglish
                                 : language_with_code(code).value_or(Language::kEnglish);
  if (lang_option.empty()) return by_locale;
  if (const auto language = language_with_code(lang_option)) return *language;
  throw ConfigError(text_in(by_locale, TextId::kUnknownLanguage, {lang_option}));
}

const char* locale_of_environment() {
  for (const char* name : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return nullptr;
}

const Texts& texts_of(TextId id) { return row_of(text_table(), id).texts; }
const Texts& texts_of(doctor::diagnosis::NoteId note) { return row_of(note_table(), note).texts; }
const Texts& texts_of_plain(doctor::diagnosis::NoteId note) {
  for (const MessageRow<doctor::diagnosis::NoteId>& row : plain_note_table()) {
    if (row.id == note) return row.texts;
  }
  return texts_of(note);
}
const Texts& headline_texts(doctor::diagnosis::Cause cause) {
  return row_of(cause_table(), cause).first;
}
const Texts& explanation_texts(doctor::diagnosis::Cause cause) {
  return row_of(cause_table(), cause).second;
}
const Texts& texts_of(doctor::torch::TorchPhase phase) {
  return row_of(phase_table(), phase).texts;
}
const Texts& name_texts(fit::FixKind kind) { return row_of(fix_table_texts(), kind).first; }
const Texts& action_texts(fit::FixKind kind) { return row_of(fix_table_texts(), kind).second; }
const Texts& texts_of(doctor::torch::TorchAssumptionId assumption) {
  return row_of(assumption_table(), assumption).texts;
}

std::string filled(std::string_view text, std::span<const std::string> arguments) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '{' || i + 2 >= text.size() || text[i + 2] != '}') {
      result += text[i];
      continue;
    }
    const auto index = static_cast<std::size_t>(text[i + 1] - '0');
    result += index < arguments.size() ? arguments[index] : "?";
    i += 2;
  }
  return result;
}

std::string text_in(Language language, const Texts& texts, std::span<const std::string> arguments) {
  return filled(texts[static_cast<std::size_t>(language)], arguments);
}

std::string text_in(Language language, const Texts& texts,
                    std::initializer_list<std::string> arguments) {
  return text_in(language, texts,
                 std::span<const std::string>(arguments.begin(), arguments.size()));
}

std::string text_in(Language language, TextId id, std::initializer_list<std::string> arguments) {
  return text_in(language, texts_of(id), arguments);
}

std::string text_in(Language language, const doctor::diagnosis::Note& note) {
  const Texts& texts = texts_of(note.id);
  std::vector<std::string> arguments;
  for (const std::string& argument : note.arguments) {
    arguments.push_back(amount_in(language, argument));
  }
  return text_in(language, has_all(texts, arguments) ? texts : texts_of_plain(note.id),
                 std::span<const std::string>(arguments));
}

std::string text_in(Language language, const doctor::torch::TorchAssumption& assumption) {
  std::vector<std::string> arguments;
  for (const std::string& argument : assumption.arguments) {
    arguments.push_back(amount_in(language, argument));
  }
  return text_in(language, texts_of(assumption.id), std::span<const std::string>(arguments));
}

std::string sentences(Language language, const std::string& first, const std::string& second) {
  if (first.empty() || second.empty()) return first + second;
  return first + (is_wide_script(language) ? "" : " ") + second;
}

std::string listed(Language language, std::span<const std::string> items) {
  const char* comma =
      language == Language::kChinese || language == Language::kJapanese ? "、" : ", ";
  return fmt::format("{}", fmt::join(items, comma));
}

std::vector<CatalogueRow> whole_catalogue() {
  std::vector<CatalogueRow> rows;
  const auto add = [&](const char* family, std::size_t index, const Texts& texts) {
    rows.push_back({fmt::format("{}.{}", family, index), texts});
  };
  for (const auto& row : text_table()) add("text", static_cast<std::size_t>(row.id), row.texts);
  for (const auto& row : plan_text_table()) {
    add("plan", static_cast<std::size_t>(row.id), row.texts);
  }
  for (const CatalogueRow& row : snapshot_catalogue()) rows.push_back(row);
  for (const std::span<const Texts> errors : all_line_tables()) {
    for (const Texts& texts : errors) add(texts[0], 0, texts);
  }
  for (const auto& row : note_table()) add("note", static_cast<std::size_t>(row.id), row.texts);
  for (const auto& row : plain_note_table()) {
    add("plain_note", static_cast<std::size_t>(row.id), row.texts);
  }
  for (const auto& row : cause_table()) {
    add("headline", static_cast<std::size_t>(row.id), row.first);
    add("explanation", static_cast<std::size_t>(row.id), row.second);
  }
  const std::span<const Texts> tensors = tensor_table();
  for (std::size_t i = 0; i < tensors.size(); ++i) add("tensor", i, tensors[i]);
  for (const auto& row : phase_table()) add("phase", static_cast<std::size_t>(row.id), row.texts);
  for (const auto& row : fix_table_texts()) {
    add("fix", static_cast<std::size_t>(row.id), row.first);
    add("action", static_cast<std::size_t>(row.id), row.second);
  }
  for (const auto& row : assumption_table()) {
    add("assumption", static_cast<std::size_t>(row.id), row.texts);
  }
  return rows;
}

}  // namespace snug::report
