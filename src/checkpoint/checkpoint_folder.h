// One checkpoint: a folder of model.safetensors, optimizer.safetensors and state.json. Which
// folders there are and which one counts is decided by CheckpointStore.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "checkpoint/manifest.h"
#include "checkpoint/safetensors.h"

namespace snug::checkpoint {

constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kOptimizerFile = "optimizer.safetensors";
constexpr const char* kStateFile = "state.json";
inline constexpr std::array kCheckpointFiles = {kModelFile, kOptimizerFile, kStateFile};

// Which part of a checkpoint is wanted: sampling needs the weights only.
enum class Parts { kWeights, kWeightsAndOptimizer };

// The folder is not what was saved: incomplete or corrupted. An older one may be usable.
struct CorruptCheckpoint : DataError {
  using DataError::DataError;
};

// The system could not read it now (an I/O error, no permission): nothing is known of its content.
struct UnreadableCheckpoint : DeviceError {
  using DeviceError::DeviceError;
};

// The tensors of a checkpoint, the caller's. They must not change during a call.
struct CheckpointTensors {
  std::span<const NamedTensor> weights;
  std::span<const NamedTensor> optimizer;
  TensorBytes* bytes = nullptr;  // not needed where only names, dtypes and shapes count
};

// The disk space a checkpoint takes, rounded up by at most 1 MiB for what is not tensors.
std::int64_t checkpoint_bytes(const CheckpointTensors& tensors);

// Fills the folder, which exists and is empty, and makes it durable, state.json last.
void write_checkpoint(FileSystem& file_system, const Path& folder, const TrainingState& state,
                      std::int64_t save_number, const CheckpointTensors& tensors);

// Reads state.json and compares the sizes of the wanted files with it, but not their content.
// Throws CorruptCheckpoint or UnreadableCheckpoint.
Manifest read_manifest(FileSystem& file_system, const Path& folder, Parts parts);

// Fills the weights, and the optimizer unless it is empty. Throws DataError, before a byte of a
// tensor changes, when the tensors saved are not those wanted; CorruptCheckpoint, with the tensors
// in any state, when the files are not those that `manifest` tells of; UnreadableCheckpoint.
void read_checkpoint(FileSystem& file_system, const Path& folder, const Manifest& manifest,
                     const CheckpointTensors& tensors);

}  // namespace snug::checkpoint
