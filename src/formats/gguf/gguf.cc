#include "formats/gguf/gguf.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/float_bits.h"
#include "formats/gguf/metadata.h"
#include "formats/gguf/vocabulary.h"
#include "formats/publish.h"

namespace snug::formats::gguf {
namespace {

constexpr std::uint32_t kVersion = 3;
constexpr std::int64_t kAlignment = 32;
constexpr std::int64_t kPieceElements = 1 << 18;

struct TypeNumbers {
  DType dtype;
  std::uint32_t tensor;  // ggml's number of the type
  std::uint32_t file;    // general.file_type of a file that has mostly it
};
constexpr TypeNumbers kTypes[] = {{DType::kF32, 0, 0}, {DType::kF16, 1, 1}, {DType::kBF16, 30, 32}};

const TypeNumbers& numbers_of(DType dtype) {
  const auto at = std::find_if(std::begin(kTypes), std::end(kTypes),
                               [&](const TypeNumbers& type) { return type.dtype == dtype; });
  return at == std::end(kTypes) ? kTypes[0] : *at;
}

// llama.cpp's name of a parameter.
std::string gguf_name(std::string_view parameter) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"transformer.wte.", "token_embd."},
      {"transformer.wpe.", "position_embd."},
      {"transformer.ln_f.", "output_norm."},
      {"transformer.h.", "blk."},
      {"ln_1.", "attn_norm."},
      {"attn.c_attn.", "attn_qkv."},
      {"attn.c_proj.", "attn_output."},
      {"ln_2.", "ffn_norm."},
      {"mlp.c_fc.", "ffn_up."},
      {"mlp.c_proj.", "ffn_down."}};
  std::string name(parameter);
  for (const auto& [ours, theirs] : kNames) {
    if (const std::size_t at = name.find(ours); at != name.npos) {
      name.replace(at, ours.size(), theirs);
    }
  }
  return name;
}

struct Placed {
  model::ParameterSpec parameter;
  DType dtype;
  std::int64_t offset;

  std::int64_t byte_count() const { return parameter.shape.element_count() * size_of(dtype); }
};

class GgufWriter {
 public:
  GgufWriter(const Source& source, const checkpoint::Path& path, DType dtype)
      : source_(source), dtype_(dtype), file_(file_system_, path) {}

  void write() {
    place_tensors();
    std::string head = "GGUF";
    const GgufMetadata metadata = make_metadata();
    append_number(head, kVersion);
    append_number(head, static_cast<std::uint64_t>(placed_.size()));
    append_number(head, metadata.count());
    head += metadata.bytes();
    for (const Placed& tensor : placed_) append_info(head, tensor);
    pad(head);
    file_.write(std::as_bytes(std::span(head)));
    for (const Placed& tensor : placed_) write_tensor(tensor);
    file_.finish();
  }

 private:
  void place_tensors() {
    std::int64_t offset = 0;  // llama.cpp's gpt2 wants biases
    for (const model::ParameterSpec& parameter : source_.model_with_biases().parameters) {
      const bool exact = parameter.shape.rank() < 2 || parameter.name == "transformer.wpe.weight";
      placed_.push_back({parameter, exact ? DType::kF32 : dtype_, offset});
      offset = align_up(offset + placed_.back().byte_count(), kAlignment);
    }
  }

  GgufMetadata make_metadata() const {
    const config::GptSizes& sizes = source_.sizes;
    const auto whole = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
    GgufMetadata metadata;
    metadata.text("general.architecture", "gpt2");
    metadata.text("general.name", "gpt2");
    metadata.number("general.file_type", numbers_of(dtype_).file);
    metadata.number("general.alignment", whole(kAlignment));
    metadata.number("gpt2.context_length", whole(sizes.block_size));
    metadata.number("gpt2.embedding_length", whole(sizes.n_embd));
    metadata.number("gpt2.feed_forward_length", whole(4 * sizes.n_embd));
    metadata.number("gpt2.block_count", whole(sizes.n_layer));
    metadata.number("gpt2.attention.head_count", whole(sizes.n_head));
    metadata.real("gpt2.attention.layer_norm_epsilon", 1e-5f);
    add_vocabulary(source_, metadata);
    return metadata;
  }

  static void append_info(std::string& head, const Placed& tensor) {
    const Shape& shape = tensor.parameter.shape;
    append_text(head, gguf_name(tensor.parameter.name));
    append_number(head, static_cast<std::uint32_t>(shape.rank()));
    for (int axis = shape.rank(); axis-- > 0;) {  // the fastest dimension first
      append_number(head, static_cast<std::uint64_t>(shape[axis]));
    }
    append_number(head, numbers_of(tensor.dtype).tensor);
    append_number(head, static_cast<std::uint64_t>(tensor.offset));
  }

  static void pad(std::string& bytes) {
    const std::int64_t wanted = align_up(std::ssize(bytes), kAlignment);
    bytes.resize(static_cast<std::size_t>(wanted), '\0');
  }

  void write_tensor(const Placed& placed) {
    const std::int64_t count = placed.parameter.shape.element_count();
    const bool absent = placed.parameter.name.ends_with(".bias") && !source_.sizes.bias;
    std::vector<float> values;
    for (std::int64_t first = 0; first < count; first += kPieceElements) {
      values.assign(static_cast<std::size_t>(std::min(kPieceElements, count - first)), 0.0f);
      if (!absent) source_.tensor(placed.parameter.name).read(first, values);
      write_values(values, placed.dtype);
    }
    const std::int64_t bytes = placed.byte_count();
    const std::string padding(static_cast<std::size_t>(align_up(bytes, kAlignment) - bytes), '\0');
    file_.write(std::as_bytes(std::span(padding)));
  }

  void write_values(const std::vector<float>& values, DType dtype) {
    if (dtype == DType::kF32) return file_.write(std::as_bytes(std::span(values)));
    std::vector<std::uint16_t> rounded;
    rounded.reserve(values.size());
    for (const float value : values) {
      rounded.push_back(dtype == DType::kBF16 ? to_bfloat16(value) : to_float16(value));
    }
    file_.write(std::as_bytes(std::span(rounded)));
  }

  const Source& source_;
  const DType dtype_;
  checkpoint::FileSystem file_system_;
  checkpoint::OutputFile file_;
  std::vector<Placed> placed_;
};

}  // namespace

void write_gguf(const Source& source, const checkpoint::Path& to, const WriteOptions& options) {
  Partial partial(to);
  GgufWriter(source, partial.path(), options.dtype).write();
  partial.publish();
}

}  // namespace snug::formats::gguf
