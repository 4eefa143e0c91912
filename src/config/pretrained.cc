#include "config/pretrained.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "config/diagnostic.h"
#include "config/fields.h"
#include "config/gpt_sizes.h"

namespace snug::config {
namespace {

struct Pretrained {
  std::string_view name;
  std::int64_t n_layer, n_head, n_embd;
};

constexpr Pretrained kPretrained[] = {{"gpt2", 12, 12, 768},
                                      {"gpt2-medium", 24, 16, 1024},
                                      {"gpt2-large", 36, 20, 1280},
                                      {"gpt2-xl", 48, 25, 1600}};
constexpr std::int64_t kPositions = 1024;

const Pretrained* find_pretrained(std::string_view name) {
  const auto at = std::find_if(std::begin(kPretrained), std::end(kPretrained),
                               [&](const Pretrained& model) { return model.name == name; });
  return at == std::end(kPretrained) ? nullptr : at;
}

void force(LoadedConfig& config, Field::Member member, const Value& value,
           std::vector<std::string_view>& overruled) {
  const Field& field = field_of(member);
  const bool differs = python_repr(field_value(config.values, field)) != python_repr(value);
  if (differs && config.is_set(field.key)) overruled.push_back(field.key);
  set_derived(config, field, value);
}

void check_block(const LoadedConfig& config) {
  if (config.values.block_size <= kPositions) return;
  throw_config_error(config, field_of(&Config::block_size).key,
                     fmt::format("block_size = {} is longer than the {} positions of {}",
                                 config.values.block_size, kPositions, config.values.init_from),
                     fmt::format("set block_size to {} or less", kPositions));
}

}  // namespace

bool is_pretrained(std::string_view init_from) { return find_pretrained(init_from) != nullptr; }

void apply_pretrained(LoadedConfig& config) {
  const Pretrained* model = find_pretrained(config.values.init_from);
  if (!model) return;
  check_block(config);
  std::vector<std::string_view> overruled;
  force(config, &Config::n_layer, model->n_layer, overruled);
  force(config, &Config::n_head, model->n_head, overruled);
  force(config, &Config::n_embd, model->n_embd, overruled);
  force(config, &Config::vocab_size, kGpt2Vocabulary, overruled);
  force(config, &Config::bias, true, overruled);
  force(config, &Config::gelu, std::string("tanh"), overruled);
  if (overruled.empty()) return;
  config.notices.push_back(fmt::format("init_from = '{}' decides the model: {} without effect",
                                       model->name, fmt::join(overruled, ", ")));
}

}  // namespace snug::config
