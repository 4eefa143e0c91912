#include "device/card_device.h"

#include <fmt/format.h>

#include "base/error.h"

namespace snug {

std::unique_ptr<Executor> CardDevice::make_executor(const Program&, const Plan&) const {
  throw DeviceError(
      fmt::format("nothing can run on a {}: this build has no CUDA backend", card_.name));
}

}  // namespace snug
