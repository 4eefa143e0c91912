// The ops that were started and may still run: what an error that a card reports late can be about.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "program/program.h"

namespace snug::cuda {

class StartedOps {
 public:
  // `program` must outlive it, and its phases the ops that are added.
  explicit StartedOps(const program::Program& program);

  void add(const program::Phase& phase, const ops::Op& op);
  // Numbers of ops, counted from 1; 0: none.
  std::int64_t last() const { return last_; }
  void done_until(std::int64_t number);

  // "one of the 12 ops from 'h.0.ln_1' (layernorm) to ... of the micro_step"; of a single one also
  // its tensors. "": nothing is under way.
  std::string describe() const;
  // The same of the last one only.
  std::string describe_last() const;
  bool are_one_by_one() const { return one_by_one_; }

 private:
  struct Started {
    const program::Phase* phase = nullptr;
    const ops::Op* op = nullptr;
  };
  static constexpr std::int64_t kRemembered = 4096;

  const Started& at(std::int64_t number) const {
    return ops_[static_cast<std::size_t>(number % kRemembered)];
  }
  std::string named(const Started& started) const;

  const program::Program& program_;
  const bool one_by_one_;  // CUDA_LAUNCH_BLOCKING=1: an op is done when the next is started
  std::array<Started, kRemembered> ops_{};
  std::int64_t last_ = 0, done_ = 0;
};

}  // namespace snug::cuda
