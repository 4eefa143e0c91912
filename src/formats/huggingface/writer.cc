#include <algorithm>
#include <optional>

#include "checkpoint/safetensors.h"
#include "formats/huggingface/huggingface.h"
#include "formats/huggingface/model_config.h"
#include "formats/huggingface/tokenizer_files.h"
#include "formats/publish.h"

namespace snug::formats::huggingface {
namespace {

// The source's tensors as the format has them, made one at a time: the memory is that of the
// largest matrix of a layer.
class ConvertedTensors : public TensorBytes {
 public:
  explicit ConvertedTensors(const Source& source) : source_(source) {
    for (const model::ParameterSpec& parameter : source.model_with_biases().parameters) {
      const bool turned = is_conv1d(parameter.name);
      const Shape shape = turned ? Shape{parameter.shape[1], parameter.shape[0]} : parameter.shape;
      const auto id = static_cast<std::int32_t>(list_.size());
      list_.push_back({parameter.name, DType::kF32, shape, id});
    }
  }

  std::span<const checkpoint::NamedTensor> list() const { return list_; }

  std::span<const std::byte> get(std::int32_t id, std::int64_t offset,
                                 std::int64_t byte_count) override {
    const checkpoint::NamedTensor& wanted = list_[static_cast<std::size_t>(id)];
    const auto first = offset / size_of(DType::kF32);
    const auto count = static_cast<std::size_t>(byte_count / size_of(DType::kF32));
    if (is_conv1d(wanted.name)) {
      hold_turned(id);
      return std::as_bytes(std::span(turned_))
          .subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(byte_count));
    }
    piece_.assign(count, 0.0f);
    const bool absent = wanted.name.ends_with(".bias") && !source_.sizes.bias;
    if (!absent) source_.tensor(wanted.name).read(first, piece_);
    return std::as_bytes(std::span(piece_));
  }

  void put(std::int32_t, std::int64_t, std::int64_t, const Fill&) override {}

 private:
  void hold_turned(std::int32_t id) {
    if (held_ == id) return;
    const checkpoint::NamedTensor& wanted = list_[static_cast<std::size_t>(id)];
    const StoredTensor stored = transposed(source_.tensor(wanted.name));
    turned_.resize(static_cast<std::size_t>(stored.element_count()));
    if (stored.transposed) {  // row by row in the file: read as it is, then turned here
      std::vector<float> rows(turned_.size());
      source_.tensor(wanted.name).read(0, rows);
      const auto in = static_cast<std::size_t>(wanted.shape[0]),
                 out = static_cast<std::size_t>(wanted.shape[1]);
      for (std::size_t o = 0; o < out; ++o) {
        for (std::size_t i = 0; i < in; ++i) turned_[i * out + o] = rows[o * in + i];
      }
    } else {
      stored.read(0, turned_);
    }
    held_ = id;
  }

  const Source& source_;
  std::vector<checkpoint::NamedTensor> list_;
  std::vector<float> piece_, turned_;
  std::int32_t held_ = -1;
};

}  // namespace

void write_huggingface(const Source& source, const checkpoint::Path& to, const WriteOptions&) {
  PartialFolder folder(to);
  checkpoint::FileSystem file_system;
  const std::int64_t end_of_text = write_tokenizer_files(source, folder.path());
  write_text(folder.path() / "config.json", make_model_config(source.sizes, end_of_text));
  write_text(folder.path() / "generation_config.json", make_generation_config(end_of_text));
  ConvertedTensors tensors(source);
  checkpoint::write_safetensors(file_system, folder.path() / "model.safetensors", tensors.list(),
                                tensors);
  folder.publish();
}

}  // namespace snug::formats::huggingface
