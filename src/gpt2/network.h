// GPT-2's network: learned positions, LayerNorm before each branch, one fused attention projection,
// GELU, the head tied to the token embedding.
#pragma once

#include "program/network.h"

namespace snug::gpt2 {

// The one there is; it has no state.
const program::Network& gpt2_network();

}  // namespace snug::gpt2
