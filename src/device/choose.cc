#include "device/choose.h"

#include <fmt/format.h>

#include "backend/cpu/processor_facts.h"
#include "backend/cuda/card.h"
#include "backend/cuda/nvml.h"
#include "base/bytes.h"
#include "base/error.h"
#include "config/fields.h"
#include "device/card_device.h"
#include "device/cpu_device.h"
#include "device/cuda_device.h"

namespace snug::device {
namespace {

const fit::Card* card_of(config::LoadedConfig& config) {
  const config::Config& values = config.values;
  if (!values.card.empty()) {
    if (values.device == "cpu") {
      config::throw_config_error(config, "card",
                                 fmt::format("card = '{}' contradicts device = 'cpu'", values.card),
                                 "leave one of the two out");
    }
    const fit::Card& card = fit::card_named(values.card);
    if (fit::is_card_of_size(card)) {
      config.notices.push_back(
          "of this card only the memory is known: times, CUDA's context and what the driver keeps "
          "are those of a GeForce RTX 3060");
    }
    return &card;
  }
  if (!values.device.starts_with("cuda")) return nullptr;
  const fit::Card& card = fit::assumed_card();
  config.notices.push_back(fmt::format(
      "no card is named: planned for a {}; --card=NAME plans for yours, `snug cards` lists them",
      card.name));
  return &card;
}

// The card's own type where Snug may choose; a word where the user chose one it has not.
void settle_planned_dtype(config::LoadedConfig& config, const fit::Card& card) {
  const bool may_choose = config::is_derived(config, config::field_of(&config::Config::dtype));
  const bool has_16_bits = compute_dtype_named(config.values.dtype) != DType::kF32;
  if (!fit::has_fast_16bit(card) && has_16_bits) {
    if (may_choose) {
      config.notices.push_back(fmt::format(
          "{} has no fast 16-bit arithmetic: planned with float32; --dtype=float16 saves memory, "
          "not time",
          card.name));
      config.values.dtype = "float32";
      config.derived.erase("dtype");  // as below
      return;
    }
    config.notices.push_back(
        fmt::format("{} has no fast 16-bit arithmetic: {} saves memory, not time", card.name,
                    config.values.dtype));
  }
  if (card.bf16_tflops > 0 || config.values.dtype != "bfloat16") return;
  if (!may_choose) {
    config.notices.push_back(
        fmt::format("{} has no bfloat16: planned with float16, which takes the same bytes and "
                    "needs loss scaling",
                    card.name));
  }
  config.values.dtype = "float16";
  config.derived.erase("dtype");  // or resolve() would derive it anew, without the card's figures
}

void settle_processor_dtype(config::LoadedConfig& config) {
  if (config.values.dtype == "tf32") {
    config.values.dtype = "float32";
    config.notices.push_back("dtype tf32 is for cards: float32 on this processor");
  }
  if (!config.is_set("dtype") ||
      !config::is_derived(config, config::field_of(&config::Config::dtype)))
    return;
  // Where no unit multiplies bfloat16 its operands are widened, which saves memory and no time.
  const std::string unit = cpu::processor_facts().bf16_products;
  config.values.dtype = unit.empty() ? "float32" : "bfloat16";
  config.derived.erase("dtype");  // or resolve() would derive it anew
  config.notices.push_back(fmt::format(
      "dtype auto: {}, {}", config.values.dtype,
      unit.empty() ? "as fast as any on this processor (no unit of its own for bfloat16); bfloat16 "
                     "would halve the activations"
                   : fmt::format("which this processor multiplies fastest ({})", unit)));
}

void settle_card_dtype(config::LoadedConfig& config, const program::Target& card) {
  config::Config& values = config.values;
  if (config::is_derived(config, config::field_of(&config::Config::dtype))) {
    values.dtype = name_of(DType::kBF16);
    config.derived.erase("dtype");  // or resolve() would derive it anew
  }
  const DType wanted = compute_dtype_named(values.dtype);
  const DType given = card.compute_dtype(wanted);
  if (given == wanted) return;
  values.dtype = name_of(given);
  config.notices.push_back(fmt::format("dtype {}, with dynamic loss scaling: the card has no {}",
                                       name_of(given), name_of(wanted)));
}

// A card of this machine that the config means, or the emulator's, which takes any name.
bool has_its_card(const config::Config& config) {
  if (config.device == "emulated") {
    require_runnable(config);
    return true;
  }
  const std::string_view ours = cuda::card_device();
  if (!config.card.empty() || ours.empty() || cuda::card_count() == 0) return false;
  return config.device == "auto" ? ours == "cuda" : config.device.starts_with(ours);
}

std::unique_ptr<Device> card_here(config::LoadedConfig& config) {
  auto device = std::make_unique<CudaDevice>(config.values);
  const cuda::OpenCard& card = device->open_card();
  const std::string free = format_bytes(card.free_bytes), total = format_bytes(card.total_bytes);
  config.notices.push_back(
      cuda::card_device() == "emulated"
          ? fmt::format("planned for an emulated {}: {} of its {} free", card.name, free, total)
          : fmt::format("planned for the {} of this machine: {} of its {} free now", card.name,
                        free, total));
  settle_card_dtype(config, device->target());
  return device;
}

std::unique_ptr<Device> processor_to_plan(config::LoadedConfig& config) {
  settle_processor_dtype(config);
  auto device = std::make_unique<CpuDevice>(config.values);
  if (device->budget().usable_bytes > device->available_bytes()) {
    config.notices.push_back(
        fmt::format("planned for a larger machine: of this one's memory {} is available now",
                    format_bytes(device->available_bytes())));
  }
  return device;
}

// Whether a run starts on a card, of this machine or emulated.
bool runs_on_card(const config::Config& config) {
  if (config.device == "auto") {
    // An emulated card is for those who ask for it.
    return config.card.empty() && cuda::card_device() == "cuda" && cuda::card_count() > 0;
  }
  return config.device != "cpu";
}

}  // namespace

std::unique_ptr<Device> device_to_plan(config::LoadedConfig& config) {
  if (has_its_card(config.values)) return card_here(config);
  const fit::Card* card = card_of(config);
  if (card == nullptr) return processor_to_plan(config);
  settle_planned_dtype(config, *card);
  return std::make_unique<CardDevice>(*card, config.values);
}

std::unique_ptr<Device> device_to_run(const config::Config& config) {
  require_runnable(config);
  if (runs_on_card(config)) return std::make_unique<CudaDevice>(config);
  auto device = std::make_unique<CpuDevice>(config);
  device->limit_to_available();
  return device;
}

void settle_dtype(config::LoadedConfig& config, const Device& device) {
  if (device.target().space() == Space::kDevice) {
    settle_card_dtype(config, device.target());
  } else {
    settle_processor_dtype(config);
  }
}

std::string why_processor() {
  if (cuda::card_device() == "cuda") return cuda::why_no_card();
  const cuda::CardsReading here = cuda::Nvml().read();
  if (here.cards.empty()) return "this build has no CUDA backend";
  return fmt::format("this build has no CUDA backend: ./scripts/build cuda makes one for the {}",
                     here.cards.front().name);
}

void require_runnable(const config::Config& config) {
  const std::string_view ours = cuda::card_device();
  if (!config.card.empty() && config.device != "emulated") {
    throw DeviceError(fmt::format(
        "card = '{}' cannot be trained on: it names a card to plan for\n"
        "`snug plan` plans for it; to train leave --card out{}",
        config.card, ours == "emulated" ? ", or add --device=emulated to look at it run" : ""));
  }
  if (config.device == "cpu" || config.device == "auto") return;
  if (!ours.empty() && config.device.starts_with(ours)) return;
  if (config.device == "emulated") {
    throw DeviceError(
        "device = 'emulated' cannot be used: this build has no emulator\n"
        "the release build has one: ./scripts/build");
  }
  throw DeviceError(
      fmt::format("device = '{}' cannot be used: this build has no CUDA backend\n"
                  "./scripts/build cuda makes one that has; train on the processor with "
                  "--device=cpu; `snug plan` needs no device",
                  config.device));
}

}  // namespace snug::device
