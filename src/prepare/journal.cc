#include "prepare/journal.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/input_file.h"
#include "data/atomic_file.h"

namespace snug::prepare {
namespace {

constexpr const char* kJournalName = "journal.json";
constexpr std::int64_t kLimitBytes = 64 << 20;  // the settings name every input
constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 53;

}  // namespace

void write_journal(const std::filesystem::path& folder, const std::string& settings,
                   const Done& done) {
  const nlohmann::json journal = {
      {"settings", settings},
      {"file", done.position.file},
      {"offset", done.position.offset},
      {"line", done.position.line},
      {"batches", done.batches},
      {"train_tokens", done.train_tokens},
      {"val_tokens", done.val_tokens},
      {"documents", done.counts.documents},
      {"characters", done.counts.characters},
      {"bad_lines", done.counts.bad_lines},
      {"first_bad_line", done.counts.first_bad_line},
      {"stray_bytes", done.counts.stray_bytes},
      {"first_stray", done.counts.first_stray},
  };
  data::write_file(folder / kJournalName,
                   journal.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
}

bool has_journal(const std::filesystem::path& folder) noexcept {
  std::error_code ignored;
  return std::filesystem::exists(folder / kJournalName, ignored);
}

void remove_journal(const std::filesystem::path& folder) noexcept {
  std::error_code ignored;
  std::filesystem::remove(folder / kJournalName, ignored);
}

std::optional<Done> parse_journal(std::string_view text, const std::string& settings,
                                  std::int64_t input_count) {
  const auto journal = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!journal.is_object() || journal.value("settings", nlohmann::json()) != settings) {
    return std::nullopt;
  }
  bool whole = true;
  const auto count = [&](const char* key) -> std::int64_t {
    const nlohmann::json value = journal.value(key, nlohmann::json());
    const bool usable = value.is_number_unsigned() && value.get<std::uint64_t>() <= kMaxCount;
    whole = whole && usable;
    return usable ? value.get<std::int64_t>() : 0;
  };
  Done done;
  done.position = {count("file"), count("offset"), count("line")};
  done.batches = count("batches");
  done.train_tokens = count("train_tokens");
  done.val_tokens = count("val_tokens");
  done.counts.documents = count("documents");
  done.counts.characters = count("characters");
  done.counts.bad_lines = count("bad_lines");
  done.counts.stray_bytes = count("stray_bytes");
  const auto text_of = [&](const char* key) {
    const nlohmann::json value = journal.value(key, nlohmann::json());
    whole = whole && value.is_string();
    return value.is_string() ? value.get<std::string>() : "";
  };
  done.counts.first_bad_line = text_of("first_bad_line");
  done.counts.first_stray = text_of("first_stray");
  if (!whole || done.position.file > input_count) return std::nullopt;
  return done;
}

std::optional<Done> read_journal(const std::filesystem::path& folder, const std::string& settings,
                                 std::int64_t input_count) {
  if (!has_journal(folder)) return std::nullopt;
  return parse_journal(read_whole_file(folder / kJournalName, kLimitBytes), settings, input_count);
}

}  // namespace snug::prepare
