// How far an unfinished preparation has come, kept beside its files, so that the same command goes
// on where a kill, a full disk or Ctrl-C ended it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "prepare/batch_encoder.h"
#include "prepare/text_batch.h"

namespace snug::prepare {

struct Done {
  InputPosition position;  // of the next batch
  std::int64_t batches = 0;
  std::int64_t train_tokens = 0, val_tokens = 0;
  TextCounts counts;
};

// Replaces the journal in `folder`. `settings`: see settings_text. Throws DeviceError.
void write_journal(const std::filesystem::path& folder, const std::string& settings,
                   const Done& done);

bool has_journal(const std::filesystem::path& folder) noexcept;
void remove_journal(const std::filesystem::path& folder) noexcept;

// Nothing where there is no journal, or one of other settings, or a damaged one.
std::optional<Done> read_journal(const std::filesystem::path& folder, const std::string& settings,
                                 std::int64_t input_count);
// The same of a journal's text.
std::optional<Done> parse_journal(std::string_view text, const std::string& settings,
                                  std::int64_t input_count);

}  // namespace snug::prepare
