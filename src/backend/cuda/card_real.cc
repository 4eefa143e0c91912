// The machine's own cards.
#include <fmt/format.h>

#include "backend/cuda/card.h"
#include "backend/cuda/insert_card.h"
#include "base/error.h"

namespace snug::cuda {

std::string_view card_device() { return "cuda"; }

void insert_card(const std::string& model) {
  if (model.empty()) return;
  throw DeviceError(
      fmt::format("card = '{}' names a card to plan for; a run takes one that is there\n"
                  "leave --card out, or choose by number: --device=cuda:0",
                  model));
}

}  // namespace snug::cuda
