// What every live block and every recorded allocation is: a role, a tensor, a layer.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "doctor/snapshot/model_file.h"
#include "doctor/snapshot/places.h"
#include "doctor/snapshot/sizes.h"
#include "doctor/snapshot/snapshot.h"

namespace snug::doctor::snapshot {

enum class Role : std::uint8_t {
  kWeights,
  kOptimizer,
  kGradients,
  kWeightCopies,  // autocast's, in 16 bits
  kActivations,   // of the forward pass
  kLogits,        // tensors as wide as the vocabulary
  kInputs,
  kTemporary,  // of the backward pass: gradients of activations, scratch
  kWorkspace,  // cuBLAS's
  kCommunication,
  kLoaded,  // what torch.load() put on the card
  kUnknown,
};
constexpr std::size_t kRoleCount = static_cast<std::size_t>(Role::kUnknown) + 1;
std::string_view name_of(Role role) noexcept;  // "weights", as in JSON

// How it is known.
enum class Source : std::uint8_t { kFrames, kSize, kNothing };
std::string_view name_of(Source source) noexcept;

struct Name {
  Role role = Role::kUnknown;
  Source source = Source::kNothing;
  std::string_view label;   // as in the model of doctor/torch; empty: only a place in the code
  std::int32_t layer = -1;  // -1: not of a block, or not known
  std::uint32_t frame = kNoFrame;  // of the user's code
  Part part = Part::kNone;
  bool evaluates = false;

  auto operator<=>(const Name&) const = default;
};

struct Names {
  std::vector<Name> table;
  std::vector<std::uint32_t> blocks;  // in `table`, by Snapshot::blocks; free ones: 0
  std::vector<std::uint32_t> lives;   // by Trace::lives

  const Name& of_block(std::size_t block) const { return table[blocks[block]]; }
  const Name& of_life(std::size_t life) const { return table[lives[life]]; }
};

struct InferredModel {
  std::vector<Place> places;
  ModelFile model;
  ModelSizes sizes;  // inferred; what it leaves open may come from a config
};

InferredModel infer_model(const Snapshot& snapshot);
Names name_all(const Snapshot& snapshot, const InferredModel& inferred);

// What one call's frames and size say, without its neighbours; the layer is left open.
Name name_by_frames(const Place& place, Part part, const ModelSizes& sizes, std::int64_t bytes);

}  // namespace snug::doctor::snapshot
