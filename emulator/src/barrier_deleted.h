// The kernel's side of mutation.h.
#pragma once

#include "emulator/site.h"

namespace emulator {

// Asked by every barrier; true: it is to do nothing.
bool barrier_deleted(const Site& site);

}  // namespace emulator
