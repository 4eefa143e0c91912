// What `snug doctor` writes: the corrected config, and files in whole.
#pragma once

#include <string>

#include "cli/doctor_options.h"
#include "doctor/case.h"

namespace snug::cli {

// Why --write makes no file, in the language; empty: it does. Throws ConfigError where it names the
// config itself.
std::string reason_not_to_write(const doctor::DoctorCase& c, const DoctorOptions& options);

// A copy of the user's last config file, or a new one, with the recommended fix and every setting
// of the run that the file alone does not have: those of the command line, of earlier files and of
// the log. A fix that takes an edit of nanoGPT's code is named at the top, with the edit.
std::string corrected_config(const doctor::DoctorCase& c, const DoctorOptions& options);

// Throws DeviceError, in the language.
void write_whole(const std::string& path, const std::string& text, report::Language language);

}  // namespace snug::cli
