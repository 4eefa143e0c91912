// Target: what a backend has to tell before a run's memory can be planned for it.
#pragma once

#include "program/program.h"

namespace snug::program {

class Target {
 public:
  virtual ~Target() = default;
  // Bytes that `op` needs beside its tensors, library workspaces included.
  virtual std::int64_t scratch_bytes(const ops::Op& op, const ops::Shapes& shapes) const = 0;
  virtual int threads() const { return 0; }
  virtual Space space() const { return Space::kHost; }
  // Where what the host fills and reads lies. If that is not space(), each of these tensors has a
  // twin there and is copied by an op of its phase.
  virtual Space host_side() const { return space(); }
  // What this backend computes in when `wanted` was asked for.
  virtual DType compute_dtype(DType wanted) const = 0;
  // Resident bytes of the process outside the arena: code, libraries, thread stacks, this program.
  // On a card: what comes on top of the context, which the budget holds.
  virtual std::int64_t overhead_bytes(const Program& program) const = 0;
};

}  // namespace snug::program
