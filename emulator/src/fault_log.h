// Where blocks leave their faults; safe from several OS threads.
#pragma once

#include "emulator/faults.h"

namespace emulator {

void log_fault(Fault fault);

}  // namespace emulator
