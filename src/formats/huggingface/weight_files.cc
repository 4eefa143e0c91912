#include "formats/huggingface/weight_files.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/input_file.h"
#include "checkpoint/safetensors.h"
#include "formats/torch/torch_file.h"

namespace snug::formats::huggingface {
namespace {

using PlainJson = nlohmann::json;
namespace fs = std::filesystem;

constexpr std::int64_t kMaxIndexBytes = 16 * kMiB;
constexpr const char* kSafetensors = "model.safetensors";
constexpr const char* kTorch = "pytorch_model.bin";
constexpr const char* kIndexSuffix = ".index.json";

// None for masks and other tensors of whole numbers.
std::optional<DType> float_type(std::string_view safetensors_dtype) {
  if (safetensors_dtype == "F64") return DType::kF64;  // is read, never written
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    if (checkpoint::safetensors_name(dtype) == safetensors_dtype) return dtype;
  }
  return std::nullopt;
}

// Without wrappers, and without what the first versions of transformers called the two parameters
// of a LayerNorm.
std::string plain_name(std::string_view name) {
  std::string plain(without_wrappers(name));
  for (const auto& [old, now] : {std::pair{".gamma", ".weight"}, std::pair{".beta", ".bias"}}) {
    if (plain.ends_with(old)) plain.replace(plain.rfind('.'), plain.npos, now);
  }
  return plain;
}

void add_safetensors(const checkpoint::Path& file, WeightFiles& files) {
  refuse_lfs_pointer(file);
  const checkpoint::SafetensorsReader reader(file);
  auto bytes = std::make_unique<FileBytes>(file);
  for (const checkpoint::SafetensorsEntry& entry : reader.entries()) {
    const std::optional<DType> dtype = float_type(entry.label.dtype);
    if (!dtype) {
      files.others.insert_or_assign(plain_name(entry.label.name), std::string(entry.label.dtype));
      continue;
    }
    files.tensors.insert_or_assign(plain_name(entry.label.name),
                                   StoredTensor{.bytes = bytes.get(),
                                                .offset = reader.data_start() + entry.begin,
                                                .dtype = *dtype,
                                                .shape = entry.label.shape,
                                                .transposed = false});
  }
  files.files.push_back(std::move(bytes));
}

// A training's own checkpoint under the name of the weights.
[[noreturn]] void fail_nested(const checkpoint::Path& path, std::string_view key) {
  throw DataError(fmt::format(
      "{} holds a dict under {}, where a tensor was wanted\nif the weights are in there, save them "
      "alone: torch.save(torch.load('{}')[{}], '{}')",
      path.string(), checkpoint::printable(key), path.string(), checkpoint::printable(key),
      path.string()));
}

void add_torch(const checkpoint::Path& path, WeightFiles& files) {
  auto opened = std::make_unique<torch::TorchFile>(path);
  const pickle::PickleValue root = opened->root();
  if (root.kind() != pickle::PickleKind::kDict) {
    throw DataError(fmt::format("{} holds no dict of tensors", path.string()));
  }
  for (std::size_t i = 0; i < root.size(); ++i) {
    if (root.key(i).kind() != pickle::PickleKind::kString) continue;
    const std::string name = plain_name(root.key(i).text());
    // The causal mask of older versions, of bytes and four dimensions.
    if (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias")) continue;
    if (root.value(i).kind() == pickle::PickleKind::kDict) fail_nested(path, root.key(i).text());
    files.tensors.insert_or_assign(name, opened->tensor(root.value(i), name));
  }
  files.files.push_back(std::move(opened));
}

using AddFile = void (*)(const checkpoint::Path& file, WeightFiles& files);

// Whole weights under another name: "model.fp16.safetensors", as save_pretrained(variant="fp16")
// calls it. Not one of several parts, and not the plain name itself, which is here as a link to
// nothing where a cache was copied without its blobs.
bool is_variant(const std::string& name) {
  const bool is_weights = (name.starts_with("model.") && name.ends_with(".safetensors")) ||
                          (name.starts_with("pytorch_model.") && name.ends_with(".bin"));
  return is_weights && name != kSafetensors && name != kTorch &&
         name.find("-of-") == std::string::npos;
}

// The first by name; "" where there is none.
std::string find_variant(const checkpoint::Path& folder) {
  std::string found;
  std::error_code error, ignored;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    if (!is_variant(name) || !it->is_regular_file(ignored)) continue;
    if (found.empty() || name < found) found = name;
  }
  return found;
}

// Weights of other programs, which a folder may hold instead.
std::string advice_for(const checkpoint::Path& folder) {
  constexpr std::pair<const char*, const char*> kOthers[] = {{"tf_model.h5", "from_tf"},
                                                             {"flax_model.msgpack", "from_flax"}};
  for (const auto& [file, argument] : kOthers) {
    if (!fs::exists(folder / file)) continue;
    return fmt::format(
        "{} is there, which is not read. With transformers 4: python3 -c \"from transformers "
        "import "
        "AutoModelForCausalLM as M; M.from_pretrained('{}', {}=True).save_pretrained('new')\"",
        file, folder.string(), argument);
  }
  if (const std::string variant = find_variant(folder); !variant.empty()) {
    return fmt::format(
        "{} is there, a variant under a name of its own: give it (a link will do) the "
        "name {}",
        variant, variant.ends_with(".bin") ? kTorch : kSafetensors);
  }
  return "model.safetensors, pytorch_model.bin or the index of their shards was wanted: download "
         "the model again";
}

bool add_files(const checkpoint::Path& folder, const std::string& file, AddFile add,
               WeightFiles& files) {
  if (fs::exists(folder / file)) {
    add(folder / file, files);
    return true;
  }
  const checkpoint::Path index = folder / (file + kIndexSuffix);
  if (!fs::exists(index)) return false;
  const std::string text = read_whole_file(index, kMaxIndexBytes);
  for (const std::string& shard : parse_shard_index(text, index.string())) {
    if (!fs::exists(folder / shard)) {
      throw DataError(fmt::format("{} is missing, and {} names it\ndownload the model again",
                                  (folder / shard).string(), index.string()));
    }
    add(folder / shard, files);
  }
  return true;
}

}  // namespace

std::set<std::string> parse_shard_index(std::string_view text, const std::string& name) {
  std::set<std::string> shards;
  const PlainJson json = PlainJson::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool usable =
      json.is_object() && json.contains("weight_map") && json.at("weight_map").is_object();
  if (!usable) throw DataError(fmt::format("{} has no weight_map: it is damaged", name));
  for (const auto& [tensor, file] : json.at("weight_map").items()) {
    const std::string shard = file.is_string() ? file.get<std::string>() : "";
    const bool is_name = checkpoint::Path(shard).filename() == shard && shard != "." &&
                         shard != ".." && shard.find('\0') == shard.npos;
    if (shard.empty() || !is_name) {
      throw DataError(
          fmt::format("{}: tensor {} lies in {}\nthe name of a file in the same folder "
                      "was wanted",
                      name, checkpoint::printable(tensor), checkpoint::printable(shard)));
    }
    shards.insert(shard);
  }
  return shards;
}

bool has_weight_files(const checkpoint::Path& folder) {
  std::error_code ignored;
  for (const char* file : {kSafetensors, kTorch}) {
    if (fs::exists(folder / file, ignored)) return true;
    if (fs::exists(folder / (file + std::string(kIndexSuffix)), ignored)) return true;
  }
  return false;
}

WeightFiles open_weight_files(const checkpoint::Path& folder) {
  WeightFiles files;
  if (add_files(folder, kSafetensors, add_safetensors, files)) return files;
  if (add_files(folder, kTorch, add_torch, files)) return files;
  throw DataError(
      fmt::format("{} has a config.json, but no weights\n{}", folder.string(), advice_for(folder)));
}

}  // namespace snug::formats::huggingface
