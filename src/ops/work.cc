// The arithmetic of products and attention, and the traffic of ops that do not go once through each
// of their operands.
#include "ops/op.h"

namespace snug::ops {
namespace {

// Multiplications and additions over `rows` rows.
double product(const Shapes& shapes, double rows, TensorId in, TensorId out) {
  return 2 * rows * static_cast<double>(shapes.width(in)) * static_cast<double>(shapes.width(out));
}

double all_rows(const Shapes& shapes) { return static_cast<double>(shapes.row_count()); }

// Scores and their use are each 2 T C per row, half of it under the causal mask.
double attention_forward(const Shapes& shapes, TensorId qkv) {
  const double C = static_cast<double>(shapes.width(qkv)) / 3;
  return 2 * all_rows(shapes) * static_cast<double>(shapes.block_size) * C;
}

}  // namespace

// Tables are looked up row by row, not gone through whole.
double Embed::traffic(const Shapes& shapes) const { return 3 * shapes.bytes(x); }
double EmbedBackward::traffic(const Shapes& shapes) const { return 5 * shapes.bytes(dx); }
double MergeEmbedRows::traffic(const Shapes& shapes) const { return 3 * shapes.bytes(rows); }

// The parameters' gradients are a row each: counted once.
double LayerNormBackward::traffic(const Shapes& shapes) const {
  double bytes = 2 * shapes.bytes(dx) + shapes.bytes(dgamma) + shapes.bytes(dbeta);
  for (const TensorId id : {dy.id, x.id, gamma.id, mean.id, rstd.id}) bytes += shapes.bytes(id);
  return bytes;
}

double Linear::arithmetic(const Shapes& shapes) const {
  return product(shapes, row_from_context ? 1 : all_rows(shapes), x, y);
}
double LinearDx::arithmetic(const Shapes& shapes) const {
  return product(shapes, all_rows(shapes), dy, dx);
}
double LinearDw::arithmetic(const Shapes& shapes) const {
  return product(shapes, all_rows(shapes), x, dy);
}
double LinearDw::traffic(const Shapes& shapes) const {
  return shapes.bytes(dy) + shapes.bytes(x) + 2 * shapes.bytes(dweight) + shapes.bytes(dbias);
}

double Attention::arithmetic(const Shapes& shapes) const { return attention_forward(shapes, qkv); }
// The scores are made again, and there are four products more.
double AttentionBackward::arithmetic(const Shapes& shapes) const {
  return 2.5 * attention_forward(shapes, qkv);
}

}  // namespace snug::ops
