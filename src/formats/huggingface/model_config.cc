#include "formats/huggingface/model_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "checkpoint/tensor_label.h"

namespace snug::formats::huggingface {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxDepth = 32;

class Fields {
 public:
  Fields(std::string_view text, const std::string& file) : file_(file) {
    const auto limit_depth = [&](int depth, Json::parse_event_t, Json&) {
      if (depth > kMaxDepth) fail("is nested too deep");
      return true;
    };
    try {
      json_ = Json::parse(text, limit_depth);
    } catch (const Json::exception&) {
      fail("is not JSON");
    }
    if (!json_.is_object()) fail("is not a JSON object");
  }

  // By one of its two names. What a file of model_type gpt2 leaves out is transformers' default.
  std::int64_t size(const char* key, const char* general, std::int64_t absent) const {
    auto at = json_.find(key);
    if (at == json_.end()) at = json_.find(general);
    if (at == json_.end() && json_.contains("model_type")) return absent;
    if (at == json_.end()) fail(fmt::format("has no \"{}\"", key));
    if (!at->is_number_unsigned() || at->get<std::uint64_t>() > (1U << 30)) {
      fail(fmt::format("has a {} that is no whole number in reach", key));
    }
    return at->get<std::int64_t>();
  }

  // Absent and null are the default.
  bool flag(const char* key, bool absent) const {
    const auto at = json_.find(key);
    if (at == json_.end() || at->is_null()) return absent;
    if (!at->is_boolean()) fail(fmt::format("has a {} that is neither true nor false", key));
    return at->get<bool>();
  }

  double number(const char* key, double absent) const {
    const auto at = json_.find(key);
    if (at == json_.end() || at->is_null()) return absent;
    if (!at->is_number()) fail(fmt::format("has a {} that is no number", key));
    return at->get<double>();
  }

  std::string text(const char* key, const char* absent) const {
    const auto at = json_.find(key);
    if (at == json_.end() || at->is_null()) return absent;
    if (!at->is_string()) fail(fmt::format("has a {} that is no text", key));
    return at->get<std::string>();
  }

  // Of the object under `key`, its text under `inner`; empty where there is no such object.
  std::optional<std::string> text_within(const char* key, const char* inner) const {
    const auto at = json_.find(key);
    if (at == json_.end() || !at->is_object()) return std::nullopt;
    const auto text = at->find(inner);
    return text != at->end() && text->is_string() ? text->get<std::string>() : "";
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw DataError(
        fmt::format("{} {}\nthe config.json of a GPT-2 model was wanted, as transformers writes it",
                    file_, what));
  }

 private:
  const std::string& file_;
  Json json_;
};

std::string gelu_of(const Fields& fields) {
  const std::string name = fields.text("activation_function", "gelu_new");
  if (name == "gelu" || name == "gelu_python") return "erf";
  const bool is_tanh = name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast" ||
                       name == "gelu_python_tanh" || name == "gelu_accurate";
  if (!is_tanh) {
    fields.fail(
        fmt::format("asks for activation_function {}; gelu (erf) and gelu_new (tanh) are "
                    "computed",
                    checkpoint::printable(name)));
  }
  return "tanh";
}

void require_known_variant(const Fields& fields, const config::GptSizes& sizes) {
  if (const double epsilon = fields.number("layer_norm_epsilon", 1e-5);
      std::abs(epsilon - 1e-5) > 1e-12) {
    fields.fail(fmt::format("asks for layer_norm_epsilon {}; 1e-5 is computed", epsilon));
  }
  const double inner = fields.number("n_inner", 4.0 * static_cast<double>(sizes.n_embd));
  if (inner != 4.0 * static_cast<double>(sizes.n_embd)) {
    fields.fail(fmt::format("asks for n_inner {}; four times n_embd is computed", inner));
  }
  if (!fields.flag("scale_attn_weights", true) ||
      fields.flag("scale_attn_by_inverse_layer_idx", false) ||
      fields.flag("add_cross_attention", false)) {
    fields.fail(
        "asks for attention that is scaled in another way, or for cross attention: not computed");
  }
}

}  // namespace

ModelConfig parse_model_config(std::string_view text, const std::string& file) {
  const Fields fields(text, file);
  if (const std::string type = fields.text("model_type", "gpt2"); type != "gpt2") {
    fields.fail(fmt::format("is of model_type {}; gpt2 is read", checkpoint::printable(type)));
  }
  if (const auto method = fields.text_within("quantization_config", "quant_method")) {
    throw DataError(fmt::format("{} has a quantization_config ({}): its weights are quantized\n{}",
                                file, checkpoint::printable(*method), kHowToDequantize));
  }
  ModelConfig config;
  config.sizes.n_layer = fields.size("n_layer", "num_hidden_layers", 12);
  config.sizes.n_head = fields.size("n_head", "num_attention_heads", 12);
  config.sizes.n_embd = fields.size("n_embd", "hidden_size", 768);
  config.sizes.block_size = fields.size("n_positions", "max_position_embeddings", 1024);
  config.sizes.vocab_size = fields.size("vocab_size", "n_vocab", 50257);
  config.sizes.gelu = gelu_of(fields);
  config.sizes.dropout = std::clamp(fields.number("resid_pdrop", 0.0), 0.0, 0.99);
  config.has_bias = fields.flag("snug_bias", true);
  config.is_tied = fields.flag("tie_word_embeddings", true);
  config.sizes.bias = true;
  require_known_variant(fields, config.sizes);
  return config;
}

std::string make_model_config(const config::GptSizes& sizes, std::int64_t end_of_text) {
  const Json end = end_of_text < 0 ? Json() : Json(end_of_text);
  Json json = {{"architectures", Json::array({"GPT2LMHeadModel"})},
               {"model_type", "gpt2"},
               {"activation_function", sizes.gelu == "tanh" ? "gelu_new" : "gelu"},
               {"n_layer", sizes.n_layer},
               {"n_head", sizes.n_head},
               {"n_embd", sizes.n_embd},
               {"n_positions", sizes.block_size},
               {"n_ctx", sizes.block_size},
               {"n_inner", nullptr},
               {"vocab_size", sizes.vocab_size},
               {"layer_norm_epsilon", 1e-5},
               {"initializer_range", 0.02},
               {"attn_pdrop", sizes.dropout},
               {"embd_pdrop", sizes.dropout},
               {"resid_pdrop", sizes.dropout},
               {"scale_attn_weights", true},
               {"scale_attn_by_inverse_layer_idx", false},
               {"reorder_and_upcast_attn", false},
               {"tie_word_embeddings", true},
               {"use_cache", true},
               {"torch_dtype", "float32"},
               {"bos_token_id", end},
               {"eos_token_id", end}};
  if (!sizes.bias) json["snug_bias"] = false;
  return json.dump(2) + "\n";
}

std::string make_generation_config(std::int64_t end_of_text) {
  Json json = {{"_from_model_config", true}};
  if (end_of_text >= 0) {
    json["bos_token_id"] = end_of_text;
    json["eos_token_id"] = end_of_text;
  }
  return json.dump(2) + "\n";
}

}  // namespace snug::formats::huggingface
