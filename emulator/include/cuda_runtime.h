// The runtime and the built-ins of device code, for kernels that are compiled for the CPU.
#pragma once

#include <cmath>
#include <cstdint>

#include "cuda_runtime_api.h"
#include "cuda_shim/atomics.h"
#include "cuda_shim/device_math.h"
#include "cuda_shim/qualifiers.h"
#include "cuda_shim/synchronisation.h"
#include "emulator/lane.h"
