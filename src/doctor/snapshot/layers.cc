#include "doctor/snapshot/layers.h"

namespace snug::doctor::snapshot {

void LayerCounter::begin_pass() {
  pass_begin_ = found_.size();
  layer_ = -1;
  branch_ = 0;
  knows_begin_ = true;
}

// The last layer was just left: what was counted from a later one than the first is moved up.
void LayerCounter::end_pass() {
  if (!knows_begin_ && layers_ > 0 && layer_ >= 0 && layer_ < layers_) {
    const auto shift = static_cast<std::int32_t>(layers_ - 1) - layer_;
    for (std::size_t i = pass_begin_; i < found_.size(); ++i) {
      if (found_[i] >= 0) found_[i] += shift;
    }
  }
  pass_begin_ = found_.size();
  layer_ = -1;
  branch_ = 0;
  knows_begin_ = false;
}

void LayerCounter::add(Part part, int branch, bool recomputes) {
  std::int32_t layer = -1;
  if (part == Part::kEmbedding) {
    if (layer_ >= 0 || !knows_begin_) begin_pass();
  } else if (part == Part::kFinalNorm || part == Part::kHead || part == Part::kLoss) {
    if (layer_ >= 0) end_pass();
  } else if (is_of_block(part) && !recomputes) {
    if (branch < branch_ || layer_ < 0) ++layer_;
    branch_ = branch;
    layer = layer_;
  }
  found_.push_back(layer);
}

// A pass of which neither end was recorded tells no layers.
std::vector<std::int32_t> LayerCounter::finish() {
  if (!knows_begin_) {
    for (std::size_t i = pass_begin_; i < found_.size(); ++i) found_[i] = -1;
  }
  for (std::int32_t& layer : found_) {
    if (layers_ > 0 && layer >= layers_) layer = -1;
  }
  return std::move(found_);
}

}  // namespace snug::doctor::snapshot
