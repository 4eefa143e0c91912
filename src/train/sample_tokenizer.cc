#include "train/sample_tokenizer.h"

#include <fmt/format.h>

#include "base/error.h"
#include "data/char_tokenizer.h"
#include "data/vocabulary.h"
#include "tokenizer/gpt2_tokenizer.h"
#include "train/identity.h"
#include "train/starting_model.h"

namespace snug::train {
namespace {

[[noreturn]] void fail_unknown(const config::Config& config, bool has_meta, bool has_own) {
  const std::string folder = data::dataset_folder(config);
  const char* const what_is_wrong = has_meta ? "has no characters" : "is not there";
  if (has_own) {
    throw DataError(fmt::format(
        "{}/meta.pkl {}\nthe checkpoint holds the tokenizer of its own data: leave --dataset out",
        folder, what_is_wrong));
  }
  if (starts_from_model(config)) {
    throw DataError(fmt::format(
        "no tokenizer is known for the model in {}: its vocabulary of {} is not GPT-2's\n"
        "a tokenizer.json of characters, or {}/meta.pkl with characters was wanted\n"
        "name the data set that it was trained on with --dataset",
        config.init_from, config.vocab_size, folder));
  }
  throw DataError(fmt::format(
      "the model was trained on '{}', but {}/meta.pkl {}\n"
      "the checkpoint holds no tokenizer either: name the data set's folder with --dataset",
      config.dataset, folder, what_is_wrong));
}

// `has_own`: the checkpoint holds a tokenizer, and another data set's was asked for.
std::unique_ptr<tokenizer::Tokenizer> of_dataset(const config::Config& config, bool has_own) {
  const std::string folder = data::dataset_folder(config);
  std::optional<data::Meta> meta = data::read_meta(folder);
  if (!meta && config.vocab_size >= tokenizer::Gpt2Vocabulary::kSize) {
    return std::make_unique<tokenizer::Gpt2Tokenizer>();
  }
  if (!meta || meta->itos.empty()) fail_unknown(config, meta.has_value(), has_own);
  if (meta->vocab_size > config.vocab_size) {
    throw DataError(fmt::format(
        "{}/meta.pkl does not belong to the model in {}: it has too many characters\n"
        "the model knows {}, the data set has {}\n"
        "name the data set the model was trained on with --dataset, or prepare it again from the "
        "same text",
        folder, starts_from_model(config) ? config.init_from : config.out_dir, config.vocab_size,
        meta->vocab_size));
  }
  return std::make_unique<data::CharTokenizer>(std::move(*meta));
}

}  // namespace

std::unique_ptr<tokenizer::Tokenizer> make_sample_tokenizer(
    const config::LoadedConfig& config, const checkpoint::TokenizerRecord& saved) {
  if (config.is_set("dataset") || saved.kind.empty()) {
    return of_dataset(config.values, !saved.kind.empty());
  }
  if (saved.kind == checkpoint::kGpt2Tokenizer) return std::make_unique<tokenizer::Gpt2Tokenizer>();
  return std::make_unique<data::CharTokenizer>(meta_of(saved));
}

}  // namespace snug::train
