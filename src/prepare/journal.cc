#include "prepare/journal.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/input_file.h"
#include "data/atomic_file.h"

namespace snug::prepare {
namespace {

constexpr const char* kJournalName = "journal.json";
constexpr std::int64_t kLimitBytes = 64 << 20;  // the settings name every input

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
  };
  data::write_file(folder / kJournalName,
                   journal.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void remove_journal(const std::filesystem::path& folder) noexcept {
  std::error_code ignored;
  std::filesystem::remove(folder / kJournalName, ignored);
}

std::optional<Done> read_journal(const std::filesystem::path& folder, const std::string& settings) {
  if (!std::filesystem::exists(folder / kJournalName)) return std::nullopt;
  const auto journal =
      nlohmann::json::parse(read_whole_file(folder / kJournalName, kLimitBytes), nullptr, false);
  try {
    if (journal.at("settings") != settings) return std::nullopt;
    Done done;
    done.position = {journal.at("file"), journal.at("offset"), journal.at("line")};
    done.batches = journal.at("batches");
    done.train_tokens = journal.at("train_tokens");
    done.val_tokens = journal.at("val_tokens");
    done.counts.documents = journal.at("documents");
    done.counts.characters = journal.at("characters");
    done.counts.bad_lines = journal.at("bad_lines");
    done.counts.first_bad_line = journal.at("first_bad_line");
    return done;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace snug::prepare
