#include "formats/format.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "formats/gguf/gguf.h"
#include "formats/huggingface/huggingface.h"
#include "formats/llmc/llmc.h"
#include "formats/nanogpt/nanogpt.h"
#include "formats/own/own.h"

namespace snug::formats {
namespace {

bool never(const checkpoint::Path&) { return false; }
bool ends_in_pt(const checkpoint::Path& to) { return to.extension() == ".pt"; }
bool ends_in_bin(const checkpoint::Path& to) { return to.extension() == ".bin"; }
bool ends_in_gguf(const checkpoint::Path& to) { return to.extension() == ".gguf"; }

// An own checkpoint comes first: its folders hold a model.safetensors, too.
constexpr Format kFormats[] = {
    {"snug", "a folder for --out_dir", "", true, false, own::is_own, own::open_own, own::write_own,
     never},
    {"nanogpt", "nanoGPT's ckpt.pt", "erf", true, false, nanogpt::is_nanogpt, nanogpt::open_nanogpt,
     nanogpt::write_nanogpt, ends_in_pt},
    {"huggingface", "a folder for from_pretrained", "", false, false, huggingface::is_huggingface,
     huggingface::open_huggingface, huggingface::write_huggingface, never},
    {"llmc", "llm.c's model.bin", "tanh", false, true, llmc::is_llmc, llmc::open_llmc,
     llmc::write_llmc, ends_in_bin},
    {"gguf", "a model for llama.cpp", "tanh", false, true, nullptr, nullptr, gguf::write_gguf,
     ends_in_gguf},
};

// Weights alone do not tell the model, and neither does what lies beside them.
void refuse_part(const checkpoint::Path& path) {
  const std::string name = path.filename();
  const bool weights = path.extension() == ".safetensors" || name.starts_with("pytorch_model");
  const bool beside =
      name == "config.json" || name == "state.json" || name.ends_with(".index.json");
  std::error_code ignored;
  if (!(weights || beside) || !std::filesystem::is_regular_file(path, ignored)) return;
  const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
  throw DataError(weights && !beside
                      ? fmt::format("{} holds the weights alone\nname its folder, {}, which has a "
                                    "config.json or state.json, too",
                                    path.string(), folder)
                      : fmt::format("{} is a part of a checkpoint\nname its folder, {}",
                                    path.string(), folder));
}

std::string names() {
  std::vector<std::string_view> all;
  for (const Format& format : kFormats) all.push_back(format.name);
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace

std::span<const Format> all_formats() { return kFormats; }

const Format* find_format(std::string_view name) {
  const auto at = std::find_if(std::begin(kFormats), std::end(kFormats),
                               [&](const Format& format) { return format.name == name; });
  return at == std::end(kFormats) ? nullptr : at;
}

Source open_checkpoint(const checkpoint::Path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    throw DataError(
        fmt::format("there is no file or folder {}\na checkpoint of Snug, nanoGPT, Hugging Face or "
                    "llm.c was wanted",
                    path.string()));
  }
  refuse_part(path);
  for (const Format& format : kFormats) {
    if (format.is_one == nullptr || !format.is_one(path)) continue;
    Source source = format.open(path);
    source.format = format.name;
    return source;
  }
  if (ends_in_gguf(path)) {
    throw DataError(
        fmt::format("{}: GGUF is written, but not read\nconvert what it was made from, such as the "
                    "Hugging Face "
                    "folder",
                    path.string()));
  }
  throw DataError(fmt::format(
      "{} is no checkpoint that can be read\nwanted: an out_dir of Snug, a ckpt.pt of nanoGPT, a "
      "Hugging Face folder with config.json, or a model.bin of llm.c",
      path.string()));
}

const Format& format_to_write(const Source& source, const checkpoint::Path& to,
                              std::string_view wanted) {
  if (!wanted.empty()) {
    const Format* format = find_format(wanted);
    if (format != nullptr) return *format;
    throw ConfigError(fmt::format("--to={} is no format: it can be {}", wanted, names()));
  }
  for (const Format& format : kFormats) {
    if (format.names_one(to)) return format;
  }
  if (to.has_extension()) {
    throw ConfigError(fmt::format(
        "the name {} does not tell the format to write\nend it in .pt (nanoGPT), .bin (llm.c) or "
        ".gguf, or say --to= with one of {}",
        to.string(), names()));
  }
  return *find_format(source.format == kFormats[0].name ? "huggingface" : kFormats[0].name);
}

}  // namespace snug::formats
