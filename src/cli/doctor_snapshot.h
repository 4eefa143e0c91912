// `snug doctor --snapshot=FILE`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/doctor_options.h"
#include "config/config.h"

namespace snug::cli {

// The exit code. `typed` are the arguments as they were given.
int doctor_snapshot(const DoctorOptions& options, const std::vector<std::string>& typed,
                    std::function<std::int64_t(const config::Config&)> vocabulary_of);

}  // namespace snug::cli
