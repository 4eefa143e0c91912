#include "doctor/snapshot/names.h"

#include <algorithm>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>

#include "doctor/snapshot/layers.h"
#include "doctor/snapshot/unrecorded.h"

namespace snug::doctor::snapshot {
namespace {

// A gradient stays until the optimizer has used it; what backward only computes with goes within a
// few events.
constexpr std::uint32_t kShortLife = 64;

class NameTable {
 public:
  explicit NameTable(std::vector<Name>& table) : table_(table) { of(Name{}); }

  std::uint32_t of(const Name& name) {
    const auto [place, is_new] =
        known_.try_emplace(name, static_cast<std::uint32_t>(table_.size()));
    if (is_new) table_.push_back(name);
    return place->second;
  }

 private:
  std::vector<Name>& table_;
  std::map<Name, std::uint32_t> known_;
};

class Namer {
 public:
  Namer(const Snapshot& snapshot, const InferredModel& inferred)
      : snapshot_(snapshot), inferred_(inferred), table_(names_.table) {
    for (const Place& place : inferred.places) parts_.push_back(part_of(inferred.model, place));
  }

  Names run() {
    const std::vector<std::int32_t> layers = layers_of_lives();
    names_.blocks.assign(snapshot_.blocks.size(), 0);
    names_.lives.assign(snapshot_.trace.lives.size(), 0);
    for (std::size_t i = 0; i < snapshot_.trace.lives.size(); ++i) {
      const Life& life = snapshot_.trace.lives[i];
      if (life.stack != kNoStack) names_.lives[i] = table_.of(by_frames(life, layers[i]));
    }
    name_blocks(layers);
    name_silent_lives();
    return std::move(names_);
  }

 private:
  Name by_frames(const Life& life, std::int32_t layer) const {
    return by_frames(life.stack, life.bytes, layer);
  }

  Name by_frames(std::uint32_t stack, std::int64_t bytes, std::int32_t layer) const {
    Name name = name_by_frames(inferred_.places[stack], parts_[stack], inferred_.sizes, bytes);
    name.layer = layer;
    return name;
  }

  std::vector<std::int32_t> layers_of_lives() const {
    LayerCounter counter(inferred_.sizes.layers);
    for (const Life& life : snapshot_.trace.lives) {
      const Place& place = inferred_.places[life.stack];
      counter.add(parts_[life.stack], branch_of(inferred_.model, place), place.recomputes);
    }
    return counter.finish();
  }

  void name_blocks(const std::vector<std::int32_t>& layers) {
    NamedSizes named;
    SizeCounts held;
    std::vector<Unrecorded> unrecorded;
    for (const Segment& segment : snapshot_.segments) {
      for (std::uint32_t i = 0; i < segment.block_count; ++i) {
        const std::uint32_t index = segment.first_block + i;
        const Block& block = snapshot_.blocks[index];
        if (block.state == BlockState::kFree) continue;
        ++held[block.requested_bytes];
        if (block.stack == kNoStack) {
          unrecorded.push_back({index, block.requested_bytes, block.life == kNoLife, {}});
          continue;
        }
        const std::int32_t layer = block.life == kNoLife ? -1 : layers[block.life];
        const Name name = by_frames(block.stack, block.requested_bytes, layer);
        if (name.role == Role::kWeights) ++named.weights[block.requested_bytes];
        if (name.role == Role::kOptimizer) ++named.optimizer[block.requested_bytes];
        names_.blocks[index] = table_.of(name);
      }
    }
    const bool knows_sizes = inferred_.sizes.is_known();
    parameters_ = knows_sizes ? parameter_sizes(inferred_.sizes) : named.weights;
    if (snapshot_.has_frames() || !name_by_moment(inferred_.sizes, held, unrecorded)) {
      name_states(parameters_, named, snapshot_.has_frames(), unrecorded);
      name_by_model(inferred_.sizes, held, unrecorded);
    }
    name_resumed_state(named);
    for (const Unrecorded& block : unrecorded) {
      const std::uint32_t name = table_.of(block.name);
      names_.blocks[block.block] = name;
      const std::uint32_t life = snapshot_.blocks[block.block].life;
      if (life != kNoLife) names_.lives[life] = name;
    }
  }

  // A resumed optimizer keeps the tensors that torch.load() made, two for each parameter. They come
  // after the weights of the file, of which train.py holds on to a copy.
  void name_resumed_state(const NamedSizes& named) {
    std::map<std::int64_t, std::vector<std::size_t>> loaded;
    for (std::size_t i = 0; i < snapshot_.blocks.size(); ++i) {
      if (names_.of_block(i).role != Role::kLoaded) continue;
      loaded[snapshot_.blocks[i].requested_bytes].push_back(i);
    }
    for (auto& [bytes, blocks] : loaded) {
      const auto count = static_cast<std::int64_t>(blocks.size());
      const std::int64_t n = count_of(parameters_, bytes);
      if ((count != 2 * n && count != 3 * n) || named.optimizer.contains(bytes)) continue;
      std::stable_sort(blocks.begin(), blocks.end(), [&](std::size_t a, std::size_t b) {
        return snapshot_.blocks[a].life < snapshot_.blocks[b].life;
      });
      for (const std::size_t block : std::span(blocks).last(static_cast<std::size_t>(2 * n))) {
        Name name = names_.of_block(block);
        name.role = Role::kOptimizer;
        name.label = "AdamW state";
        names_.blocks[block] = table_.of(name);
        const std::uint32_t life = snapshot_.blocks[block].life;
        if (life != kNoLife) names_.lives[life] = names_.blocks[block];
      }
    }
  }

  // Lives that ended and have no frames: what others of their size are called, if that is one
  // thing; a parameter's size that stays is a gradient.
  void name_silent_lives() {
    const std::unordered_map<std::int64_t, Name> by_size = usual_names();
    for (std::size_t i = 0; i < snapshot_.trace.lives.size(); ++i) {
      const Life& life = snapshot_.trace.lives[i];
      if (life.stack != kNoStack || names_.lives[i] != 0) continue;
      Name name;
      name.source = Source::kSize;
      const auto usual = by_size.find(life.bytes);
      const bool stays = life.is_older || life.died - life.born > kShortLife;
      if (parameters_.contains(life.bytes) && stays) {
        name.role = Role::kGradients;
      } else if ((life.is_older || !snapshot_.has_frames()) && usual != by_size.end()) {
        name = usual->second;
      } else if (snapshot_.has_frames() && !life.is_older) {
        name.role = Role::kTemporary;
      } else {
        name.source = Source::kNothing;
      }
      names_.lives[i] = table_.of(name);
    }
  }

  std::unordered_map<std::int64_t, Name> usual_names() const {
    std::unordered_map<std::int64_t, Name> usual;
    const auto see = [&](std::int64_t bytes, Name name) {
      name.layer = -1;
      name.source = Source::kSize;
      name.frame = kNoFrame;
      if (name.role != Role::kUnknown && name.role != Role::kWeights)
        usual.try_emplace(bytes, name);
    };
    for (std::size_t i = 0; i < snapshot_.blocks.size(); ++i) {
      if (snapshot_.blocks[i].state != BlockState::kFree)
        see(snapshot_.blocks[i].requested_bytes, names_.of_block(i));
    }
    for (std::size_t i = 0; i < snapshot_.trace.lives.size(); ++i) {
      if (names_.lives[i] != 0) see(snapshot_.trace.lives[i].bytes, names_.of_life(i));
    }
    return usual;
  }

  const Snapshot& snapshot_;
  const InferredModel& inferred_;
  Names names_;
  NameTable table_;
  std::vector<Part> parts_;
  SizeCounts parameters_;
};

}  // namespace

InferredModel infer_model(const Snapshot& snapshot) {
  InferredModel inferred;
  inferred.places = places_of(snapshot);
  inferred.model = learn_model_file(inferred.places);
  inferred.sizes = infer_sizes(snapshot, inferred.places, inferred.model);
  return inferred;
}

Names name_all(const Snapshot& snapshot, const InferredModel& inferred) {
  return Namer(snapshot, inferred).run();
}

}  // namespace snug::doctor::snapshot
