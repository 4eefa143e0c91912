// `snug prepare shakespeare` and `shakespeare_char`: nanoGPT's two small data sets.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "cli/options.h"
#include "cli/prepare_bpe.h"
#include "prepare/fetch.h"

namespace snug::cli {
namespace {

namespace fs = std::filesystem;

// nanoGPT's prepare.py keeps the text beside the data set, and takes it from there if it is there.
fs::path provide_text(const fs::path& folder, const prepare::RemoteFile& file) {
  const fs::path text = folder / "input.txt";
  std::error_code ignored;
  if (!fs::exists(text, ignored)) {
    fmt::print("fetching {}\n", file.url);
    std::fflush(stdout);
    prepare::fetch(file, text);
  } else if (!prepare::is_intact(text, file)) {
    fmt::print("{} is not the usual text (checksum); it is taken as it is\n", text.string());
  }
  return text;
}

}  // namespace

int prepare_shakespeare_command(Arguments arguments, bool characters) {
  const std::string name = characters ? "shakespeare_char" : "shakespeare";
  OptionReader reader("prepare " + name, arguments);
  prepare::RemoteFile file = prepare::tiny_shakespeare();
  file.url = reader.value("url").value_or(file.url);
  const std::vector<std::string> names = reader.names();
  if (names.size() > 1) throw ConfigError(fmt::format("prepare {} takes one folder", name));
  const std::string folder = names.empty() ? "data/" + name : names[0];
  const fs::path text = provide_text(folder, file);
  if (characters) {
    const std::string words[] = {"char", text.string(), folder};
    return prepare_command(words);
  }
  prepare::BpeOptions options;
  options.inputs = {text.string()};
  options.directory = folder;
  options.end_of_text = false;
  options.val_share = 0.1;
  options.split = prepare::Split::kCharacters;
  options.thread_count = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  run_prepare_bpe(options);
  return 0;
}

}  // namespace snug::cli
