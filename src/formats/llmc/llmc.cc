#include "formats/llmc/llmc.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/integers.h"
#include "formats/float_bits.h"
#include "formats/publish.h"

namespace snug::formats::llmc {
namespace {

constexpr std::int32_t kMagic = 20240326, kVersionF32 = 3, kVersionBf16 = 5;
constexpr std::int64_t kPadding = 128;  // llm.c pads the vocabulary to a multiple of it
using Header = std::array<std::int32_t, 256>;

// A tensor's place in the file: those of all layers lie one after the other.
struct Part {
  std::string name;  // of gpt2/spec.h, without a layer's number
  bool in_layers;
  Shape shape;  // as Snug has it; the token embedding's without the padding
};

std::vector<Part> parts_of(const config::GptSizes& sizes) {
  const std::int64_t C = sizes.n_embd;
  std::vector<Part> parts = {{"wte.weight", false, {sizes.vocab_size, C}},
                             {"wpe.weight", false, {sizes.block_size, C}}};
  const auto add = [&](const char* name, bool in_layers, const Shape& weight, std::int64_t out) {
    parts.push_back({fmt::format("{}.weight", name), in_layers, weight});
    parts.push_back({fmt::format("{}.bias", name), in_layers, {out}});
  };
  add("ln_1", true, {C}, C);
  add("attn.c_attn", true, {3 * C, C}, 3 * C);
  add("attn.c_proj", true, {C, C}, C);
  add("ln_2", true, {C}, C);
  add("mlp.c_fc", true, {4 * C, C}, 4 * C);
  add("mlp.c_proj", true, {C, 4 * C}, C);
  add("ln_f", false, {C}, C);
  return parts;
}

std::string full_name(const Part& part, std::int64_t layer) {
  return part.in_layers ? fmt::format("transformer.h.{}.{}", layer, part.name)
                        : fmt::format("transformer.{}", part.name);
}

Header read_header(const FileBytes& file) {
  Header header{};
  if (file.byte_count() < static_cast<std::int64_t>(sizeof header)) {
    throw DataError(fmt::format("{} is too short for a model of llm.c: {} bytes", file.name(),
                                file.byte_count()));
  }
  file.read(0, std::as_writable_bytes(std::span(header)));
  return header;
}

config::GptSizes sizes_of(const Header& header, const std::string& name) {
  config::GptSizes sizes;
  sizes.block_size = header[2];
  sizes.vocab_size = header[3];
  sizes.n_layer = header[4];
  sizes.n_head = header[5];
  sizes.n_embd = header[6];
  sizes.bias = true;
  sizes.gelu = "tanh";
  check_sizes(sizes, name);
  if (header[7] < header[3] || header[7] > (1 << 20)) {
    throw DataError(fmt::format("{}: a vocabulary of {} is padded to {}: the file is damaged", name,
                                header[3], header[7]));
  }
  return sizes;
}

class LlmcWriter {
 public:
  LlmcWriter(const Source& source, const checkpoint::Path& path, DType dtype)
      : source_(source), dtype_(dtype), file_(file_system_, path) {}

  void write() {
    const config::GptSizes& sizes = source_.sizes;
    const std::int64_t padded = round_up(sizes.vocab_size, kPadding);
    Header header{};
    header[0] = kMagic;
    header[1] = dtype_ == DType::kBF16 ? kVersionBf16 : kVersionF32;
    const std::array<std::int64_t, 6> numbers = {sizes.block_size, sizes.vocab_size, sizes.n_layer,
                                                 sizes.n_head,     sizes.n_embd,     padded};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      header[i + 2] = static_cast<std::int32_t>(numbers[i]);
    }
    file_.write(std::as_bytes(std::span(header)));
    for (const Part& part : parts_of(sizes)) {
      const std::int64_t layers = part.in_layers ? sizes.n_layer : 1;
      for (std::int64_t layer = 0; layer < layers; ++layer) write_part(part, layer);
      if (part.name == "wte.weight") write_zeros((padded - sizes.vocab_size) * sizes.n_embd);
    }
    file_.finish();
  }

 private:
  void write_part(const Part& part, std::int64_t layer) {
    if (part.name.ends_with(".bias") && !source_.sizes.bias) {
      return write_zeros(part.shape.element_count());
    }
    const StoredTensor& tensor = source_.tensor(full_name(part, layer));
    std::vector<float> values;
    for (std::int64_t first = 0; first < tensor.element_count(); first += kPieceElements) {
      values.resize(
          static_cast<std::size_t>(std::min(kPieceElements, tensor.element_count() - first)));
      tensor.read(first, values);
      write_values(values);
    }
  }

  void write_zeros(std::int64_t count) {
    for (; count > 0; count -= kPieceElements) {
      write_values(std::vector<float>(static_cast<std::size_t>(std::min(kPieceElements, count))));
    }
  }

  void write_values(const std::vector<float>& values) {
    if (dtype_ != DType::kBF16) return file_.write(std::as_bytes(std::span(values)));
    std::vector<std::uint16_t> rounded;
    for (const float value : values) rounded.push_back(to_bfloat16(value));
    file_.write(std::as_bytes(std::span(rounded)));
  }

  static constexpr std::int64_t kPieceElements = 1 << 18;

  const Source& source_;
  const DType dtype_;
  checkpoint::FileSystem file_system_;
  checkpoint::OutputFile file_;
};

}  // namespace

bool is_llmc(const checkpoint::Path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::int32_t magic = 0;
  InputFile(path).read_at(0, std::as_writable_bytes(std::span(&magic, 1)));
  return magic == kMagic;
}

Source open_llmc(const checkpoint::Path& path) {
  auto file = std::make_unique<FileBytes>(path);
  const Header header = read_header(*file);
  if (header[0] != kMagic || (header[1] != kVersionF32 && header[1] != kVersionBf16)) {
    throw DataError(
        fmt::format("{}: a model of llm.c in version {} is not read\nversion 3 (float32) "
                    "or 5 (bfloat16) was wanted: write it again with train_gpt2.py",
                    file->name(), header[1]));
  }
  Source source;
  source.name = file->name();
  source.sizes = sizes_of(header, source.name);
  const DType dtype = header[1] == kVersionBf16 ? DType::kBF16 : DType::kF32;
  std::int64_t offset = sizeof header;
  for (const Part& part : parts_of(source.sizes)) {
    const std::int64_t layers = part.in_layers ? source.sizes.n_layer : 1;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      source.tensors[full_name(part, layer)] = {.bytes = file.get(),
                                                .offset = offset,
                                                .dtype = dtype,
                                                .shape = part.shape,
                                                .transposed = false};
      offset += part.shape.element_count() * size_of(dtype);
    }
    if (part.name == "wte.weight") {
      offset += (header[7] - header[3]) * source.sizes.n_embd * size_of(dtype);
    }
  }
  if (offset != file->byte_count()) {
    throw DataError(
        fmt::format("{} is {} bytes long\nits header asks for {}: it is cut off or "
                    "damaged",
                    source.name, file->byte_count(), offset));
  }
  source.state.config_json = config_json_of(source.sizes);
  source.state.records.tokenizer = gpt2_by_size(source.sizes.vocab_size);
  source.files.push_back(std::move(file));
  check_complete(source);
  return source;
}

void write_llmc(const Source& source, const checkpoint::Path& to, const WriteOptions& options) {
  if (options.dtype == DType::kF16) {
    throw ConfigError("llm.c has float32 and bfloat16 models, no float16: --dtype=bfloat16");
  }
  Partial partial(to);
  LlmcWriter(source, partial.path(), options.dtype).write();
  partial.publish();
}

}  // namespace snug::formats::llmc
