#include "device/choose.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/error.h"
#include "config/fields.h"
#include "config/pretrained.h"
#include "device/card_device.h"
#include "device/cpu_device.h"

namespace snug {
namespace {

constexpr std::string_view kAssumedCard = "rtx3060";  // the card that most users have

const Card* card_of(LoadedConfig& config) {
  const Config& values = config.values;
  if (!values.card.empty()) {
    if (values.device == "cpu") {
      throw_config_error(config, "card",
                         fmt::format("card = '{}' contradicts device = 'cpu'", values.card),
                         "leave one of the two out");
    }
    return &card_named(values.card);
  }
  if (!values.device.starts_with("cuda")) return nullptr;
  const Card& card = card_named(kAssumedCard);
  config.notices.push_back(fmt::format(
      "no card is named: planned for a {}; --card=NAME plans for yours, `snug cards` lists them",
      card.name));
  return &card;
}

// The card's own 16-bit type where Snug may choose; a word where the user chose one it has not.
void settle_dtype(LoadedConfig& config, const Card& card) {
  if (card.bf16_tflops > 0 || config.values.dtype != "bfloat16") return;
  if (!is_derived(config, field_of(&Config::dtype))) {
    config.notices.push_back(
        fmt::format("{} has no bfloat16: planned with float16, which takes the same bytes and "
                    "needs loss scaling",
                    card.name));
  }
  config.values.dtype = "float16";
  config.derived.erase("dtype");  // or resolve() would derive it anew, without the card's figures
}

std::unique_ptr<Device> processor_to_plan(LoadedConfig& config) {
  auto device = std::make_unique<CpuDevice>(config.values);
  if (device->budget().usable_bytes > device->available_bytes()) {
    config.notices.push_back(
        fmt::format("planned for a larger machine: of this one's memory {} is available now",
                    format_bytes(device->available_bytes())));
  }
  return device;
}

}  // namespace

std::unique_ptr<Device> device_to_plan(LoadedConfig& config) {
  const Card* card = card_of(config);
  if (card == nullptr) return processor_to_plan(config);
  settle_dtype(config, *card);
  return std::make_unique<CardDevice>(*card, config.values);
}

std::unique_ptr<Device> device_to_run(const Config& config) {
  require_runnable(config);
  auto device = std::make_unique<CpuDevice>(config);
  device->limit_to_available();
  return device;
}

void require_runnable(const Config& config) {
  if (!config.card.empty()) {
    throw DeviceError(
        fmt::format("card = '{}' cannot be trained on: this build has no CUDA backend\n"
                    "`snug plan` plans for it; to train on the processor leave --card out",
                    config.card));
  }
  if (config.device == "cpu" || config.device == "auto") return;
  throw DeviceError(
      fmt::format("device = '{}' cannot be used: this build has no CUDA backend\n"
                  "train on the processor with --device=cpu; `snug plan` needs no device",
                  config.device));
}

}  // namespace snug
