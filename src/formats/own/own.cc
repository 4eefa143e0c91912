#include "formats/own/own.h"

#include <fmt/format.h>

#include "base/error.h"
#include "checkpoint/checkpoint_store.h"
#include "checkpoint/safetensors.h"
#include "config/config.h"
#include "formats/publish.h"

namespace snug::formats::own {
namespace {

namespace fs = std::filesystem;

// Pieces of the source, for the store to write.
class SourceBytes : public TensorBytes {
 public:
  explicit SourceBytes(const Source& source) : source_(source) {
    const model::ModelSpec model = source.model();
    for (const model::ParameterSpec& parameter : model.parameters) {
      add(parameter.name, parameter.shape, weights_);
    }
    for (const char* moment : {kFirstMoment, kSecondMoment}) {
      for (const model::ParameterSpec& parameter : model.parameters) {
        add(parameter.name + moment, parameter.shape, optimizer_);
      }
    }
  }

  checkpoint::CheckpointTensors tensors() { return {weights_, optimizer_, this}; }

  std::span<const std::byte> get(std::int32_t id, std::int64_t offset,
                                 std::int64_t byte_count) override {
    piece_.assign(static_cast<std::size_t>(byte_count / size_of(DType::kF32)), 0.0f);
    const std::string& name = names_[static_cast<std::size_t>(id)];
    const bool is_moment = static_cast<std::size_t>(id) >= weights_.size();
    if (source_.has_optimizer || !is_moment) {
      source_.tensor(name).read(offset / size_of(DType::kF32), piece_);
    }
    return std::as_bytes(std::span(piece_));
  }
  void put(std::int32_t, std::int64_t, std::int64_t, const Fill&) override {}

 private:
  void add(const std::string& name, const Shape& shape,
           std::vector<checkpoint::NamedTensor>& list) {
    list.push_back({name, DType::kF32, shape, static_cast<std::int32_t>(names_.size())});
    names_.push_back(name);
  }

  const Source& source_;
  std::vector<checkpoint::NamedTensor> weights_, optimizer_;
  std::vector<std::string> names_;
  std::vector<float> piece_;
};

std::optional<DType> float_type(const std::string& safetensors_dtype) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    if (checkpoint::safetensors_name(dtype) == safetensors_dtype) return dtype;
  }
  return std::nullopt;
}

void add_file(const checkpoint::Path& path, const checkpoint::FileDigest& digest, Source& source) {
  auto bytes = std::make_unique<FileBytes>(path);
  checkpoint::Checksum checksum;
  std::vector<std::byte> piece(static_cast<std::size_t>(TensorBytes::kMaxPieceBytes));
  for_each_piece(bytes->byte_count(), [&](std::int64_t at, std::int64_t count) {
    const auto part = std::span(piece).first(static_cast<std::size_t>(count));
    bytes->read(at, part);
    checksum.update(part);
  });
  if (bytes->byte_count() != digest.byte_count || checksum.value() != digest.checksum) {
    throw DataError(fmt::format("{}: the content has changed since it was saved", path.string()));
  }
  const checkpoint::SafetensorsReader reader(path);
  for (const checkpoint::SafetensorsEntry& entry : reader.entries()) {
    const std::optional<DType> dtype = float_type(entry.label.dtype);
    if (!dtype) continue;
    source.tensors[entry.label.name] = {.bytes = bytes.get(),
                                        .offset = reader.data_start() + entry.begin,
                                        .dtype = *dtype,
                                        .shape = entry.label.shape,
                                        .transposed = false};
  }
  source.files.push_back(std::move(bytes));
}

checkpoint::Path newest_in(const checkpoint::Path& out_dir, std::vector<std::string>& notices) {
  if (fs::exists(out_dir / checkpoint::kStateFile)) return out_dir;
  const auto found = checkpoint::CheckpointStore(out_dir, 1).peek();
  if (!found) throw DataError(fmt::format("{} holds no checkpoint", out_dir.string()));
  notices = found->warnings;
  return found->folder;
}

}  // namespace

bool is_own(const checkpoint::Path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return false;
  if (fs::exists(path / checkpoint::kStateFile, ignored)) return true;
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    if (entry.path().filename().string().starts_with("step-")) return true;
  }
  return false;
}

Source open_own(const checkpoint::Path& path) {
  Source source;
  source.name = path.string();
  const checkpoint::Path folder = newest_in(path, source.notices);
  checkpoint::FileSystem disk;
  const checkpoint::Manifest manifest =
      checkpoint::read_manifest(disk, folder, checkpoint::Parts::kWeightsAndOptimizer);
  source.state = manifest.state;
  const config::Config config = config::config_from_json(manifest.state.config_json);
  source.sizes = config;
  add_file(folder / checkpoint::kModelFile, manifest.model_file, source);
  add_file(folder / checkpoint::kOptimizerFile, manifest.optimizer_file, source);
  // Before the first update the moments are zeros.
  source.has_optimizer = !manifest.optimizer.empty() && source.state.iteration > 0;
  check_complete(source);
  return source;
}

void write_own(const Source& source, const checkpoint::Path& to, const WriteOptions&) {
  PartialFolder folder(to);
  SourceBytes bytes(source);
  checkpoint::CheckpointStore(folder.path(), 1).save(source.state, bytes.tensors(), true);
  folder.publish();
}

}  // namespace snug::formats::own
