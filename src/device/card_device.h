// A card that a run is planned for by its figures; it need not be here, and nothing runs on it.
#pragma once

#include "backend/cuda/cuda_target.h"
#include "device/device.h"

namespace snug::device {

class CardDevice : public Device {
 public:
  // The budget from memory_budget and headroom. `card` must outlive the device.
  CardDevice(const fit::Card& card, const config::Config& config)
      : Device(fit::card_budget(card, config.memory_budget, config.headroom)),
        card_(card),
        target_(card.bf16_tflops > 0) {}

  const program::Target& target() const override { return target_; }
  fit::Rates rates(const config::Config&, std::int64_t) const override {
    return fit::card_rates(card_);
  }
  // Always throws DeviceError.
  std::unique_ptr<backend::Executor> make_executor(const program::Program& program,
                                                   const plan::Plan& plan) const override;
  const fit::Card* card() const override { return &card_; }

 private:
  const fit::Card& card_;
  cuda::CudaTarget target_;
};

}  // namespace snug::device
