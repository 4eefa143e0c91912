// The two forms of GELU in use: nanoGPT's exact one, and the approximation of OpenAI's weights and
// of llm.c. They differ by up to 5e-4.
#pragma once

#include <string_view>

namespace snug {

enum class GeluForm : unsigned char {
  kErf,   // x Phi(x), Phi the normal distribution function
  kTanh,  // x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
};

// By the value of the key `gelu`, which has been checked.
constexpr GeluForm gelu_form_named(std::string_view name) {
  return name == "tanh" ? GeluForm::kTanh : GeluForm::kErf;
}

}  // namespace snug
