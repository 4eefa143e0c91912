// Where Hugging Face's programs keep what they downloaded, found without them.
#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/input_file.h"
#include "formats/huggingface/huggingface.h"
#include "formats/huggingface/weight_files.h"

namespace snug::formats::huggingface {
namespace {

namespace fs = std::filesystem;

// With ~ for the home folder, as they read it.
std::optional<checkpoint::Path> folder_in(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return std::nullopt;
  const std::string_view text = value;
  const char* home = std::getenv("HOME");
  if (home == nullptr || (text != "~" && !text.starts_with("~/"))) return value;
  return checkpoint::Path(std::string(home) + std::string(text.substr(1)));
}

std::optional<checkpoint::Path> hub_folder() {
  if (const auto hub = folder_in("HF_HUB_CACHE")) return hub;
  if (const auto hub = folder_in("HUGGINGFACE_HUB_CACHE")) return hub;  // its earlier name
  if (const auto home = folder_in("HF_HOME")) return *home / "hub";
  if (const auto cache = folder_in("XDG_CACHE_HOME")) return *cache / "huggingface" / "hub";
  if (const auto home = folder_in("HOME")) return *home / ".cache" / "huggingface" / "hub";
  return std::nullopt;
}

// The one that refs/main names, then the others by name.
std::vector<checkpoint::Path> snapshots_in(const checkpoint::Path& model) {
  std::vector<checkpoint::Path> found;
  std::error_code error;
  for (fs::directory_iterator it(model / "snapshots", error), end; !error && it != end;
       it.increment(error)) {
    if (is_huggingface(it->path())) found.push_back(it->path());
  }
  std::sort(found.begin(), found.end());
  if (!fs::is_regular_file(model / "refs" / "main", error)) return found;
  std::string hash = read_whole_file(model / "refs" / "main", kKiB);
  while (!hash.empty() && std::isspace(static_cast<unsigned char>(hash.back())) != 0) {
    hash.pop_back();
  }
  std::stable_partition(found.begin(), found.end(),
                        [&](const checkpoint::Path& path) { return path.filename() == hash; });
  return found;
}

// "models--openai-community--gpt2"
std::string folder_name(std::string model) {
  for (std::size_t at = model.find('/'); at != model.npos; at = model.find('/')) {
    model.replace(at, 1, "--");
  }
  return "models--" + model;
}

}  // namespace

std::vector<checkpoint::Path> download_caches() {
  std::vector<checkpoint::Path> caches;
  // transformers' own, of the same form; version 4 went by it before the others.
  if (const auto cache = folder_in("TRANSFORMERS_CACHE")) caches.push_back(*cache);
  if (const auto hub = hub_folder()) caches.push_back(*hub);
  return caches;
}

std::optional<checkpoint::Path> find_downloaded(const std::string& model) {
  std::vector<std::string> names = {folder_name(model)};
  if (model.find('/') == model.npos) names.push_back(folder_name("openai-community/" + model));
  std::optional<checkpoint::Path> without_weights;
  for (const checkpoint::Path& cache : download_caches()) {
    for (const std::string& name : names) {
      for (const checkpoint::Path& snapshot : snapshots_in(cache / name)) {
        if (has_weight_files(snapshot)) return snapshot;
        if (!without_weights) without_weights = snapshot;
      }
    }
  }
  return without_weights;
}

}  // namespace snug::formats::huggingface
