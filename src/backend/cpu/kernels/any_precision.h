// One exported function per kernel for all precisions: Highway's dispatch takes the address of a
// plain function, so what is a template over the activations' type goes through a variant.
#pragma once

#include <variant>

#include "base/float16.h"

namespace snug::cpu {

template <template <class> class Op>
using AnyPrecision = std::variant<const Op<float>*, const Op<Bf16>*, const Op<F16>*>;

}  // namespace snug::cpu
