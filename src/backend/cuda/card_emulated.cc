// The emulator's card: kernels run on the processor, slowly and checked.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/cuda/card.h"
#include "backend/cuda/insert_card.h"
#include "base/error.h"
#include "emulator/card.h"

namespace snug::cuda {

std::string_view card_device() { return "emulated"; }

void insert_card(const std::string& model) {
  if (model.empty()) return;
  const auto settings = emulator::card_by_name(model);
  if (!settings) {
    throw DeviceError(fmt::format("no card '{}' can be emulated\nthese can: {}", model,
                                  fmt::join(emulator::card_names(), ", ")));
  }
  emulator::insert_card(*settings);
}

}  // namespace snug::cuda
