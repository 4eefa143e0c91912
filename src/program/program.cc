#include "program/program.h"

#include <fmt/format.h>

#include "base/error.h"

namespace snug::program {

std::string_view name_of(PhaseKind kind) {
  switch (kind) {
    case PhaseKind::kLoad:
      return "resume";
    case PhaseKind::kEvaluate:
      return "evaluate";
    case PhaseKind::kBeginIteration:
      return "begin";
    case PhaseKind::kMicroStep:
      return "train";
    case PhaseKind::kUpdate:
      return "update";
    case PhaseKind::kSave:
      return "save";
    case PhaseKind::kPrefill:
      return "prefill";
    case PhaseKind::kDecode:
      return "decode";
  }
  return "?";
}

const ops::RowLoop* Phase::loop_of(std::size_t op) const {
  for (const ops::RowLoop& loop : loops) {
    if (loop.contains(op)) return &loop;
  }
  return nullptr;
}

const Phase& Program::phase(PhaseKind kind) const {
  for (const Phase& candidate : phases) {
    if (candidate.kind == kind) return candidate;
  }
  throw InternalError(fmt::format("the program has no phase '{}'", name_of(kind)));
}

ops::Shapes shapes_of(const Program& program, const Phase& phase, std::size_t op) {
  return {program.tensors, phase.batch_size, phase.block_size, phase.loop_of(op)};
}

}  // namespace snug::program
