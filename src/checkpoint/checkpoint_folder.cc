#include "checkpoint/checkpoint_folder.h"

#include <fmt/format.h>

#include <string>

#include "base/input_file.h"

namespace snug::checkpoint {
namespace {

constexpr std::int64_t kBookkeepingBytes = kMiB;  // state.json, folders, rounding to blocks

std::vector<TensorLabel> labels_of(std::span<const NamedTensor> tensors) {
  std::vector<TensorLabel> labels;
  for (const NamedTensor& tensor : tensors) labels.push_back(label_of(tensor));
  return labels;
}

void require_size(FileSystem& file_system, const Path& path, const FileDigest& digest) {
  const std::int64_t byte_count = file_system.open_file(path)->byte_count();
  if (byte_count == digest.byte_count) return;
  throw DataError(fmt::format("{}: is {} bytes long, but {} were saved", path.string(), byte_count,
                              digest.byte_count));
}

// The result of the call; a file that is wrong makes the checkpoint corrupt, one that cannot be
// read makes it unreadable.
template <typename Call>
auto or_unusable(Call call) {
  try {
    return call();
  } catch (const DataError& error) {
    throw CorruptCheckpoint(error.what());
  } catch (const DeviceError& error) {
    throw UnreadableCheckpoint(error.what());
  }
}

}  // namespace

std::int64_t checkpoint_bytes(const CheckpointTensors& tensors) {
  const std::int64_t tensor_bytes =
      checked_add(safetensors_bytes(tensors.weights), safetensors_bytes(tensors.optimizer));
  return checked_add(tensor_bytes, kBookkeepingBytes);
}

void write_checkpoint(FileSystem& file_system, const Path& folder, const TrainingState& state,
                      std::int64_t save_number, const CheckpointTensors& tensors) {
  Manifest manifest;
  manifest.state = state;
  manifest.save_number = save_number;
  manifest.weights = labels_of(tensors.weights);
  manifest.optimizer = labels_of(tensors.optimizer);
  manifest.model_file =
      write_safetensors(file_system, folder / kModelFile, tensors.weights, *tensors.bytes);
  manifest.optimizer_file =
      write_safetensors(file_system, folder / kOptimizerFile, tensors.optimizer, *tensors.bytes);
  const std::string text = to_json(manifest);
  OutputFile file(file_system, folder / kStateFile);
  file.write(std::as_bytes(std::span(text)));
  file.finish();
  file_system.sync_folder(folder);
}

Manifest read_manifest(FileSystem& file_system, const Path& folder, Parts parts) {
  return or_unusable([&] {
    const Path state_file = folder / kStateFile;
    const std::string text = read_whole_file(*file_system.open_file(state_file), kManifestMaxBytes);
    Manifest manifest = parse_manifest(text, state_file);
    require_size(file_system, folder / kModelFile, manifest.model_file);
    if (parts == Parts::kWeightsAndOptimizer) {
      require_size(file_system, folder / kOptimizerFile, manifest.optimizer_file);
    }
    return manifest;
  });
}

void read_checkpoint(FileSystem& file_system, const Path& folder, const Manifest& manifest,
                     const CheckpointTensors& tensors) {
  // The labels in state.json are covered by its checksum, so a difference is the caller's wish and
  // not damage; what differs after this is damage.
  require_same_tensors(manifest.weights, tensors.weights, folder);
  const bool with_optimizer = !tensors.optimizer.empty();
  if (with_optimizer) require_same_tensors(manifest.optimizer, tensors.optimizer, folder);
  or_unusable([&] {
    SafetensorsReader(file_system.open_file(folder / kModelFile))
        .read_all(tensors.weights, *tensors.bytes, manifest.model_file.checksum);
    if (!with_optimizer) return;
    SafetensorsReader(file_system.open_file(folder / kOptimizerFile))
        .read_all(tensors.optimizer, *tensors.bytes, manifest.optimizer_file.checksum);
  });
}

}  // namespace snug::checkpoint
