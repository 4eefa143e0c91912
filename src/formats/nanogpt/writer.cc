#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/config.h"
#include "formats/nanogpt/nanogpt.h"
#include "formats/publish.h"
#include "formats/torch/zip_writer.h"
#include "pickle/writer.h"

namespace snug::formats::nanogpt {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kPrefix = "ckpt/";
constexpr double kNoLossYet = 1e9;  // nanoGPT's own

class NanoGptWriter {
 public:
  NanoGptWriter(const Source& source, const checkpoint::Path& file)
      : source_(source), model_(source.model()), zip_(file) {}

  void write() {
    pickle_.begin_dict();
    pickle_.text("model");
    write_model();
    pickle_.text("optimizer");
    write_optimizer();
    pickle_.text("model_args");
    write_model_args();
    pickle_.text("iter_num");
    pickle_.integer(source_.state.iteration);
    pickle_.text("best_val_loss");
    const double best = source_.state.best_val_loss;
    write_scalar(static_cast<float>(std::isfinite(best) ? best : kNoLossYet));
    pickle_.text("config");
    write_config();
    pickle_.end_dict();
    zip_.add(std::string(kPrefix) + "data.pkl", pickle_.finish());
    zip_.add(std::string(kPrefix) + "byteorder", "little");
    zip_.add(std::string(kPrefix) + "version", "3\n");
    zip_.finish();
  }

 private:
  std::string add_storage(std::int64_t element_count, torch::ZipWriter::Fill fill) {
    const std::string key = fmt::format("{}", storage_count_++);
    zip_.add(fmt::format("{}data/{}", kPrefix, key), element_count * 4, std::move(fill));
    return key;
  }

  std::string store(const std::string& name) {
    const StoredTensor& tensor = source_.tensor(name);
    return add_storage(
        tensor.element_count(), [&tensor](std::int64_t at, std::span<std::byte> out) {
          // libzip asks for buffers of whole kilobytes, so that no float is cut.
          if (at % 4 != 0 || out.size() % 4 != 0) throw InternalError("a piece cuts a float");
          tensor.read(at / 4, {reinterpret_cast<float*>(out.data()), out.size() / 4});
        });
  }

  void write_numbers(const Shape& shape, bool as_strides) {
    pickle_.begin_tuple();
    for (int axis = 0; axis < shape.rank(); ++axis) {
      std::int64_t number = shape[axis];
      if (as_strides) {
        number = 1;
        for (int inner = axis + 1; inner < shape.rank(); ++inner) number *= shape[inner];
      }
      pickle_.integer(number);
    }
    pickle_.end_tuple();
  }

  void write_tensor(const std::string& key, const Shape& shape) {
    pickle_.global("torch._utils", "_rebuild_tensor_v2");
    pickle_.begin_tuple();
    pickle_.begin_tuple();
    pickle_.text("storage");
    pickle_.global("torch", "FloatStorage");
    pickle_.text(key);
    pickle_.text("cpu");
    pickle_.integer(shape.element_count());
    pickle_.end_tuple();
    pickle_.persistent_id();
    pickle_.integer(0);
    write_numbers(shape, false);
    write_numbers(shape, true);
    pickle_.boolean(false);
    begin_ordered_dict();
    pickle_.end_dict();
    pickle_.end_tuple();
    pickle_.reduce();
  }

  void begin_ordered_dict() {
    pickle_.global("collections", "OrderedDict");
    pickle_.begin_tuple();
    pickle_.end_tuple();
    pickle_.reduce();
    pickle_.begin_items();
  }

  void write_scalar(float value) {
    const std::string key = add_storage(1, [value](std::int64_t, std::span<std::byte> out) {
      if (!out.empty()) std::memcpy(out.data(), &value, sizeof value);
    });
    write_tensor(key, Shape{});
  }

  void write_model() {
    begin_ordered_dict();
    std::string token_embedding;
    for (const model::ParameterSpec& parameter : model_.parameters) {
      const std::string key = store(parameter.name);
      if (token_embedding.empty()) token_embedding = key;  // the first one
      pickle_.text(parameter.name);
      write_tensor(key, parameter.shape);
    }
    pickle_.text("lm_head.weight");  // tied
    write_tensor(token_embedding, model_.parameters.front().shape);
    pickle_.end_dict();
  }

  void write_optimizer() {
    pickle_.begin_dict();
    pickle_.text("state");
    pickle_.begin_dict();
    std::int64_t number = 0, decayed = 0;
    for (const bool decays : {true, false}) {
      for (const model::ParameterSpec& parameter : model_.parameters) {
        if (parameter.decays != decays) continue;
        if (source_.has_optimizer) write_state(number, parameter);
        ++number;
        decayed += decays ? 1 : 0;
      }
    }
    pickle_.end_dict();
    pickle_.text("param_groups");
    pickle_.begin_list();
    const config::Config config = config::config_from_json(source_.state.config_json);
    write_group(0, decayed, config.weight_decay, config);
    write_group(decayed, number, 0, config);
    pickle_.end_list();
    pickle_.end_dict();
  }

  void write_state(std::int64_t number, const model::ParameterSpec& parameter) {
    pickle_.integer(number);
    pickle_.begin_dict();
    pickle_.text("step");
    write_scalar(static_cast<float>(source_.state.iteration));
    for (const char* moment : {kFirstMoment, kSecondMoment}) {
      pickle_.text(moment + 1);
      write_tensor(store(parameter.name + moment), parameter.shape);
    }
    pickle_.end_dict();
  }

  void write_group(std::int64_t first, std::int64_t end, double decay,
                   const config::Config& config) {
    pickle_.begin_dict();
    pickle_.text("lr");
    pickle_.real(config.learning_rate);
    pickle_.text("betas");
    pickle_.begin_tuple();
    pickle_.real(config.beta1);
    pickle_.real(config.beta2);
    pickle_.end_tuple();
    pickle_.text("eps");
    pickle_.real(1e-8);
    pickle_.text("weight_decay");
    pickle_.real(decay);
    for (const char* off : {"amsgrad", "maximize", "capturable", "differentiable"}) {
      pickle_.text(off);
      pickle_.boolean(false);
    }
    for (const char* unset : {"foreach", "fused"}) {
      pickle_.text(unset);
      pickle_.none();
    }
    pickle_.text("decoupled_weight_decay");
    pickle_.boolean(true);
    pickle_.text("params");
    pickle_.begin_list();
    for (std::int64_t i = first; i < end; ++i) pickle_.integer(i);
    pickle_.end_list();
    pickle_.end_dict();
  }

  void write_model_args() {
    const config::GptSizes& sizes = source_.sizes;
    pickle_.begin_dict();
    const auto whole = [&](const char* key, std::int64_t value) {
      pickle_.text(key);
      pickle_.integer(value);
    };
    whole("n_layer", sizes.n_layer);
    whole("n_head", sizes.n_head);
    whole("n_embd", sizes.n_embd);
    whole("block_size", sizes.block_size);
    pickle_.text("bias");
    pickle_.boolean(sizes.bias);
    whole("vocab_size", sizes.vocab_size);
    pickle_.text("dropout");
    pickle_.real(sizes.dropout);
    pickle_.end_dict();
  }

  void write_config() {
    pickle_.begin_dict();
    const Json config = Json::parse(source_.state.config_json);
    for (const auto& [key, value] : config.items()) {
      pickle_.text(key);
      if (value.is_boolean()) {
        pickle_.boolean(value.get<bool>());
      } else if (value.is_number_integer()) {
        pickle_.integer(value.get<std::int64_t>());
      } else if (value.is_number()) {
        pickle_.real(value.get<double>());
      } else if (value.is_string()) {
        pickle_.text(value.get<std::string>());
      } else {
        pickle_.none();
      }
    }
    pickle_.end_dict();
  }

  const Source& source_;
  const model::ModelSpec model_;
  torch::ZipWriter zip_;
  pickle::PickleWriter pickle_;
  std::int64_t storage_count_ = 0;
};

}  // namespace

void write_nanogpt(const Source& source, const checkpoint::Path& to, const WriteOptions&) {
  PartialFile partial(to);
  NanoGptWriter(source, partial.path()).write();
  partial.publish();
}

}  // namespace snug::formats::nanogpt
