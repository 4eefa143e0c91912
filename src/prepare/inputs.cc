#include "prepare/inputs.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "prepare/byte_stream.h"

namespace snug::prepare {
namespace {

bool is_pattern(const std::string& name) { return name.find_first_of("*?[") != std::string::npos; }

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found{};
  const int status = ::glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<std::string> names(found.gl_pathv,
                                 found.gl_pathv + (status == 0 ? found.gl_pathc : 0));
  ::globfree(&found);
  std::erase_if(names, [](const std::string& name) {
    std::error_code ignored;
    return std::filesystem::is_directory(name, ignored);
  });
  if (names.empty()) throw DataError(fmt::format("no file matches {}", pattern));
  return names;
}

}  // namespace

std::vector<std::string> expand_inputs(const std::vector<std::string>& names) {
  std::vector<std::string> inputs;
  for (const std::string& name : names) {
    std::error_code error;
    if (name == kStandardInput || std::filesystem::exists(name, error)) {
      inputs.push_back(name);
    } else if (is_pattern(name)) {
      for (std::string& match : matches(name)) inputs.push_back(std::move(match));
    } else {
      throw DataError(fmt::format("{} is missing", name));
    }
  }
  if (inputs.size() > 1 && std::count(inputs.begin(), inputs.end(), kStandardInput) > 0) {
    throw ConfigError("- is standard input, and stands alone");
  }
  return inputs;
}

DocumentKind document_kind_of(const std::string& name) {
  std::string_view plain = name;
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (plain.ends_with(packed)) plain.remove_suffix(packed.size());
  }
  const bool json = plain.ends_with(".jsonl") || plain.ends_with(".ndjson");
  return json ? DocumentKind::kJson : DocumentKind::kFile;
}

}  // namespace snug::prepare
