// Whether a build of Snug can train on a card: data that device/ finds and reports say.
#pragma once

#include <cstdint>
#include <string_view>

namespace snug::fit {

enum class CardSupport : std::uint8_t {
  kNoBackend,  // the build has no CUDA backend: cards are planned for, not trained on
  kTooOld,     // it has one, whose kernels are compiled for newer cards only
  kCompiled,   // its kernels are compiled for the card, and have not yet run on hardware
  kEmulated,   // the card itself is emulated
};

constexpr std::string_view name_of(CardSupport support) noexcept {  // as in JSON
  switch (support) {
    case CardSupport::kNoBackend:
      return "no_cuda_backend";
    case CardSupport::kTooOld:
      return "card_too_old_for_this_build";
    case CardSupport::kCompiled:
      return "compiled_not_yet_run_on_hardware";
    case CardSupport::kEmulated:
      return "emulated";
  }
  return "";
}

}  // namespace snug::fit
