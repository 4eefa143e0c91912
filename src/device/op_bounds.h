// How far two devices may be apart after one op on the same numbers, derived from where it rounds
// (docs/decisions/0028), and how far they are.
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
//  product.
// 0: to the bit.
double bound_of(const ops::Op& op, std::string_view operand, const ops::Shapes& shapes,
                DType result);

// The largest difference of two arrays of `dtype`, as a share of the largest number of its row of
// `width` elements, or of a thousandth of the largest of all where a row is smaller than that.
// Infinite where one of them is not finite.
double difference(std::span<const std::byte> a, std::span<const std::byte> b, DType dtype,
                  std::int64_t width);

}  // namespace snug::device
