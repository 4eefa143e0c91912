// For tests: a model in memory, as any format would hand it over. Nothing of the program uses it.
#pragma once

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "formats/source.h"
#include "gpt2/spec.h"

namespace snug::formats {

class MemoryBytes : public ByteSource {
 public:
  explicit MemoryBytes(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  void read(std::int64_t offset, std::span<std::byte> out) const override {
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
  }
  std::int64_t byte_count() const override { return std::ssize(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

inline void add_tensor(Source& source, const std::string& name, const Shape& shape,
                       const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  auto memory = std::make_unique<MemoryBytes>(std::move(bytes));
  source.tensors[name] = {.bytes = memory.get(),
                          .offset = 0,
                          .dtype = DType::kF32,
                          .shape = shape,
                          .transposed = false};
  source.files.push_back(std::move(memory));
}

// Two layers, with every value drawn from the seed. With an optimizer it has done 7 iterations.
inline Source random_source(bool bias, bool optimizer, unsigned seed = 1) {
  Source source;
  source.name = "random";
  source.format = "snug";
  source.sizes = {.n_layer = 2, .n_head = 2, .n_embd = 8, .block_size = 6, .vocab_size = 11};
  source.sizes.bias = bias;
  source.state.config_json = config_json_of(source.sizes);
  source.has_optimizer = optimizer;
  if (optimizer) {
    source.state.iteration = 7;
    source.state.best_val_loss = 2.5;
  }
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (const model::ParameterSpec& parameter : gpt2::make_model_spec(source.sizes).parameters) {
    for (const char* part : {"", kFirstMoment, kSecondMoment}) {
      if (*part != '\0' && !optimizer) continue;
      std::vector<float> values(static_cast<std::size_t>(parameter.shape.element_count()));
      for (float& value : values) value = normal(random);
      add_tensor(source, parameter.name + part, parameter.shape, values);
    }
  }
  return source;
}

// The bits of all weights, and of the moments if both have them.
inline bool same_weights(const Source& a, const Source& b) {
  if (!(a.sizes == b.sizes)) return false;
  for (const model::ParameterSpec& parameter : gpt2::make_model_spec(a.sizes).parameters) {
    for (const char* part : {"", kFirstMoment, kSecondMoment}) {
      if (*part != '\0' && !(a.has_optimizer && b.has_optimizer)) continue;
      const std::vector<float> ours = read_whole(a, parameter.name + part),
                               others = read_whole(b, parameter.name + part);
      if (ours.size() != others.size() ||
          std::memcmp(ours.data(), others.data(), ours.size() * sizeof(float)) != 0) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace snug::formats
