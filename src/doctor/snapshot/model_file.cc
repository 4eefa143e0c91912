#include "doctor/snapshot/model_file.h"

#include <map>
#include <set>

namespace snug::doctor::snapshot {
namespace {

// The calls below GPT.forward; a recomputed block is called by the backward pass instead.
std::vector<std::int64_t> path_of(const ModelFile& model, const Place& place) {
  std::vector<std::int64_t> path = place.lines;
  if (place.recomputes && !path.empty() && path.front() != model.block_line)
    path.insert(path.begin(), model.block_line);
  return path;
}

}  // namespace

// GPT.forward (line) calls a block, which (line) calls a module, which (line) calls a product. Of
// the lines of a block with products the first is attention's, the last the MLP's; of the lines of
// a module the first is the product that widens, the last the one that narrows.
ModelFile learn_model_file(const std::vector<Place>& places) {
  std::map<std::int64_t, std::map<std::int64_t, std::set<std::int64_t>>> products;
  bool has_embedding = false;
  for (const Place& place : places) {
    if (!place.in_forward || place.recomputes || place.compiled) continue;
    has_embedding = has_embedding || (place.op == Operator::kEmbedding && place.lines.size() == 1);
    if (place.op == Operator::kLinear && place.lines.size() == 3)
      products[place.lines[0]][place.lines[1]].insert(place.lines[2]);
  }
  ModelFile model;
  if (products.size() != 1) return model;
  model.block_line = products.begin()->first;
  const auto& branches = products.begin()->second;
  model.attention_line = branches.begin()->first;
  model.attention_in = *branches.begin()->second.begin();
  model.attention_out = *branches.begin()->second.rbegin();
  if (branches.size() > 2) return ModelFile{};
  if (branches.size() == 2) {
    model.mlp_line = branches.rbegin()->first;
    model.mlp_in = *branches.rbegin()->second.begin();
    model.mlp_out = *branches.rbegin()->second.rbegin();
  }
  model.is_gpt = has_embedding;
  return model;
}

int branch_of(const ModelFile& model, const Place& place) {
  const std::vector<std::int64_t> path = path_of(model, place);
  if (!model.is_gpt || path.size() < 2 || path[0] != model.block_line) return 0;
  // A block whose norms have lines of their own: what stands before the first product's line is
  // attention's.
  return model.mlp_line != 0 && path[1] > model.attention_line ? 2 : 1;
}

Part part_of(const ModelFile& model, const Place& place) {
  if (!model.is_gpt || place.lines.empty() || place.compiled) return Part::kNone;
  const std::vector<std::int64_t> path = path_of(model, place);
  const int branch = branch_of(model, place);
  if (branch == 0) {
    if (place.op == Operator::kLayerNorm) return Part::kFinalNorm;
    if (place.op == Operator::kCrossEntropy) return Part::kLoss;
    if (place.op == Operator::kLinear) return Part::kHead;
    if (place.op == Operator::kEmbedding) return Part::kEmbedding;
    return Part::kTop;
  }
  if (place.op == Operator::kLayerNorm) return branch == 1 ? Part::kNorm1 : Part::kNorm2;
  if (path.size() == 2) return branch == 1 ? Part::kAttentionSum : Part::kMlpSum;
  if (place.op != Operator::kLinear) return branch == 1 ? Part::kAttention : Part::kMlpMiddle;
  if (branch == 1) return path[2] == model.attention_in ? Part::kAttentionIn : Part::kAttentionOut;
  return path[2] == model.mlp_in ? Part::kMlpIn : Part::kMlpOut;
}

bool is_of_block(Part part) { return part >= Part::kAttentionSum && part <= Part::kMlpSum; }

}  // namespace snug::doctor::snapshot
