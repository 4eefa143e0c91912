// The config that a log shows: nanoGPT's echo of it, the command line, its own lines.
#pragma once

#include <string_view>
#include <vector>

#include "config/config.h"
#include "doctor/diagnosis/notes.h"
#include "doctor/log/summary.h"

namespace snug::doctor::diagnosis {

// Settings that the log shows, put into `config` (values, origins) unless the command line has
// them.
struct LogSettingsTaken {
  bool describes_run = false;  // the log shows enough of a config to go by where the user gave none
  std::vector<Note> notes;     // which were taken, and where the log speaks of another run
};
LogSettingsTaken take_settings_from_log(const log::LogSummary& log, config::LoadedConfig& config);

// PyTorch's memory depends on this key.
bool decides_memory(std::string_view key);

}  // namespace snug::doctor::diagnosis
