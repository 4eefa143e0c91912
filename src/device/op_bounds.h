// How far two devices may be apart after one op on the same numbers, derived from where it rounds
// (docs/decisions/0028), and how far they are: number by number, and on average to one side.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "program/program.h"

namespace snug::device {

// Of an op's result in `result` precision, as a share of the largest number near it:
//  - both round the result, each by half a unit: a unit;
//  - a sum of K terms in another order is off by some square roots of K float32 units, by K where
//    it cancels, as a mean does; tensor cores cut off where they add up, once in eight terms;
//  - attention on tensor cores rounds probabilities and their gradients to 16 bits, once per
//    product; `tf32` products cut their operands off after 10 bits.
// 0: to the bit.
struct Bound {
  double apart;  // of any one number
  // Of the mean, to one side: what is rounded to the nearest has hardly a part in it.
  double drift;
};
Bound bound_of(const ops::Op& op, std::string_view operand, const ops::Shapes& shapes, DType result,
               bool tf32);

// The largest difference of two arrays of `dtype`, as a share of the largest number of its row of
// `width` elements, or of a thousandth of the largest of all where a row is smaller than that.
// Infinite where one of them is not finite.
double difference(std::span<const std::byte> a, std::span<const std::byte> b, DType dtype,
                  std::int64_t width);

// The sum of a's differences from b over the sum of b's magnitudes: differences to zero (an op that
// cuts off instead of rounding) or down, whichever stands out more. `error` is the standard error
// of that mean were there no drift: differences within a row, or within a column, may go together,
// so that it is made of the sums of rows and columns, where there are several, not of single
// numbers alone. Both are 0 where a number is not finite: `difference` tells of that.
struct Drift {
  double mean = 0, error = 0;
};
Drift drift_of(std::span<const std::byte> a, std::span<const std::byte> b, DType dtype,
               std::int64_t width);

}  // namespace snug::device
