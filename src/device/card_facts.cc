#include "device/card_facts.h"

#include <unistd.h>

#include "machine/processes.h"

namespace snug::device {
namespace {

// CUDA and the driver number cards each in their own order, and CUDA_VISIBLE_DEVICES changes one of
// them: the place in the machine is what they share.
bool is_same(const cuda::OpenCard& card, const cuda::CardReading& reading, bool is_only_one) {
  if (reading.pci_address.empty() || card.pci_address.empty()) return is_only_one;
  return reading.pci_address == card.pci_address;
}

}  // namespace

std::vector<CardHolder> holders_of(const cuda::OpenCard& card, const cuda::CardsReading& reading) {
  std::vector<CardHolder> holders;
  for (const cuda::CardReading& each : reading.cards) {
    if (!is_same(card, each, reading.cards.size() == 1)) continue;
    for (const cuda::CardProcess& process : each.processes) {
      if (process.pid == ::getpid()) continue;
      holders.push_back({process.pid,
                         machine::terminal_text(machine::name_of_drivers_process(process.pid)),
                         process.bytes});
    }
  }
  return holders;
}

}  // namespace snug::device
