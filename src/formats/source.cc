#include "formats/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "formats/float_bits.h"
#include "gpt2/spec.h"
#include "tokenizer/gpt2_vocabulary.h"

namespace snug::formats {
namespace {

constexpr std::string_view kPositions = "transformer.wpe.weight";

[[noreturn]] void fail_missing(const Source& source, const std::string& name) {
  throw DataError(fmt::format(
      "{}: there is no tensor {}\na model of {} layers, {} heads, {} wide, {} positions and {} "
      "tokens{} has one: the file is incomplete, or of another kind of model",
      source.name, name, source.sizes.n_layer, source.sizes.n_head, source.sizes.n_embd,
      source.sizes.block_size, source.sizes.vocab_size, source.sizes.bias ? " with biases" : ""));
}

[[noreturn]] void fail_shape(const Source& source, const std::string& name, const Shape& wanted,
                             const Shape& had) {
  throw DataError(fmt::format("{}: tensor {} has another shape than the model\nwanted {}, had {}",
                              source.name, name, to_string(wanted), to_string(had)));
}

void check_tensor(const Source& source, const std::string& name, const Shape& wanted) {
  const auto found = source.tensors.find(name);
  if (found == source.tensors.end()) fail_missing(source, name);
  if (found->second.shape != wanted) fail_shape(source, name, wanted, found->second.shape);
  check_extent(found->second, name, source.name);
}

void check_wanted(const Source& source, const checkpoint::NamedTensor& wanted) {
  const Shape& had = source.tensor(wanted.name).shape;
  const bool cropped = wanted.name.starts_with(kPositions) && had.rank() == 2 &&
                       wanted.shape.rank() == 2 && wanted.shape[1] == had[1] &&
                       wanted.shape[0] <= had[0];
  if (had != wanted.shape && !cropped) fail_shape(source, wanted.name, wanted.shape, had);
}

void encode(DType dtype, std::span<const float> values, std::byte* to) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t bits =
        dtype == DType::kBF16 ? to_bfloat16(values[i]) : to_float16(values[i]);
    std::memcpy(to + 2 * i, &bits, sizeof bits);
  }
}

void fill_piece(const StoredTensor& tensor, DType dtype, std::int64_t at,
                std::span<std::byte> piece) {
  if (dtype == DType::kF32) {
    return tensor.read(at / size_of(dtype),
                       {reinterpret_cast<float*>(piece.data()), piece.size() / sizeof(float)});
  }
  std::array<float, 4096> buffer;
  std::int64_t first = at / size_of(dtype);
  for (std::size_t done = 0; done < piece.size();) {
    const std::size_t count = std::min(buffer.size(), (piece.size() - done) / 2);
    const auto part = std::span(buffer).first(count);
    tensor.read(first, part);
    encode(dtype, part, piece.data() + done);
    first += std::ssize(part);
    done += 2 * count;
  }
}

void fill_tensor(const StoredTensor& tensor, const checkpoint::NamedTensor& wanted,
                 TensorBytes& bytes) {
  for_each_piece(wanted.byte_count(), [&](std::int64_t at, std::int64_t count) {
    bytes.put(wanted.id, at, count,
              [&](std::span<std::byte> piece) { fill_piece(tensor, wanted.dtype, at, piece); });
  });
}

void clear_tensor(const checkpoint::NamedTensor& wanted, TensorBytes& bytes) {
  for_each_piece(wanted.byte_count(), [&](std::int64_t at, std::int64_t count) {
    bytes.put(wanted.id, at, count,
              [](std::span<std::byte> piece) { std::ranges::fill(piece, std::byte{0}); });
  });
}

}  // namespace

const StoredTensor& Source::tensor(const std::string& wanted) const {
  const auto found = tensors.find(wanted);
  if (found == tensors.end()) fail_missing(*this, wanted);
  return found->second;
}

void check_sizes(const config::GptSizes& sizes, const std::string& file) {
  const auto check = [&](const char* what, std::int64_t value, std::int64_t most) {
    if (value >= 1 && value <= most) return;
    throw DataError(
        fmt::format("{}: {} is {}\nfrom 1 to {} were expected: the file is damaged, or "
                    "not a GPT-2 model",
                    file, what, value, most));
  };
  check("the number of layers", sizes.n_layer, 512);
  check("the number of heads", sizes.n_head, 256);
  check("the width", sizes.n_embd, 1 << 15);
  check("the number of positions", sizes.block_size, 1 << 17);
  check("the vocabulary", sizes.vocab_size, 1 << 20);
  if (sizes.n_embd % sizes.n_head == 0) return;
  throw DataError(fmt::format("{}: a width of {} does not divide into {} heads", file, sizes.n_embd,
                              sizes.n_head));
}

model::ModelSpec Source::model() const { return gpt2::make_model_spec(sizes); }

model::ModelSpec Source::model_with_biases() const {
  config::GptSizes with_biases = sizes;
  with_biases.bias = true;
  return gpt2::make_model_spec(with_biases);
}

void check_complete(const Source& source) {
  check_sizes(source.sizes, source.name);
  for (const model::ParameterSpec& parameter : source.model().parameters) {
    check_tensor(source, parameter.name, parameter.shape);
    if (!source.has_optimizer) continue;
    check_tensor(source, parameter.name + kFirstMoment, parameter.shape);
    check_tensor(source, parameter.name + kSecondMoment, parameter.shape);
  }
}

std::vector<std::string> unknown_tensors(const Source& source) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : source.tensors) names.insert(name);
  for (const model::ParameterSpec& parameter : source.model().parameters) {
    names.erase(parameter.name);
  }
  return {names.begin(), names.end()};
}

checkpoint::TokenizerRecord gpt2_by_size(std::int64_t vocab_size) {
  if (vocab_size < tokenizer::Gpt2Vocabulary::kSize) return {};
  return {checkpoint::kGpt2Tokenizer, {}};
}

std::string config_json_of(const config::GptSizes& sizes) {
  return nlohmann::json{{"n_layer", sizes.n_layer}, {"n_head", sizes.n_head},
                        {"n_embd", sizes.n_embd},   {"block_size", sizes.block_size},
                        {"bias", sizes.bias},       {"vocab_size", sizes.vocab_size},
                        {"gelu", sizes.gelu},       {"dropout", sizes.dropout}}
      .dump();
}

void fill(const Source& source, const checkpoint::CheckpointTensors& wanted) {
  for (const checkpoint::NamedTensor& tensor : wanted.weights) check_wanted(source, tensor);
  if (source.has_optimizer) {
    for (const checkpoint::NamedTensor& tensor : wanted.optimizer) check_wanted(source, tensor);
  }
  for (const checkpoint::NamedTensor& tensor : wanted.weights) {
    fill_tensor(source.tensor(tensor.name), tensor, *wanted.bytes);
  }
  for (const checkpoint::NamedTensor& tensor : wanted.optimizer) {
    if (source.has_optimizer) {
      fill_tensor(source.tensor(tensor.name), tensor, *wanted.bytes);
    } else {
      clear_tensor(tensor, *wanted.bytes);
    }
  }
}

std::vector<float> read_whole(const Source& source, const std::string& parameter) {
  const StoredTensor& tensor = source.tensor(parameter);
  std::vector<float> values(static_cast<std::size_t>(tensor.element_count()));
  tensor.read(0, values);
  return values;
}

}  // namespace snug::formats
