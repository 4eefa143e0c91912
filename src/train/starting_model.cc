#include "train/starting_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "formats/format.h"
#include "formats/huggingface/huggingface.h"

namespace snug::train {
namespace {

// A key that the file decides.
template <class Type>
void force(config::LoadedConfig& config, const char* key, Type config::GptSizes::*member,
           const Type& value) {
  Type& now = config.values.*member;
  const bool is_default = !config.is_set(key) || config.derived.contains(key);
  if (!is_default && now != value) {
    config.notices.push_back(
        fmt::format("{} = {} comes from {}, not {}", key, value, config.values.init_from, now));
  }
  now = value;
  config::Origin origin;
  origin.kind = config::Origin::Kind::kCheckpoint;
  config.origins[key] = origin;
}

void take_block_size(config::LoadedConfig& config, std::int64_t positions) {
  constexpr const char* kKey = "block_size";
  if (!config.is_set(kKey)) {
    config.values.block_size = positions;
  } else if (config.values.block_size > positions) {
    config::throw_config_error(
        config, kKey,
        fmt::format("block_size = {} is longer than the {} positions of {}",
                    config.values.block_size, positions, config.values.init_from),
        fmt::format("set block_size to {} or less", positions));
  }
}

// What cannot be a name at Hugging Face, "gpt2" or "openai-community/gpt2".
bool is_only_a_path(const std::string& name) {
  return name.starts_with('.') || name.starts_with('/') || name.starts_with('~') ||
         std::count(name.begin(), name.end(), '/') > 1 || name.ends_with(".pt") ||
         name.ends_with(".bin") || name.ends_with(".safetensors");
}

}  // namespace

bool starts_from_model(const config::Config& config) {
  return config.init_from != "scratch" && config.init_from != "resume";
}

std::string locate_model(const std::string& name) {
  std::error_code ignored;
  if (name.find('/') != name.npos && std::filesystem::exists(name, ignored)) return name;
  if (const auto found = formats::huggingface::find_downloaded(name)) return found->string();
  if (std::filesystem::exists(name, ignored)) return name;
  if (is_only_a_path(name)) {
    throw DataError(
        fmt::format("{} is not here: there is no file or folder of that name\n"
                    "a ckpt.pt, an out_dir of Snug or a folder with config.json and "
                    "model.safetensors was wanted\ncheck the path of init_from",
                    name));
  }
  std::string caches;
  for (const auto& cache : formats::huggingface::download_caches()) {
    caches += (caches.empty() ? "" : ", ") + cache.string();
  }
  throw DataError(fmt::format(
      "{0} is not here: neither a file or folder of that name, nor in Hugging Face's cache\n"
      "looked in: {1}\n"
      "a folder with config.json and model.safetensors was wanted\n"
      "get it where there is a network: pip install huggingface_hub && hf download {0}",
      name, caches.empty() ? "nothing, as HOME is not set" : caches));
}

formats::Source take_starting_model(config::LoadedConfig& config) {
  formats::Source source = formats::open_checkpoint(locate_model(config.values.init_from));
  const config::GptSizes& sizes = source.sizes;
  force(config, "n_layer", &config::Config::n_layer, sizes.n_layer);
  force(config, "n_head", &config::Config::n_head, sizes.n_head);
  force(config, "n_embd", &config::Config::n_embd, sizes.n_embd);
  force(config, "bias", &config::Config::bias, sizes.bias);
  force(config, "vocab_size", &config::Config::vocab_size, sizes.vocab_size);
  force(config, "gelu", &config::Config::gelu, sizes.gelu);
  take_block_size(config, sizes.block_size);
  for (const std::string& notice : source.notices) {
    config.notices.push_back(fmt::format("{}: {}", source.name, notice));
  }
  config::resolve(config);
  return source;
}

void require_same_vocabulary(const formats::Source& source, const data::Vocabulary& vocabulary,
                             const config::Config& config) {
  if (!vocabulary.meta) return;
  const std::int64_t data = vocabulary.meta->vocab_size, model = source.sizes.vocab_size;
  const bool same = vocabulary.meta->itos.empty() ? data <= model : data == model;
  if (same) return;
  throw DataError(
      fmt::format("the data in {} and the model in {} have different vocabularies\n"
                  "the data's meta.pkl has {} tokens, the model {}\n"
                  "prepare the text with the model's own tokenizer: snug prepare bpe for GPT-2's",
                  data::dataset_folder(config), source.name, data, model));
}

}  // namespace snug::train
