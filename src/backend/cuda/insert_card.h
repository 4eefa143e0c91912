// What differs between real cards and emulated ones.
#pragma once

#include <string>

namespace snug::cuda {

// Emulated: the card of that name is in the machine from now on; "" keeps the one that is there.
// Real: nothing; throws DeviceError for a name, since cards are chosen by number.
void insert_card(const std::string& model);

}  // namespace snug::cuda
