// A card that a run is planned for by its figures; it need not be here, and nothing runs on it.
#pragma once

#include "backend/cuda/cuda_target.h"
#include "device/device.h"

namespace snug {

class CardDevice : public Device {
 public:
  // The budget from memory_budget and headroom. `card` must outlive the device.
  CardDevice(const Card& card, const Config& config)
      : Device(card_budget(card, config.memory_budget, config.headroom)),
        card_(card),
        target_(card.bf16_tflops > 0) {}

  const Target& target() const override { return target_; }
  Rates rates(const Config&, std::int64_t) const override { return card_rates(card_); }
  // Always throws DeviceError.
  std::unique_ptr<Executor> make_executor(const Program& program, const Plan& plan) const override;
  const Card* card() const override { return &card_; }

 private:
  const Card& card_;
  cuda::CudaTarget target_;
};

}  // namespace snug
