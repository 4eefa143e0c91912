#include "cli/version.h"

#include <fmt/format.h>

#include <string_view>

#include "device/build_features.h"

namespace snug::cli {
namespace {

constexpr std::string_view kCommit =
#include "commit.inc"
    ;

}  // namespace

std::string version_name() {
  if (kCommit.empty()) return SNUG_VERSION;
  return fmt::format("{} ({})", SNUG_VERSION, kCommit);
}

std::string version_text() {
  return fmt::format("snug {}\ntrains on   {}\nlanguages   en, zh (simplified), ja, de\n",
                     version_name(), device::build_features());
}

}  // namespace snug::cli
