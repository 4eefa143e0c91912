// One golden fixture: its inputs, PyTorch's results, and how far from them a result may be. The
// format is described in golden/make_golden.py, the tolerances in golden/check_golden.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "checkpoint/safetensors.h"
#include "gpt2/spec.h"
#include "program/training_program.h"

namespace snug {

using Doubles = std::vector<double>;

// A single tensor in memory of the test's own.
class OneTensor : public TensorBytes {
 public:
  explicit OneTensor(std::span<std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> get(std::int32_t, std::int64_t offset,
                                 std::int64_t byte_count) override {
    return piece(offset, byte_count);
  }
  void put(std::int32_t, std::int64_t offset, std::int64_t byte_count, const Fill& fill) override {
    fill(piece(offset, byte_count));
  }

 private:
  std::span<std::byte> piece(std::int64_t offset, std::int64_t byte_count) const {
    return bytes_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(byte_count));
  }
  std::span<std::byte> bytes_;
};

class GoldenFixture {
 public:
  explicit GoldenFixture(const std::string& name)
      : reader_(std::string(SNUG_GOLDEN) + "/" + name + ".safetensors") {
    for (const checkpoint::SafetensorsEntry& entry : reader_.entries()) {
      entries_.emplace(entry.label.name, &entry);
    }
    config::Config config;
    config.n_layer = integer("n_layer");
    config.n_head = integer("n_head");
    config.n_embd = integer("n_embd");
    config.block_size = integer("block_size");
    config.bias = integer("bias") != 0;
    model_ = gpt2::make_model_spec(config, integer("vocab_size"));
    shape_.batch_size = integer("batch_size");
    shape_.accumulation_steps = integer("accumulation");
    shape_.block_size = integer("tokens");
    shape_.weight_decay = number("weight_decay");
    std::istringstream rates(reader_.metadata().at("learning_rate"));
    for (std::string rate; std::getline(rates, rate, ',');) {
      learning_rates_.push_back(std::stod(rate));
      rate_sum_ += learning_rates_.back();
    }
  }

  const model::ModelSpec& model() const { return model_; }
  const program::TrainingShape& shape() const { return shape_; }
  const Doubles& learning_rates() const { return learning_rates_; }

  std::int64_t integer(const char* key) const { return std::stoll(reader_.metadata().at(key)); }
  double number(const char* key) const { return std::stod(reader_.metadata().at(key)); }

  // x or y, (K, A, B, T).
  std::vector<std::int32_t> tokens(const char* name) const { return stored<std::int32_t>(name); }

  // Fills a parameter with its initial value: small ones are stored in full, large ones as one
  // period.
  void fill_weight(const std::string& parameter, std::span<float> weight) const {
    const std::vector<float> period = stored<float>("weight/" + parameter);
    for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = period[i % period.size()];
  }

  // The largest distance of `found` from the truth, and the truth's largest number.
  std::pair<double, double> distance(const std::string& name, const Doubles& found) const {
    const Doubles wanted = values(name), kept = sampled(name, found, wanted.size());
    double distance = 0, largest = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      distance = std::max(distance, std::abs(kept[i] - wanted[i]));
      largest = std::max(largest, std::abs(wanted[i]));
    }
    return {distance, largest};
  }

  struct Excess {
    double of_tolerance = 0;  // above 1, or NaN, fails
    std::string name;
    std::size_t element = 0;
    double found = 0, wanted = 0;
  };
  // The element of `found` (the whole tensor) that is worst for its tolerance.
  Excess worst(const std::string& name, const Doubles& found) const {
    const Doubles wanted = comparable(name, values(name));
    const Doubles kept = comparable(name, sampled(name, found, wanted.size()));
    const Doubles allowed = tolerance(name, wanted);
    Excess worst{-1, name};
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const double excess = std::abs(kept[i] - wanted[i]) / allowed[i];
      if (!(excess <= worst.of_tolerance)) worst = {excess, name, i, kept[i], wanted[i]};
      if (std::isnan(excess)) break;
    }
    return worst;
  }

 private:
  static constexpr double kFactor = 8;
  static constexpr double kEps = 0x1p-24;

  template <typename T>
  std::vector<T> stored(const std::string& name) const {
    const checkpoint::SafetensorsEntry& entry = *entries_.at(name);
    std::vector<T> out(static_cast<std::size_t>(entry.label.shape.element_count()));
    const DType dtype = std::is_same_v<T, float> ? DType::kF32 : DType::kI32;
    OneTensor bytes(std::as_writable_bytes(std::span(out)));
    reader_.read(entry, {name, dtype, entry.label.shape, 0}, bytes);
    return out;
  }

  Doubles values(const std::string& name) const {
    const std::vector<float> floats = stored<float>(name);
    return Doubles(floats.begin(), floats.end());
  }

  // Every sample_stride-th element where the fixture holds no more.
  Doubles sampled(const std::string& name, const Doubles& whole, std::size_t count) const {
    if (whole.size() == count) return whole;
    const auto stride = static_cast<std::size_t>(integer("sample_stride"));
    if ((whole.size() + stride - 1) / stride != count) {
      throw InternalError("the fixture holds another shape of " + name);
    }
    Doubles out;
    for (std::size_t i = 0; i < whole.size(); i += stride) out.push_back(whole[i]);
    return out;
  }

  // Second moments are compared by their square roots, whose error is the gradient's.
  static Doubles comparable(const std::string& name, Doubles values) {
    if (name.starts_with("exp_avg_sq/")) {
      for (double& value : values) value = std::sqrt(value);
    }
    return values;
  }

  double deviation(const std::string& name, std::size_t i = 0) const {
    return values("f32dev/" + name).at(i);
  }

  // PyTorch float32's own error in one of the results that are not named by a parameter, guarded
  // against luck.
  double guarded_deviation(const std::string& name) const {
    if (name == "loss" || name == "step_loss" || name == "final_loss") {
      return std::max(deviation(name), deviation("losses"));
    }
    if (name != "grad_norm") return deviation(name);
    double squares = 0;
    for (const model::ParameterSpec& p : model_.parameters) {
      squares += static_cast<double>(p.shape.element_count()) * std::pow(deviation(p.name), 2);
    }
    return std::max(deviation(name), std::sqrt(squares));
  }

  Doubles tolerance(const std::string& name, const Doubles& wanted) const {
    const std::size_t slash = name.find('/');
    const std::string kind = name.substr(0, slash);
    if (kind == "step3") return weight_tolerance(name.substr(slash + 1), wanted);
    const double dev = slash == std::string::npos
                           ? guarded_deviation(name)
                           : deviation(name.substr(slash + 1), kind == "grad" ? 0 : 1);
    double largest = 0;
    for (const double value : wanted) largest = std::max(largest, std::abs(value));
    return Doubles(wanted.size(), kFactor * dev + 4 * kEps * largest);
  }

  Doubles weight_tolerance(const std::string& parameter, const Doubles& wanted) const {
    const double dev = deviation(parameter, 1);
    Doubles out = values("sens/" + parameter);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = std::min(kFactor * dev * out[i], 2.1 * rate_sum_) +
               kEps * (8 * std::abs(wanted[i]) + 16 * rate_sum_);
    }
    return out;
  }

  checkpoint::SafetensorsReader reader_;
  std::map<std::string, const checkpoint::SafetensorsEntry*> entries_;
  model::ModelSpec model_;
  program::TrainingShape shape_;
  Doubles learning_rates_;
  double rate_sum_ = 0;
};

}  // namespace snug
