// Which layer an allocation of a block is of: the frames of all layers are the same, so that only
// the order in time tells.
#pragma once

#include <cstdint>
#include <vector>

#include "doctor/snapshot/model_file.h"

namespace snug::doctor::snapshot {

// Told every allocation in order. Layers of a pass are counted from its beginning; of a pass whose
// beginning was not recorded from its end.
class LayerCounter {
 public:
  // `layers` of the model; 0: not known.
  explicit LayerCounter(std::int64_t layers) : layers_(layers) {}

  // The number of the allocation's layer so far, or -1; finish() may correct it.
  void add(Part part, int branch, bool recomputes);
  // By allocation, in the order of add().
  std::vector<std::int32_t> finish();

 private:
  void begin_pass();
  void end_pass();

  std::int64_t layers_;
  std::vector<std::int32_t> found_;
  std::size_t pass_begin_ = 0;
  std::int32_t layer_ = -1;
  int branch_ = 0;
  bool knows_begin_ = false;
};

}  // namespace snug::doctor::snapshot
