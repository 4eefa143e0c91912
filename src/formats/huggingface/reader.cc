#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/input_file.h"
#include "formats/huggingface/huggingface.h"
#include "formats/huggingface/model_config.h"
#include "formats/huggingface/tokenizer_files.h"
#include "formats/huggingface/weight_files.h"

namespace snug::formats::huggingface {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxConfigBytes = kMiB;
constexpr std::string_view kRoot = "transformer.";
constexpr std::string_view kBlocks = "transformer.h.";
constexpr const char* kTokens = "transformer.wte.weight";
constexpr const char* kHead = "lm_head.weight";

// Masks of older versions of transformers: buffers, not weights.
bool is_mask(std::string_view name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
}

bool is_zero(const StoredTensor& tensor) {
  std::array<float, 4096> values;
  for (std::int64_t first = 0; first < tensor.element_count(); first += std::ssize(values)) {
    const auto part = std::span(values).first(static_cast<std::size_t>(
        std::min<std::int64_t>(std::ssize(values), tensor.element_count() - first)));
    tensor.read(first, part);
    if (!std::ranges::all_of(part, [](float value) { return value == 0; })) return false;
  }
  return true;
}

void take_tensors(WeightFiles& files, Source& source) {
  for (const auto& [name, stored] : files.tensors) {
    if (is_mask(name) || name == kHead) continue;
    const std::string ours = name.starts_with(kRoot) ? name : std::string(kRoot) + name;
    const bool turned = is_conv1d(ours) && stored.shape.rank() == 2;
    source.tensors.insert_or_assign(ours, turned ? transposed(stored) : stored);
  }
  source.files = std::move(files.files);
}

// The embedding may have more rows than the config has tokens: padded for speed.
void take_vocabulary(Source& source) {
  const auto tokens = source.tensors.find(kTokens);
  if (tokens == source.tensors.end() || tokens->second.shape.rank() != 2) return;
  const std::int64_t rows = tokens->second.shape[0];
  if (rows <= source.sizes.vocab_size) return;
  source.notices.push_back(
      fmt::format("its vocabulary of {} is padded to {}", source.sizes.vocab_size, rows));
  source.sizes.vocab_size = rows;
}

// A block must be GPT-2's; what stands beside the blocks, such as the head of a classifier, is left
// out, as transformers does.
void drop_other_tensors(Source& source) {
  std::string others;
  for (const std::string& name : unknown_tensors(source)) {
    const std::string shown = checkpoint::printable(name.substr(kRoot.size()));
    if (name.starts_with(kBlocks)) {
      throw DataError(fmt::format(
          "{}: a GPT-2 model of {} layers has no tensor {}\nit is of another architecture, has "
          "more "
          "layers than config.json says, or adapters that have to be merged into it first "
          "(merge_and_unload)",
          source.name, source.sizes.n_layer, shown));
    }
    others += (others.empty() ? "" : ", ") + shown;
    source.tensors.erase(name);
  }
  if (!others.empty()) source.notices.push_back("left out, as GPT-2 has no such tensor: " + others);
}

// Whole numbers where weights should be, or the packed ones of GPTQ and AWQ.
void refuse_quantized(const WeightFiles& files, const Source& source) {
  for (const auto& [name, dtype] : files.others) {
    if (is_mask(name) || !name.ends_with("weight")) continue;
    throw DataError(fmt::format("{}: tensor {} is of {}: the model is quantized\n{}", source.name,
                                checkpoint::printable(name), dtype, kHowToDequantize));
  }
}

// As the file has them, with rows for inputs: what check_complete() would tell is turned. All other
// that is wrong is left to it.
void check_conv1d_shapes(const Source& source) {
  check_sizes(source.sizes, source.name);
  const auto turned = [](const Shape& shape) { return Shape{shape[1], shape[0]}; };
  for (const model::ParameterSpec& parameter : source.model().parameters) {
    const auto found = source.tensors.find(parameter.name);
    if (found == source.tensors.end()) return;
    const Shape& had = found->second.shape;
    if (had == parameter.shape) continue;
    if (!is_conv1d(parameter.name) || had.rank() != 2) return;
    throw DataError(fmt::format(
        "{}: tensor {} has another shape than the model\nwanted {}, had {}{}", source.name,
        parameter.name, to_string(turned(parameter.shape)), to_string(turned(had)),
        turned(had) == parameter.shape
            ? ": it is turned, as in nn.Linear; GPT-2's files keep inputs first (Conv1D)"
            : ""));
  }
}

// What computes with the file elsewhere: transformers 5 keeps a head that differs whatever the
// config says, earlier versions follow the config.
void require_tied(const ModelConfig& config, const WeightFiles& files, const Source& source) {
  const auto head = files.tensors.find(kHead);
  if (head == files.tensors.end()) {
    if (config.is_tied) return;
    throw DataError(
        fmt::format("{}: config.json says tie_word_embeddings = false, and the file has no {}\n"
                    "where the head is the token embedding, set tie_word_embeddings to true; "
                    "otherwise the model has lost its head",
                    source.name, kHead));
  }
  check_extent(head->second, kHead, source.name);
  if (same_values(head->second, source.tensor(kTokens))) return;
  throw DataError(fmt::format(
      "{}: {} is not tied to the token embedding\nSnug's models share the two, as GPT-2's do{}",
      source.name, kHead,
      config.is_tied
          ? "; config.json ties them, but the file has both, and they differ\n"
            "transformers 5 computes with lm_head, 4 with the embedding: where the embedding "
            "is meant, set m.lm_head.weight = m.transformer.wte.weight and save it again"
          : ""));
}

void drop_zero_biases(Source& source) {
  for (const auto& [name, tensor] : source.tensors) {
    if (name.ends_with(".bias") && !is_zero(tensor)) {
      source.notices.push_back("its biases were trained since: they are kept");
      return;
    }
  }
  source.sizes.bias = false;
  std::erase_if(source.tensors, [](const auto& item) { return item.first.ends_with(".bias"); });
}

}  // namespace

bool is_conv1d(std::string_view parameter) {
  return parameter.ends_with(".attn.c_attn.weight") || parameter.ends_with(".attn.c_proj.weight") ||
         parameter.ends_with(".mlp.c_fc.weight") || parameter.ends_with(".mlp.c_proj.weight");
}

bool is_huggingface(const checkpoint::Path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path / "config.json", ignored);
}

Source open_huggingface(const checkpoint::Path& path) {
  const checkpoint::Path config_file = path / "config.json";
  const ModelConfig config =
      parse_model_config(read_whole_file(config_file, kMaxConfigBytes), config_file.string());
  WeightFiles files = open_weight_files(path);
  Source source;
  source.name = path.string();
  source.sizes = config.sizes;
  take_tensors(files, source);
  refuse_quantized(files, source);
  take_vocabulary(source);
  check_conv1d_shapes(source);
  check_complete(source);
  drop_other_tensors(source);
  require_tied(config, files, source);
  if (!config.has_bias) drop_zero_biases(source);
  source.state.config_json = config_json_of(source.sizes);
  source.state.records.tokenizer = tokenizer_of(path, source.sizes.vocab_size);
  return source;
}

}  // namespace snug::formats::huggingface
