// What has no frames: the backward pass allocates from C++, and what was made before recording
// began has none either. Told from sizes, and from how long it stays.
#pragma once

#include <cstdint>
#include <vector>

#include "doctor/snapshot/names.h"

namespace snug::doctor::snapshot {

// A live block without frames, and what is known of it.
struct Unrecorded {
  std::uint32_t block = 0;
  std::int64_t bytes = 0;
  bool is_older = false;  // than the record
  Name name;
};

// How many of each size frames have named already.
struct NamedSizes {
  SizeCounts weights, gradients, optimizer;
};

// `parameters` of the model, by size: those of the weights that frames show, else of its sizes.
void name_states(const SizeCounts& parameters, const NamedSizes& named, bool has_frames,
                 std::vector<Unrecorded>& blocks);

// Where nothing has frames: all blocks, in the order of their addresses, by what such a run holds
// then, in the order of allocation. False, and nothing is named: that explains too little of them.
bool name_by_moment(const ModelSizes& sizes, const SizeCounts& held,
                    std::vector<Unrecorded>& blocks);

// Names what is left by the tensors that a run of `sizes` holds at the moment that looks most like
// `held` (all live blocks, by size).
void name_by_model(const ModelSizes& sizes, const SizeCounts& held,
                   std::vector<Unrecorded>& blocks);

}  // namespace snug::doctor::snapshot
