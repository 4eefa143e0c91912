// Device: where a run is planned and executed, as one object: what ops need there, how much memory
// a run may take, how fast it works, and the executor of its programs. Whoever holds one names
// neither cpu nor cuda; which one a config means is decided in choose.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "backend/backend.h"
#include "config/config.h"
#include "device/card_facts.h"
#include "fit/budget.h"
#include "fit/rates.h"
#include "plan/plan.h"
#include "program/target.h"

namespace snug::device {

class Device {
 public:
  explicit Device(fit::Budget budget) : budget_(std::move(budget)) {}
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Lives as long as the device.
  virtual const program::Target& target() const = 0;
  const fit::Budget& budget() const { return budget_; }

  // For a model of this config: measured, which takes a third of a second, or from figures.
  virtual fit::Rates rates(const config::Config& config, std::int64_t vocab_size) const = 0;

  // Takes the plan's memory and binds the program to it; both must outlive the executor. Throws
  // CapacityError when the memory is refused, DeviceError on a device that can only be planned for.
  virtual std::unique_ptr<backend::Executor> make_executor(const program::Program& program,
                                                           const plan::Plan& plan) const = 0;

  // What decides the last bits of a result here, beside the number of threads; "": not known.
  virtual std::string instruction_set() const { return ""; }

  // The card whose figures these are; null: no card.
  virtual const fit::Card* card() const { return nullptr; }
  // Facts of a card in this machine, read now; nothing for other devices.
  virtual std::optional<CardFacts> card_facts() const { return std::nullopt; }

  // Takes the budget anew from what is free now, where others share the device.
  virtual void refresh_budget() {}
  // A run may take no more than `bytes`.
  void limit_budget(std::int64_t bytes) {
    budget_.usable_bytes = std::min(budget_.usable_bytes, bytes);
  }

 protected:
  fit::Budget budget_;
};

}  // namespace snug::device
