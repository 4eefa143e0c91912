#include "device/card_device.h"

#include <fmt/format.h>

#include "base/error.h"

namespace snug::device {

std::unique_ptr<backend::Executor> CardDevice::make_executor(const program::Program&,
                                                             const plan::Plan&) const {
  throw DeviceError(fmt::format(
      "nothing can run on a {} that is only planned for\nto train leave --card out", card_.name));
}

}  // namespace snug::device
