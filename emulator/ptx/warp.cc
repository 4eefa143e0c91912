// Barriers, shuffles, votes, ldmatrix and mma.
#include "cuda_shim/synchronisation.h"
#include "emulator/tensor_core.h"
#include "thread.h"

namespace emulator::ptx {
namespace {

constexpr Type kWord{'u', 32, false};

unsigned word(Thread& t, const Operand& operand) {
  return static_cast<unsigned>(t.get(operand, kWord));
}

void barrier(Thread& t, const Step& step) {
  const Instruction& in = *step.in;
  if (in.has("warp")) return warp_barrier(word(t, in.operands[0]), Site::current());
  if (in.has("red")) {  // bar.red.popc/and/or d, barrier, [!]p
    const int predicate = static_cast<int>(t.get(in.operands.back(), {'p', 1, false}) & 1);
    const bool all = in.has("and");
    const int count = block_count(all ? !predicate : predicate, Site::current());
    const bool counts = in.has("popc");
    return t.set(in.operands[0], static_cast<std::uint64_t>(counts ? count
                                                            : all  ? count == 0
                                                                   : count > 0));
  }
  block_barrier(Site::current());
}

// shfl.sync.mode.b32 d[|p], a, b, c, mask: c holds the segment's mask and the bound.
void shuffle_lanes(Thread& t, const Step& step) {
  const Instruction& in = *step.in;
  const std::size_t first = in.operands.size() - 4;  // of the sources
  const unsigned value = word(t, in.operands[first]), b = word(t, in.operands[first + 1]) & 31;
  const unsigned c = word(t, in.operands[first + 2]), mask = word(t, in.operands[first + 3]);
  const unsigned lane = lane_of_warp(), segment = c >> 8 & 31, bound = c & 31;
  const unsigned low = lane & segment, high = low | (bound & ~segment);
  unsigned source = lane;
  bool inside = true;
  if (in.has("up")) {
    inside = static_cast<int>(lane) - static_cast<int>(b) >= static_cast<int>(high);
    source = lane - b;
  } else if (in.has("down")) {
    inside = lane + b <= high;
    source = lane + b;
  } else if (in.has("bfly")) {
    inside = (lane ^ b) <= high;
    source = lane ^ b;
  } else {
    inside = (low | (b & ~segment)) <= high;
    source = low | (b & ~segment);
  }
  if (!inside) source = lane;
  t.set(in.operands[0], shuffle(mask, value, static_cast<int>(source), "shfl", Site::current()));
  if (first == 2) t.set(in.operands[1], inside);
}

void vote_lanes(Thread& t, const Step& step) {
  const Instruction& in = *step.in;
  const int predicate = static_cast<int>(t.get(in.operands[1], {'p', 1, false}) & 1);
  const unsigned mask = word(t, in.operands[2]);
  const bool all = in.has("all");
  const unsigned ballot = vote(mask, all ? !predicate : predicate, "vote", Site::current());
  t.set(in.operands[0], in.has("ballot") ? ballot : all ? ballot == 0 : ballot != 0);
}

void active(Thread& t, const Step& step) { t.set(step.in->operands[0], active_lanes()); }

void load_fragments(Thread& t, const Step& step) {
  const Operand& to = step.in->operands[0];
  unsigned registers[4] = {};
  const auto count = static_cast<unsigned>(to.parts.size());
  load_matrices(registers, count, t.address(step.in->operands[1], *step.in), step.in->has("trans"),
                Site::current());
  for (unsigned i = 0; i < count; ++i) t.set(to.parts[i], registers[i]);
}

// mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a, b, c, with any of them a vector
void multiply_fragments(Thread& t, const Step& step) {
  const Instruction& in = *step.in;
  const auto read = [&](const Operand& operand, unsigned* into) {
    for (std::size_t i = 0; i < operand.parts.size(); ++i) into[i] = word(t, operand.parts[i]);
  };
  unsigned a[4] = {}, b[2] = {}, c[4] = {};
  read(in.operands[1], a);
  read(in.operands[2], b);
  read(in.operands[3], c);
  float d[4];
  std::memcpy(d, c, sizeof d);
  if (!in.has("row") || !in.has("col")) throw std::runtime_error("mma: " + in.text);
  multiply_matrices(d, a, b, in.has("m16n8k16") ? 16 : 8, in.has("bf16"), Site::current());
  for (std::size_t i = 0; i < 4; ++i) {
    t.set(in.operands[0].parts[i], std::bit_cast<std::uint32_t>(d[i]));
  }
}

void trap(Thread&, const Step& step) { throw std::runtime_error("trap: " + step.in->text); }

}  // namespace

const std::map<std::string, Handler>& warp_handlers() {
  static const std::map<std::string, Handler> handlers = {{"bar", barrier},
                                                          {"barrier", barrier},
                                                          {"shfl", shuffle_lanes},
                                                          {"vote", vote_lanes},
                                                          {"activemask", active},
                                                          {"ldmatrix", load_fragments},
                                                          {"mma", multiply_fragments},
                                                          {"trap", trap}};
  return handlers;
}

}  // namespace emulator::ptx
