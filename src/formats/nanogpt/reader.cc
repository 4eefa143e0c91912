#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/config.h"
#include "formats/nanogpt/nanogpt.h"
#include "formats/torch/torch_file.h"

namespace snug::formats::nanogpt {
namespace {

using PlainJson = nlohmann::json;

constexpr const char* kFile = "ckpt.pt";
class NanoGptReader {
 public:
  NanoGptReader(Source& source, torch::TorchFile& file) : source_(source), file_(file) {}

  void read() {
    const pickle::PickleValue root = file_.root();
    if (root.kind() != pickle::PickleKind::kDict) fail("holds no dict");
    const pickle::PickleValue model = member(root, "model", pickle::PickleKind::kDict);
    read_sizes(member(root, "model_args", pickle::PickleKind::kDict), has_biases(model));
    read_model(model);
    if (const auto optimizer = root.find("optimizer")) read_optimizer(*optimizer);
    if (const auto iteration = root.find("iter_num")) {
      source_.state.iteration = whole(*iteration, "iter_num");
    }
    if (const auto loss = root.find("best_val_loss")) {
      source_.state.best_val_loss = file_.number(*loss, "best_val_loss");
    }
    if (const auto config = root.find("config")) read_config(*config);
    finish_config();
    check_steps();
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw DataError(fmt::format(
        "{} {}\na ckpt.pt of nanoGPT holds model, model_args, optimizer, iter_num, best_val_loss "
        "and config",
        file_.name(), what));
  }

  pickle::PickleValue member(const pickle::PickleValue& dict, const char* key,
                             pickle::PickleKind kind) const {
    const auto found = dict.find(key);
    if (!found) fail(fmt::format("has no '{}'", key));
    if (found->kind() != kind) {
      fail(fmt::format("has a {} as '{}', not a {}", name_of(found->kind()), key, name_of(kind)));
    }
    return *found;
  }

  std::int64_t whole(const pickle::PickleValue& value, const char* key) const {
    if (value.kind() != pickle::PickleKind::kInt || value.integer() < 0) {
      fail(fmt::format("has a '{}' that is no whole number", key));
    }
    return value.integer();
  }

  // Before nanoGPT had the key `bias`, its files told it by their tensors only.
  static bool has_biases(const pickle::PickleValue& model) {
    for (std::size_t i = 0; i < model.size(); ++i) {
      if (model.key(i).kind() == pickle::PickleKind::kString &&
          model.key(i).text().ends_with("ln_f.bias")) {
        return true;
      }
    }
    return false;
  }

  void read_sizes(const pickle::PickleValue& args, bool has_biases) {
    const auto size = [&](const char* key) {
      return whole(member(args, key, pickle::PickleKind::kInt), key);
    };
    config::GptSizes& sizes = source_.sizes;
    sizes.n_layer = size("n_layer");
    sizes.n_head = size("n_head");
    sizes.n_embd = size("n_embd");
    sizes.block_size = size("block_size");
    sizes.vocab_size = size("vocab_size");
    sizes.bias = has_biases;
    if (args.find("bias")) {
      sizes.bias = member(args, "bias", pickle::PickleKind::kBool).integer() != 0;
    }
    if (const auto dropout = args.find("dropout"))
      sizes.dropout = file_.number(*dropout, "dropout");
    check_sizes(sizes, file_.name());
    source_.state.records.tokenizer = gpt2_by_size(sizes.vocab_size);
  }

  void read_model(const pickle::PickleValue& model) {
    for (std::size_t i = 0; i < model.size(); ++i) {
      if (model.key(i).kind() != pickle::PickleKind::kString) continue;
      const std::string_view name = without_wrappers(model.key(i).text());
      // The causal mask, which older versions of PyTorch had to keep.
      const bool mask = name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
      if (mask || model.value(i).kind() != pickle::PickleKind::kTensor) continue;
      const std::string key(name);
      source_.tensors.insert_or_assign(key, file_.tensor(model.value(i), key));
    }
    take_head();
    require_known_tensors();
  }

  // lm_head and the embedding are one tensor, in nanoGPT and here.
  void take_head() {
    const auto head = source_.tensors.extract("lm_head.weight");
    if (head.empty() || same_values(head.mapped(), source_.tensor("transformer.wte.weight")))
      return;
    throw DataError(
        fmt::format("{}: lm_head.weight is not tied to transformer.wte.weight\nnanoGPT and Snug "
                    "share the two: a model that was trained with both apart is not computed",
                    file_.name()));
  }

  // As nanoGPT's load_state_dict: a tensor more is another model.
  void require_known_tensors() const {
    const std::vector<std::string> unknown = unknown_tensors(source_);
    if (unknown.empty()) return;
    throw DataError(fmt::format(
        "{}: nanoGPT's model of {} layers{} has no tensor {}{}\nthe file is of a changed model.py: "
        "Snug computes nanoGPT's own model only",
        file_.name(), source_.sizes.n_layer, source_.sizes.bias ? "" : " without biases",
        checkpoint::printable(unknown.front()),
        unknown.size() == 1 ? "" : fmt::format(", and not {} others", unknown.size() - 1)));
  }

  // The optimizer numbers the parameters: those that decay first, then the others.
  std::vector<std::string> numbered_parameters() const {
    std::vector<std::string> names;
    const model::ModelSpec model = source_.model();
    for (const bool decays : {true, false}) {
      for (const model::ParameterSpec& parameter : model.parameters) {
        if (parameter.decays == decays) names.push_back(parameter.name);
      }
    }
    return names;
  }

  void read_optimizer(const pickle::PickleValue& optimizer) {
    if (optimizer.kind() != pickle::PickleKind::kDict) fail("has an 'optimizer' that is no dict");
    const pickle::PickleValue states = member(optimizer, "state", pickle::PickleKind::kDict);
    if (states.size() == 0) return;  // saved before the first update
    const std::vector<std::string> names = numbered_parameters();
    if (states.size() != names.size()) {
      fail(fmt::format("has the optimizer's state of {} parameters, the model has {}",
                       states.size(), names.size()));
    }
    for (std::size_t i = 0; i < states.size(); ++i) {
      const std::int64_t number = whole(states.key(i), "state");
      if (number >= std::ssize(names)) fail(fmt::format("has no parameter number {}", number));
      read_moments(states.value(i), names[static_cast<std::size_t>(number)]);
    }
    source_.has_optimizer = true;
  }

  void read_moments(const pickle::PickleValue& state, const std::string& name) {
    if (state.kind() != pickle::PickleKind::kDict) fail("has a parameter's state that is no dict");
    for (const char* moment : {kFirstMoment, kSecondMoment}) {
      const std::string key = name + moment;
      source_.tensors.insert_or_assign(
          key, file_.tensor(member(state, moment + 1, pickle::PickleKind::kTensor), key));
    }
    if (const auto step = state.find("step")) steps_ = file_.number(*step, "step");
  }

  // What a Snug config can hold of it; the rest is left out.
  void read_config(const pickle::PickleValue& config) {
    if (config.kind() != pickle::PickleKind::kDict) fail("has a 'config' that is no dict");
    for (std::size_t i = 0; i < config.size(); ++i) {
      if (config.key(i).kind() != pickle::PickleKind::kString) continue;
      const pickle::PickleValue value = config.value(i);
      PlainJson json;
      if (value.kind() == pickle::PickleKind::kBool) json = value.integer() != 0;
      if (value.kind() == pickle::PickleKind::kInt) json = value.integer();
      if (value.kind() == pickle::PickleKind::kFloat) json = value.real();
      if (value.kind() == pickle::PickleKind::kString) json = std::string(value.text());
      const std::string key(config.key(i).text());
      try {
        PlainJson alone = PlainJson::object();
        alone[key] = json;
        config::config_from_json(alone.dump());
        config_[key] = json;
      } catch (const ConfigError&) {
        source_.notices.push_back(
            fmt::format("its setting {} is left out", checkpoint::printable(key)));
      }
    }
  }

  void finish_config() {
    const config::GptSizes& sizes = source_.sizes;
    config_["n_layer"] = sizes.n_layer;
    config_["n_head"] = sizes.n_head;
    config_["n_embd"] = sizes.n_embd;
    config_["block_size"] = sizes.block_size;
    config_["vocab_size"] = sizes.vocab_size;
    config_["bias"] = sizes.bias;
    config_["gelu"] = sizes.gelu;
    source_.state.config_json = config_.dump();
  }

  void check_steps() {
    if (!source_.has_optimizer || steps_ == static_cast<double>(source_.state.iteration)) return;
    source_.notices.push_back(fmt::format(
        "its optimizer has done {} updates in {} iterations: the bias correction goes by the "
        "iterations",
        steps_, source_.state.iteration));
  }

  Source& source_;
  torch::TorchFile& file_;
  PlainJson config_ = PlainJson::object();
  double steps_ = 0;
};

}  // namespace

bool is_nanogpt(const checkpoint::Path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return std::filesystem::is_regular_file(path / kFile, ignored);
  }
  return std::filesystem::is_regular_file(path, ignored) && torch::is_torch_file(path);
}

Source open_nanogpt(const checkpoint::Path& path) {
  const checkpoint::Path file = std::filesystem::is_directory(path) ? path / kFile : path;
  auto opened = std::make_unique<torch::TorchFile>(file);
  Source source;
  source.name = file.string();
  NanoGptReader(source, *opened).read();
  source.files.push_back(std::move(opened));
  check_complete(source);
  return source;
}

}  // namespace snug::formats::nanogpt
