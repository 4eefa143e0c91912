// A card that a run starts on: its budget is what is really free of it once the context exists.
#pragma once

#include <optional>

#include "backend/cuda/card.h"
#include "backend/cuda/cuda_target.h"
#include "device/device.h"

namespace snug::device {

class CudaDevice : public Device {
 public:
  // Opens the card that device, or card where it is emulated, names; takes memory_budget and
  // headroom from the config. Throws DeviceError for a card that cannot be used.
  explicit CudaDevice(const config::Config& config);

  const program::Target& target() const override { return target_; }
  // From the figures of the card, where it is a known one; of a card like it else.
  fit::Rates rates(const config::Config& config, std::int64_t vocab_size) const override;
  std::unique_ptr<backend::Executor> make_executor(const program::Program& program,
                                                   const plan::Plan& plan) const override;
  const fit::Card* card() const override { return known_; }
  std::optional<CardFacts> card_facts() const override;
  void refresh_budget() override;

  const cuda::OpenCard& open_card() const { return open_; }

 private:
  const config::Config config_;
  cuda::OpenCard open_;
  cuda::RunSettings settings_;
  const fit::Card* known_;
  cuda::CudaTarget target_;
};

}  // namespace snug::device
