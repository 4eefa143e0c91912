// Tensor: a named extent of bytes with its type, purpose and lifetime. It says what has to be
// stored; where that lies is the plan's business.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/dtype.h"
#include "base/shape.h"

namespace snug {

using TensorId = std::int32_t;      // index into Program::tensors
constexpr TensorId kNoTensor = -1;  // an optional operand that is absent

// What bytes are for: the rows of every memory report.
enum class Role : std::uint8_t {
  kWeights,
  kGradients,
  kOptimizerState,
  kActivations,
  kLossHead,
  kWorkspace,
  kIo,
};
constexpr int kRoleCount = 7;
std::string_view name_of(Role role);

// Where bytes live. One arena per space.
enum class Space : std::uint8_t { kHost, kPinned, kDevice };

enum class Lifetime : std::uint8_t {
  kRun,        // from start to end: weights, optimizer state
  kIteration,  // from the first phase of an iteration to its last: gradients
  kPhase,      // all of one phase: what the host fills before it or reads after it
  kOps,        // from the first op that touches it to the last one, within one phase
};

struct Tensor {
  std::string name;
  Shape shape;
  DType dtype = DType::kF32;
  Role role = Role::kActivations;
  Lifetime lifetime = Lifetime::kOps;
  Space space = Space::kHost;

  std::int64_t byte_count() const { return checked_mul(shape.element_count(), size_of(dtype)); }
};

}  // namespace snug
