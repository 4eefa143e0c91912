// Ops that fill, convert, read and write whole tensors.
#pragma once

#include "ops/operand.h"

namespace snug::ops {

struct Shapes;

// All bytes 0.
struct Zero {
  static constexpr std::string_view kName = "zero";

  WriteList tensors;

  static constexpr auto operands() { return std::tuple{NamedOperand{"tensors", &Zero::tensors}}; }
};

// Weights to their copies in the precision of the arithmetic, pair by pair, to the nearest.
struct Cast {
  static constexpr std::string_view kName = "cast";

  ReadList weights;
  WriteList copies;

  static constexpr auto operands() {
    return std::tuple{NamedOperand{"weights", &Cast::weights},
                      NamedOperand{"copies", &Cast::copies}};
  }
};

// All bytes of a tensor to its twin in another memory space.
struct Copy {
  static constexpr std::string_view kName = "copy";

  Read from;
  Write to;

  static constexpr auto operands() {
    return std::tuple{NamedOperand{"from", &Copy::from}, NamedOperand{"to", &Copy::to}};
  }
};

// The host takes weights and optimizer state to a file, between iterations; piece by piece through
// `staging` where it cannot reach them.
struct CheckpointWrite {
  static constexpr std::string_view kName = "checkpoint_write";

  ReadList tensors;
  Optional<Write> staging = {};

  static constexpr auto operands() {
    return std::tuple{NamedOperand{"tensors", &CheckpointWrite::tensors},
                      NamedOperand{"staging", &CheckpointWrite::staging}};
  }
  double traffic(const Shapes&) const { return 0; }  // by the host
};

struct CheckpointRead {
  static constexpr std::string_view kName = "checkpoint_read";

  WriteList tensors;
  Optional<Write> staging = {};

  static constexpr auto operands() {
    return std::tuple{NamedOperand{"tensors", &CheckpointRead::tensors},
                      NamedOperand{"staging", &CheckpointRead::staging}};
  }
  double traffic(const Shapes&) const { return 0; }  // by the host
};

}  // namespace snug::ops
