// Checkpoints of other programs: a whole file, the pickle inside a ckpt.pt, a config.json; and the
// small JSON files beside them.
#include <algorithm>

#include "base/error.h"
#include "data/token_rows.h"
#include "formats/format.h"
#include "formats/huggingface/model_config.h"
#include "formats/huggingface/tokenizer_files.h"
#include "formats/huggingface/weight_files.h"
#include "fuzz_targets.h"
#include "memory_file.h"
#include "pickle/reader.h"
#include "prepare/journal.h"

namespace snug {
namespace {

// Walks all of it: what is returned may be recursed into.
std::size_t walk(const pickle::PickleValue& value) {
  if (value.kind() == pickle::PickleKind::kString || value.kind() == pickle::PickleKind::kGlobal) {
    return value.text().size();
  }
  if (value.kind() < pickle::PickleKind::kList) return 1;
  std::size_t total = 1;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const bool is_dict = value.kind() == pickle::PickleKind::kDict;
    total += is_dict ? walk(value.key(i)) + walk(value.value(i)) : walk(value.item(i));
  }
  return total;
}

}  // namespace

void fuzz_checkpoint(std::string_view bytes) {
  const MemoryFile file(bytes);
  try {
    const formats::Source source = formats::open_checkpoint(file.path());
    formats::check_complete(source);
    for (const auto& [name, tensor] : source.tensors) {
      // A file holds each element that a tensor claims, if not more than once.
      require(tensor.element_count() <= static_cast<std::int64_t>(bytes.size()), "extent");
      formats::read_whole(source, name);
    }
  } catch (const DataError&) {
  } catch (const ConfigError&) {
  }
}

void fuzz_torch_pickle(std::string_view bytes) {
  try {
    const pickle::PickleDocument document =
        pickle::parse_pickle(bytes, "fuzz", pickle::PickleDialect::kTorch);
    walk(document.root());
  } catch (const DataError&) {
  }
}

void fuzz_model_config(std::string_view bytes) {
  try {
    const formats::huggingface::ModelConfig config =
        formats::huggingface::parse_model_config(bytes, "config.json");
    const std::string again = formats::huggingface::make_model_config(config.sizes, -1);
    require(formats::huggingface::parse_model_config(again, "again").sizes == config.sizes,
            "config comes back");
  } catch (const DataError&) {
  }
}

void fuzz_lists(std::string_view bytes) {
  const auto record = formats::huggingface::tokenizer_in(bytes);
  const std::string again = formats::huggingface::make_character_tokenizer(record.characters);
  require(formats::huggingface::tokenizer_in(again).characters == record.characters,
          "characters come back");
  if (const auto done = prepare::parse_journal(bytes, "", 3)) {
    require(done->position.file <= 3 && done->position.offset >= 0, "a place in the input");
  }
  try {
    for (const std::string& shard : formats::huggingface::parse_shard_index(bytes, "index")) {
      require(shard.find('/') == shard.npos, "a file of the same folder");
    }
  } catch (const DataError&) {
  }
  try {
    const data::TokenRows rows = data::parse_token_rows(std::string(bytes), "rows");
    require(std::ssize(rows.tokens) == rows.row_count * rows.length, "rows of one length");
    require(rows.targets.size() == rows.tokens.size(), "a target for each token");
    require(std::ranges::min(rows.tokens) >= 0 && std::ranges::min(rows.targets) >= -1, "ids");
  } catch (const DataError&) {
  }
}

}  // namespace snug
